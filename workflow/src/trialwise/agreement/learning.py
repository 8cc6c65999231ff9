"""Error consistency of a learner and a person who saw the same sequence of trials.

Demircan et al. (2024) let a learner go through each participant's own trials, so that
every participant is one pair of decision makers, compared as Geirhos et al. (2020)
compare observers: by who is right where.
"""

from itertools import combinations

import numpy as np
import pandas as pd
from scipy import stats

from trialwise.agreement.ranks import participant_values, rank_sets
from trialwise.consistency.bounds import kappa_limits, loevinger_h
from trialwise.consistency.kappa import expected_overlap, kappa, observed_overlap
from trialwise.errors import InputError

MEASURES = ("mcfadden_r2", "gain_over_truth", "kappa", "h")
RANKED = ("log_score", "log_score_new_people", "gain_over_truth", "kappa")
NAMES = ("protocol", "task", "learner")
TRUTH, BASELINE = "truth", "baseline"
ROW = ("protocol", "learner", "model")
ENOUGH = 3


def learner_kappa(scored, task):
    """Kappa of a learner and each of the people whose trials it went through.

    Parameters
    ----------
    scored : pandas.DataFrame
        From `trialwise.choices.scores.score_learner` or `score_baseline`:
        ``participant, trial, correct, learner_correct`` and, for rewards,
        ``left_reward, right_reward``.
    task : {"category", "reward"}

    Returns
    -------
    pandas.DataFrame
        A row per participant: ``participant, n_trials, accuracy_learner,
        accuracy_person, observed, expected, kappa, kappa_min, kappa_max, h,
        kappa_other``. Kappa is NaN where c_exp is 1. Where the learner, or the person,
        has everything right, kappa can only be 0: both limits are 0, and H is NaN.
        ``kappa_other`` is the mean kappa of the person with the learner on other
        people's sequences, trial by trial: what a shared learning curve brings about
        without a single stimulus in common.

    Raises
    ------
    InputError
        If a participant has a trial twice, or no trial with a right answer.

    Notes
    -----
    Trials with two equal rewards have no right answer and are left out: every person
    would be right there, and the learner by convention. A learner that cannot tell
    answers 0, or left, as in `trialwise.choices.scores.learner_correct`. O(m^2 n) for m
    people and n trials.
    """
    kept = scored
    if task == "reward":
        kept = scored[scored["left_reward"] != scored["right_reward"]]
    lost = set(scored["participant"]) - set(kept["participant"])
    if lost:
        raise InputError(
            f"Participant {min(lost)} has no trial with a right answer. Leave the "
            "participant out."
        )
    if kept.duplicated(["participant", "trial"]).any():
        row = kept[kept.duplicated(["participant", "trial"])].iloc[0]
        raise InputError(
            f"Participant {row.participant} has trial {row.trial} twice. Keep one."
        )
    learner, person = (
        kept.pivot(index="participant", columns="trial", values=column)
        for column in ("learner_correct", "correct")
    )
    participants = learner.index
    there = learner.notna().to_numpy(dtype=float)
    learner = learner.fillna(0).to_numpy(dtype=float)
    person = person.fillna(0).to_numpy(dtype=float)
    n, both = there @ there.T, learner @ person.T
    k_learner, k_person = learner @ there.T, there @ person.T
    values = _defined_kappa(n, k_learner, k_person, both)
    n, k_learner, k_person, both = map(np.diagonal, (n, k_learner, k_person, both))
    own = np.diagonal(values).copy()
    kappa_min, kappa_max = kappa_limits(n, k_learner, k_person)
    return pd.DataFrame(
        {
            "participant": participants,
            "n_trials": n.astype(int),
            "accuracy_learner": k_learner / n,
            "accuracy_person": k_person / n,
            "observed": observed_overlap(n, k_learner, k_person, both),
            "expected": expected_overlap(n, k_learner, k_person),
            "kappa": own,
            "kappa_min": np.where(np.isnan(own), np.nan, kappa_min),
            "kappa_max": np.where(np.isnan(own), np.nan, kappa_max),
            "h": loevinger_h(own, kappa_min, kappa_max),
            "kappa_other": _mean_of_others(values),
        }
    )


