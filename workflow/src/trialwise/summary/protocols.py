"""How far the protocols move a model's scores, and which of their parts does it."""

import pandas as pd
from jinja2 import Environment, StrictUndefined

from trialwise.choices.crossvalidation import held_out_log_score
from trialwise.choices.scores import predict_from_learner

# Evaluation first: it shows what in-sample prediction alone is worth.
PARTS = ("evaluation", "choice_model", "predictor", "scaling")
MODEL = "spose-49"
SCALED = {
    "in-place": "features z-scored in place, trial after trial",
    "seen-scaled": "features z-scored by the rows seen",
    "raw": "features as they are",
    "global": "features scaled once, C chosen from past trials",
}
PREDICTED = {
    "in-sample": "choices predicted by a fit that has seen them",
    "leave-trial-out": "each choice held out",
    "leave-participant-out": "each participant held out",
}


def protocols_between(protocols, task):
    """Hybrids on the way from each protocol to the next, one part changed at a time.

    Parameters
    ----------
    protocols : dict of str to dict
        In their order; see `trialwise.choices.scores.score_learner`. `scaling` is a
        dict of task to scaling.
    task : {"category", "reward"}

    Returns
    -------
    list of dict
        ``start, end`` (names), ``part`` (that has changed), ``value`` (what it is now)
        and ``protocol``. The first has neither `start` nor `part`; the last of each
        way is the protocol `end` itself.
    """
    (first, current), *others = protocols.items()
    current = _of_task(current, task)
    steps = [{"start": "", "end": first, "part": "", "value": "", "protocol": current}]
    start = first
    for end, protocol in others:
        goal = _of_task(protocol, task)
        for part in PARTS:
            if current[part] != goal[part]:
                # What counts for a certainty belongs to how choices are evaluated.
                more = ["certain"] if part == "evaluation" else []
                changed = {key: goal[key] for key in [part, *more]}
                current = {**current, **changed}
                steps.append(
                    {
                        "start": start,
                        "end": end,
                        "part": part,
                        "value": goal[part],
                        "protocol": current,
                    }
                )
        start = end
    return steps


def measure_steps(trials, values, task, protocols):
    """Negative log-likelihood of people's choices after every step.

    Parameters
    ----------
    trials : pandas.DataFrame
        From `trialwise.choices.people.read_choices`.
    values : dict of str to pandas.DataFrame
        For each scaling the values of one learner and model.
    task, protocols
        See `protocols_between`.

    Returns
    -------
    pandas.DataFrame
        ``task, start, end, part, value, nll, difference``, a row per step.
    """
    rows = []
    for step in protocols_between(protocols, task):
        protocol = step.pop("protocol")
        table, log_odds, _ = predict_from_learner(
            trials, values[protocol["scaling"]], task, protocol
        )
        scores = held_out_log_score(table["choice"], log_odds, protocol["certain"])
        rows.append({"task": task, **step, "nll": -scores.sum()})
    table = pd.DataFrame(rows)
    return table.assign(difference=table["nll"].diff().fillna(0.0))


def label_step(step):
    """A step in words: the name of the first protocol, or what has changed."""
    if step.part == "scaling":
        return SCALED[step.value]
    if step.part == "evaluation":
        return PREDICTED[step.value]
    if step.part == "predictor":
        return f"{step.value} predictor"
    return step.value.replace("choice ~ ", "") or step.end


def describe(scores, steps, penalty, template):
    """Fill a text about the protocols with the scores of the generative features.

    Parameters
    ----------
    scores : pandas.DataFrame
        All of `trialwise.choices.scores.score_table`, with ``protocol, task, learner,
        model``.
    steps : pandas.DataFrame
        From `measure_steps`, of both tasks.
    penalty : pandas.DataFrame
        From `trialwise.choices.sensitivity.penalty_curve`, with ``model``.
    template : str
        Jinja text; `scores` and `steps` are tables in it, `penalty` the rows of this
        model, `score(protocol, task, learner, column)` and `change(task, end, part)`
        single numbers.

    Returns
    -------
    str
    """
    indexed = scores.set_index(["protocol", "task", "learner", "model"])
    changes = steps.set_index(["task", "end", "part"])["difference"]

    def score(protocol, task, learner="main", column="nll", model=MODEL):
        return indexed.loc[(protocol, task, learner, model), column]

    def change(task, end, part):
        return changes.loc[task, end, part]

    environment = Environment(undefined=StrictUndefined, keep_trailing_newline=True)
    return environment.from_string(template).render(
        score=score,
        change=change,
        penalty=penalty[penalty["model"] == MODEL],
        scores=_score_rows(scores),
        steps=_step_rows(steps),
    )


def _score_rows(scores):
    columns = {
        "task": "task",
        "protocol": "protocol",
        "learner": "learner",
        "nll": "NLL",
        "mcfadden_r2": "McFadden R2",
        "learner_accuracy": "learner's accuracy",
        "gain_over_truth": "gain over truth",
    }
    rows = scores[scores["model"].isin([MODEL, "truth"])].copy()
    rows["learner"] = rows["learner"].where(rows["model"] == MODEL, "right answer")
    rows["nll"] = rows["nll"].map("{:.2f}".format)
    rows["gain_over_truth"] = [
        f"{gain:.4f} ± {error:.4f}" if model == MODEL else ""
        for gain, error, model in zip(
            rows["gain_over_truth"], rows["gain_se"], rows["model"], strict=True
        )
    ]
    for column in ("mcfadden_r2", "learner_accuracy"):
        rows[column] = rows[column].map("{:.4f}".format)
    rows = rows.sort_values("task", kind="stable")[list(columns)]
    return rows.rename(columns=columns).to_markdown(index=False, disable_numparse=True)


def _step_rows(steps):
    rows = pd.DataFrame(
        {
            "task": steps["task"],
            "towards": steps["end"],
            "one change": [label_step(step) for step in steps.itertuples()],
            "NLL": steps["nll"].map("{:.2f}".format),
            "difference": steps["difference"].map("{:+.2f}".format),
        }
    )
    # A bar would end the cell.
    rows["one change"] = rows["one change"].str.replace("|", "\\|")
    return rows.to_markdown(index=False, disable_numparse=True)


def _of_task(protocol, task):
    certain = protocol.get("certain", {}).get(task)
    scaling = protocol["scaling"][task]
    return {**protocol, "scaling": scaling, "certain": certain}
