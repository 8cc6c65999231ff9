"""What the report tells of agreement beyond both papers, as tables to read."""

from trialwise.agreement.planning import COPY_MODEL, DIFFERENT_IMAGES
from trialwise.summary.grid import Grid
from trialwise.summary.headline import label_comparison
from trialwise.summary.numbers import fixed, interval, significant

LEARNING = "agreement/learning"
PROTOCOLS = ("comparable", "published")
MEASURES = {
    "gain_over_truth": "gain over truth",
    "log_score": "log score",
    "log_score_new_people": "log score of people left out",
    "kappa": "kappa",
}


def describe_agreement(tables, experiments):
    """Tables about difficulty, wrong answers, individuals, rankings and planning.

    Parameters
    ----------
    tables : dict of str to pandas.DataFrame
        Those below ``agreement`` are told of; see `trialwise.agreement`.
    experiments : sequence of str
        Their names, in order.

    Returns
    -------
    dict or None
        Grids ``difficulty, correlation, wrong_answers, replicas, people, ranks,
        learning, learning_ranks, refits, rankings, planning``, None where the table is
        missing; None if all are.
    """
    described = {
        "difficulty": _by_experiment(
            tables,
            experiments,
            "difficulty",
            "Do pairs differ more than the difficulty of images lets them?",
            ("Comparison", "pairs", "variance of z", "p", "largest z"),
            _difficulty_rows,
        ),
        "correlation": _by_experiment(
            tables,
            experiments,
            "difficulty-correlation",
            "Correlation of the difficulty of images for two groups (log-odds)",
            ("Groups", "correlation", "95 % interval", "SD of difficulty"),
            _correlation_rows,
        ),
        "wrong_answers": _by_experiment(
            tables,
            experiments,
            "wrong-answers",
            "Agreement of wrong answers, sums over pairs",
            (
                *("Comparison", "both wrong", "kappa_w", "corrected", "95 % interval"),
                *("Cohen's kappa", "MA", "CAPA"),
            ),
            _wrong_answer_rows,
        ),
        "replicas": _by_experiment(
            tables,
            experiments,
            "individuation-power",
            "Simulated replicas told from people like their target (level .05)",
            ("Share copied", "kappa", "k0", "told apart", "lowest to highest target"),
            _replica_rows,
        ),
        "people": _by_experiment(
            tables,
            experiments,
            "individuation",
            "People as replicas of each other",
            (
                *("", "pairs", "p below .05", "smallest p"),
                *("z farthest above others'", "its excess of kappa"),
            ),
            _people_rows,
        ),
        "ranks": _by_experiment(
            tables,
            experiments,
            "ranks",
            "Networks by kappa with people, and the ranks that the data allow",
            ("Network", "kappa", "rank", "ranks allowed"),
            _rank_rows,
        ),
        "learning": _learning(tables),
        "learning_ranks": _learning_ranks(tables),
        "refits": _refits(tables),
        "rankings": _rankings(tables),
        "planning": _planning(tables),
    }
    return described if any(described.values()) else None


def _by_experiment(tables, experiments, name, caption, head, rows):
    bodies = []
    for experiment in experiments:
        found = tables.get(f"agreement/{experiment}/{name}")
        if found is not None and not found.empty:
            own = rows(found, tables, experiment)
            bodies.append((experiment, tuple(own)))
    return Grid(caption, head, tuple(bodies)) if bodies else None


def _comparison(name):
    first, _, second = name.partition("-")
    return label_comparison(first, second)


def _difficulty_rows(table, tables, experiment):
    largest = tables[f"agreement/{experiment}/difficulty-pairs"]
    largest = largest.groupby("comparison")["z"].max()
    for row in table.itertuples():
        yield (
            *(_comparison(row.comparison), str(row.n_pairs)),
            *(fixed(row.variance_of_z, 2), significant(row.p, 2)),
            fixed(largest[row.comparison], 1),
        )


def _correlation_rows(table, tables, experiment):
    for row in table.itertuples():
        yield (
            label_comparison(row.first, row.second),
            fixed(row.correlation, 2),
            interval(row.ci_low, row.ci_high, 2),
            f"{fixed(row.sd_first, 2)}, {fixed(row.sd_second, 2)}",
        )


def _wrong_answer_rows(table, tables, experiment):
    for row in table.itertuples():
        yield (
            *(_comparison(row.comparison), f"{row.n_both_wrong:,}", fixed(row.kappa_w)),
            *(fixed(row.kappa_w_corrected), interval(row.ci_low, row.ci_high)),
            *(fixed(row.cohen_kappa), fixed(row.misclassification_agreement)),
            fixed(row.capa),
        )


def _replica_rows(table, tables, experiment):
    for row in table.itertuples():
        yield (
            *(fixed(row.copy_probability, 2), fixed(row.kappa), fixed(row.null_kappa)),
            fixed(row.power, 2),
            f"{fixed(row.lowest_power, 2)} to {fixed(row.highest_power, 2)}",
        )


