"""What the choice models find, beside what people were simulated with."""

import pandas as pd

from trialwise.simulation.representations import SOURCE


def recovery(scores, fits, truth):
    """Compare what a choice model finds with what people were simulated with.

    Parameters
    ----------
    scores, fits : pandas.DataFrame
        Of one protocol and the learner people chose by: ``task, model, nll`` and
        ``task, model, term, estimate, standard_error``.
    truth : dict
        ``beta`` and ``sigma``.

    Returns
    -------
    pandas.DataFrame
        Per task ``ranked_first, nll, nll_second``, and ``estimate`` and, for beta, its
        ``standard_error``, of ``parameter`` beta and sigma beside ``true``.
    """
    terms = {"beta": "x", "sigma": "sd(x)"}
    rows = []
    for task, own in scores[scores["model"].isin(fits["model"])].groupby("task"):
        ranked = own.sort_values("nll")
        fit = fits[(fits["task"] == task) & (fits["model"] == SOURCE)]
        fit = fit.set_index("term")
        for parameter, term in terms.items():
            rows.append(
                {
                    "task": task,
                    "ranked_first": ranked["model"].iloc[0],
                    "nll": ranked["nll"].iloc[0],
                    "nll_second": ranked["nll"].iloc[1],
                    "parameter": parameter,
                    "true": truth[parameter],
                    "estimate": fit.loc[term, "estimate"],
                    "standard_error": fit.loc[term, "standard_error"],
                }
            )
    return pd.DataFrame(rows)


def describe_recovery(table):
    """The `recovery` table as lines to read."""
    lines = []
    for task, own in table.groupby("task"):
        first = own.iloc[0]
        lines.append(
            f"{task}: {first.ranked_first} predicts choices best "
            f"(NLL {first.nll:.1f}, next {first.nll_second:.1f})"
        )
        for row in own.itertuples():
            error = f" ± {row.standard_error:.3f}" if row.parameter == "beta" else ""
            lines.append(
                f"{task}: true {row.parameter} {row.true:.3f}, "
                f"estimated {row.estimate:.3f}{error}"
            )
    return "\n".join(lines)