def kappa_row(participants, names):
    """Kappa of one learner, averaged over people.

    Parameters
    ----------
    participants : pandas.DataFrame
        From `learner_kappa`.
    names : dict
        What the row is to be called: ``protocol, task, learner, model``.

    Returns
    -------
    dict
        `names`, ``n_participants, kappa, kappa_se, kappa_max, h, h_of_means,
        kappa_other, excess, excess_se, n_undefined, n_fixed``. Means are over people;
        ``h`` that of H, ``h_of_means`` mean kappa by mean ceiling, ``excess`` kappa
        minus `kappa_other`. `n_undefined` people have no kappa and count nowhere.
        `n_fixed` people had no choice but 0, because they or the learner made no
        error: they count as 0 in kappa and its ceiling, not in ``h``.

    Notes
    -----
    The learner that is always right has kappa 0 and ceiling 0 with everybody by
    construction, and no H: kappa cannot tell it from chance, nor rank it. Gain over
    truth is the measure that starts from it.
    """
    defined = participants.dropna(subset="kappa")
    means = defined.mean(numeric_only=True)
    excess = defined["kappa"] - defined["kappa_other"]
    ceiling = means["kappa_max"]
    return {
        **names,
        "n_participants": len(participants),
        "kappa": means["kappa"],
        "kappa_se": defined["kappa"].sem(),
        "kappa_max": ceiling,
        "h": means["h"],
        "h_of_means": means["kappa"] / ceiling if ceiling > 0 else np.nan,
        "kappa_other": means["kappa_other"],
        "excess": excess.mean(),
        "excess_se": excess.sem(),
        "n_undefined": len(participants) - len(defined),
        "n_fixed": int((defined["kappa_min"] == defined["kappa_max"]).sum()),
    }


def join_kappa(scores, kappa):
    """Join what `trialwise.choices.scores.score_table` gives with kappa and H.

    Parameters
    ----------
    scores : pandas.DataFrame
        ``protocol, task, learner, model`` and measures, pooled or by ``participant``.
    kappa : pandas.DataFrame
        Rows of `kappa_row`, or of `learner_kappa`, with the same names.

    Returns
    -------
    pandas.DataFrame
        `scores`, with ``kappa`` and ``h``, which are NaN for baselines, and
        ``log_score``, the mean log score per trial.
    """
    names = ["protocol", "task", "learner", "model"]
    names += ["participant"] if "participant" in scores else []
    joined = scores.merge(
        kappa[[*names, "kappa", "h"]], on=names, how="left", validate="one_to_one"
    )
    return joined.assign(log_score=-joined["nll"] / joined["n_trials"])


def rank_learners(participants, measures=RANKED, n_resamples=2000, seed=0):
    """Rank the models of each protocol, task and learner, and somebody always right.

    Parameters
    ----------
    participants : pandas.DataFrame
        From `join_kappa`, by participant.
    measures : sequence of str
        Columns; the larger the better.
    n_resamples, seed : int
        See `trialwise.agreement.ranks.rank_sets`.

    Returns
    -------
    ranks, pairs : pandas.DataFrame
        Tables of `rank_sets` after ``protocol, task, learner, measure, n_participants``
        and, people without a value for some model, ``n_incomplete``. ``truth`` is the
        model that knows the right answers; it has no kappa. Fewer than two models are
        not ranked.
    """
    truth = participants[participants["model"] == TRUTH].drop(columns="learner")
    learned = participants[participants["learner"] != BASELINE]
    ranks, pairs = [], []
    for (protocol, task, learner), own in learned.groupby(list(NAMES), sort=False):
        right = truth[(truth["protocol"] == protocol) & (truth["task"] == task)]
        both = pd.concat([own, right])
        for measure in measures:
            known = both.groupby("model")[measure].transform("count") > 0
            rows = both[known]
            if rows["model"].nunique() < 2:
                continue
            values, n_incomplete = participant_values(rows, measure)
            labels = dict(zip(NAMES, (protocol, task, learner), strict=True))
            labels |= {"measure": measure, "n_participants": len(values)}
            labels["n_incomplete"] = n_incomplete
            for tables, table in zip(
                (ranks, pairs), rank_sets(values, n_resamples, seed), strict=True
            ):
                tables.append(pd.DataFrame(labels, index=table.index).join(table))
    return tuple(
        pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()
        for tables in (ranks, pairs)
    )