def _people_rows(table, tables, experiment):
    above = table["z"] - table["z_others"]
    most = table.loc[above.idxmax()]
    yield (
        *("person with person", str(len(table)), str((table["p_upper"] < 0.05).sum())),
        significant(table["p_upper"].min(), 2),
        f"{fixed(most.z, 1)}, others {fixed(most.z_others, 1)}",
        f"{fixed(most.excess)} {interval(most.excess_low, most.excess_high)}",
    )


def _rank_rows(table, tables, experiment):
    for row in table.itertuples():
        yield (
            *(row.model, fixed(row.mean), str(row.rank)),
            f"{row.rank_low} to {row.rank_high}",
        )


def _protocol(table):
    used = table["protocol"].unique()
    return next((name for name in PROTOCOLS if name in used), used[0])


def _learning(tables):
    table = tables.get(f"{LEARNING}/kappa")
    if table is None:
        return None
    protocol = _protocol(table)
    table = table[table["protocol"] == protocol]
    bodies = []
    for task, own in table.groupby("task"):
        own = own.sort_values("kappa", ascending=False, kind="stable")
        rows = tuple(
            (
                *(
                    f"{row.model}, {row.learner}",
                    f"{fixed(row.kappa)} ± {fixed(row.kappa_se)}",
                ),
                *(fixed(row.kappa_max), fixed(row.h, 2), fixed(row.kappa_other)),
                f"{fixed(row.excess)} ± {fixed(row.excess_se)}",
            )
            for row in own.itertuples()
        )
        bodies.append((task, rows))
    return Grid(
        f"Kappa of learner and person on the same trials, protocol {protocol}",
        (
            *("Model, learner", "kappa ± SE", "ceiling", "H"),
            *("with other people", "excess ± SE"),
        ),
        tuple(bodies),
    )


def _learning_ranks(tables):
    table = tables.get(f"{LEARNING}/ranks")
    if table is None or table.empty:
        return None
    bodies = []
    for names, own in table.groupby(["protocol", "task", "measure"], sort=False):
        own = own[own["learner"] == "main"]
        protocol, task, measure = names
        rows = tuple(
            (
                *(row.model, f"{fixed(row.mean, 4)} ± {fixed(row.se, 4)}"),
                *(str(row.rank), f"{row.rank_low} to {row.rank_high}"),
            )
            for row in own.itertuples()
        )
        bodies.append((f"{task}, {MEASURES[measure]}, protocol {protocol}", rows))
    return Grid(
        "Models by three measures, learner main, and the ranks that the data allow",
        ("Model", "mean ± SE", "rank", "ranks allowed"),
        tuple(bodies),
    )


def _refits(tables):
    table = tables.get(f"{LEARNING}/refits")
    if table is None:
        return None
    rows = tuple(
        (
            *(f"{row.task}: {row.model}", fixed(row.difference, 4)),
            *(fixed(row.sd_fixed, 4), fixed(row.sd_refit, 4), fixed(row.ratio, 2)),
        )
        for row in table.itertuples()
    )
    return Grid(
        "Lead over the right answer in nats per trial, and its spread over resampled "
        "people under one fit and with a fit to every resample",
        ("Model", "difference", "SD, one fit", "SD, refitted", "ratio"),
        (("", rows),),
    )


def _rankings(tables):
    table = tables.get(f"{LEARNING}/rankings-agreement")
    if table is None or table.empty:
        return None
    protocol = _protocol(table.rename(columns={"protocol_i": "protocol"}))
    within = (table["protocol_i"] == protocol) & (table["protocol_j"] == protocol)
    table = table[within & (table["learner"] == "main")].dropna()
    if table.empty:
        return None
    rows = tuple(
        (
            f"{row.task}: {row.measure_i}, {row.measure_j}",
            *(str(row.n_models), fixed(row.kendall_tau_b, 2), fixed(row.spearman, 2)),
        )
        for row in table.itertuples()
    )
    return Grid(
        f"How far measures rank models alike, protocol {protocol}",
        ("Measures", "models", "Kendall's tau-b", "Spearman"),
        (("", rows),),
    )


def _planning(tables):
    table = tables.get("agreement/planning")
    if table is None:
        return None
    asked = (table["model"] == COPY_MODEL) & (table["images"] != DIFFERENT_IMAGES)
    table = table[asked].dropna(subset="n")
    bodies = []
    for accuracies, own in table.groupby(["accuracy_i", "accuracy_j"], sort=False):
        rows = tuple((_question(row), f"{int(row.n):,}") for row in own.itertuples())
        title = " and ".join(fixed(accuracy, 2) for accuracy in accuracies)
        bodies.append((f"accuracies {title}", rows))
    return Grid("Images needed", ("Question", "images"), tuple(bodies))


def _question(row):
    target = fixed(row.target, 2)
    if row.question == "width":
        return f"kappa {fixed(row.kappa, 2)}, interval as wide as {target}"
    kappas = f"kappa {fixed(row.kappa, 2)} from {fixed(row.kappa_other, 2)}"
    return f"{kappas}, power {target}"