def rankings(scores, within=("task", "learner"), measures=MEASURES):
    """How each measure ranks the models, and how far the rankings agree.

    Parameters
    ----------
    scores : pandas.DataFrame
        ``protocol, task, learner, model`` and the measures: scores of
        `trialwise.choices.scores.score_table` joined with rows of `kappa_row`.
    within : sequence of str
        Rows that share these columns are ranked among themselves; baselines are not.
    measures : sequence of str
        Columns; the larger the better.

    Returns
    -------
    ranks : pandas.DataFrame
        ``protocol, task, learner, model, measure, value, rank``, 1 the best; models
        that tie share the better rank, models without a value have none.
    agreement : pandas.DataFrame
        `within`, ``protocol_i, measure_i, protocol_j, measure_j, n_models,
        kendall_tau_b, spearman`` of all pairs of a protocol and a measure, over the
        models that both rank; NaN for fewer than three models, or where one of the
        measures gives all the same value.
    """
    within = list(within)
    ranks = scores[scores["learner"] != BASELINE].melt(
        id_vars=["task", *ROW], value_vars=list(measures), var_name="measure"
    )
    own = ["protocol", "measure"]
    ranked = ranks.groupby([*within, *own])["value"]
    ranks["rank"] = ranked.rank(ascending=False, method="min")
    identity = [name for name in ("task", *ROW[1:]) if name not in within]
    rows = []
    for names, group in ranks.groupby(within, sort=False):
        wide = group.pivot(index=identity, columns=own, values="value")
        wanted = group[own].drop_duplicates().itertuples(index=False, name=None)
        for first, second in combinations(wanted, 2):
            both = wide[[first, second]].dropna().to_numpy()
            tau, rho = _rank_correlations(both)
            rows.append([*names, *first, *second, len(both), tau, rho])
    columns = [*within, "protocol_i", "measure_i", "protocol_j", "measure_j"]
    columns += ["n_models", "kendall_tau_b", "spearman"]
    ranks = ranks[["protocol", "task", "learner", "model", "measure", "value", "rank"]]
    return ranks, pd.DataFrame(rows, columns=columns)


def _defined_kappa(n, k_i, k_j, n11):
    """Kappa, NaN where both have everything right, everything wrong, or no trial."""
    alike = ((k_i == n) & (k_j == n)) | ((k_i == 0) & (k_j == 0))
    return np.where(alike, np.nan, kappa(n, k_i, k_j, n11))


def _mean_of_others(values):
    """Mean over each column of a square matrix, without its diagonal and NaN."""
    others = ~np.eye(len(values), dtype=bool) & ~np.isnan(values)
    total, count = np.where(others, values, 0).sum(axis=0), others.sum(axis=0)
    return np.divide(total, count, out=np.full(len(values), np.nan), where=count > 0)


def _rank_correlations(values):
    """Kendall's tau-b and Spearman's rho of two columns."""
    varied = len(values) >= ENOUGH and (values != values[0]).any(axis=0).all()
    if not varied:
        return np.nan, np.nan
    tau, rho = stats.kendalltau(*values.T), stats.spearmanr(*values.T)
    return tau.statistic, rho.statistic
