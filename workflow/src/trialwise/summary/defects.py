"""Known defects of the papers in words, with numbers of the study at hand."""

import pandas as pd
import yaml
from jinja2 import Environment, StrictUndefined

from trialwise.consistency import ALL_TRIALS
from trialwise.summary.grid import Grid
from trialwise.summary.headline import BASELINE, LEARNER, TRUTH, ceiling
from trialwise.summary.numbers import fixed, interval, significant
from trialwise.summary.protocols import MODEL

CORRELATION = "Spearman correlation"
_MEASURES = {
    "cka": "CKA",
    "odd_one_out_zero_shot": "odd-one-out accuracy, zero-shot",
    "odd_one_out_probing": "odd-one-out accuracy, probing",
    "peterson": "similarity judgements",
    "nights": "forced choices",
    "clickme": "ClickMe maps",
}


class NotComputedError(LookupError):
    """A number that the study has not computed."""


def describe_defects(text, tables, experiments, groups):
    """Fill the known defects with numbers of a study.

    Parameters
    ----------
    text : str
        YAML, a list of mappings; the value of `here` is a Jinja text in which the
        public methods of `Numbers` are functions.
    tables : dict of str to pandas.DataFrame
        By their names below the folder of results, without suffix.
    experiments, groups : dict
        See `trialwise.summary.headline.kappas`.

    Returns
    -------
    list of dict
        The mappings; `here` is empty where a number has not been computed.
    """
    numbers = Numbers(tables, experiments, groups)
    names = [name for name in dir(numbers) if not name.startswith("_")]
    known = {name: getattr(numbers, name) for name in names}
    environment = Environment(undefined=StrictUndefined)
    filled = []
    for entry in yaml.safe_load(text):
        template = environment.from_string(entry.get("here", ""))
        try:
            here = template.render(known)
        except NotComputedError:
            here = ""
        filled.append({**entry, "here": here})
    return filled


class Numbers:
    """Single numbers of a study, as texts.

    Parameters
    ----------
    tables, experiments, groups
        See `describe_defects`.

    Raises
    ------
    NotComputedError
        By every method, if the tables do not hold the number.
    """

    def __init__(self, tables, experiments, groups):
        self._tables, self._experiments, self._groups = tables, experiments, groups

    def kappa(self, *place):
        """Mean kappa; `place`: experiment, comparison and, if not all, the variant."""
        return fixed(self._mean(*place)["mean"])

    def largest(self, *place):
        """Largest kappa of a pair; see `kappa`."""
        return fixed(self._mean(*place)["maximum"])

    def half_widths(self, *place):
        """Half widths of the normal and of the crossed interval; see `kappa`."""
        row = self._mean(*place)
        crossed = (row["ci_high"] - row["ci_low"]) / 2
        return f"{fixed(row['half_width'])} and {fixed(crossed)}"

    def ceiling(self, experiment, comparison):
        """Mean ceiling of kappa.

        Raises
        ------
        NotComputedError
            If the study has not made that comparison.
        """
        self._mean(experiment, comparison)
        for first, second in self._experiments[experiment]["comparisons"]:
            if f"{first}-{second}" == comparison:
                pairs = self._tables[f"consistency/{experiment}/pairs"]
                return fixed(ceiling(pairs, self._groups[first], self._groups[second]))
        raise NotComputedError(comparison)

    def regression(self, experiment, benchmark, over, column, networks="cnn16"):
        """A column of the regression of kappa on a benchmark."""
        name = f"consistency/{experiment}/regression"
        given = {"benchmark": benchmark, "over": over, "networks": networks}
        return significant(self._row(name, **given)[column], 2)

    def score(self, protocol, task, column, model=MODEL):
        """A column of the scores of the main learner, or of a baseline."""
        learner = BASELINE if model == TRUTH else LEARNER
        given = {"protocol": protocol, "task": task, "learner": learner, "model": model}
        value = self._row("choices/scores", **given)[column]
        return fixed(value, 1 if column == "nll" else 3)

    def change(self, task, end, part):
        """What changing one part of a protocol does to the NLL."""
        name = f"summary/protocol-steps/{task}"
        return fixed(self._row(name, end=end, part=part)["difference"], 1)

    def statistic(
        self, item, version, subset, statistic=CORRELATION, outcome="r2", digits=2
    ):
        """A statistic over models, recomputed from published values."""
        row = self._statistic(item, version, subset, statistic, outcome)
        return fixed(row["value"], digits)

    def spread(self, item, version, subset, over="ci"):
        """The interval of a correlation, over models (``ci``) or ``family``."""
        row = self._statistic(item, version, subset, CORRELATION, "r2")
        return interval(row[f"{over}_low"], row[f"{over}_high"], 2)

    def _mean(self, experiment, comparison, variant=ALL_TRIALS):
        name = f"consistency/{experiment}/groups"
        return self._row(name, comparison=comparison, variant=variant)

    def _statistic(self, item, version, subset, statistic, outcome):
        given = {"item": item, "version": version, "subset": subset, "given": None}
        given |= {"statistic": statistic, "outcome": outcome}
        return self._row("summary/published/statistics", **given)

    def _row(self, name, **conditions):
        if name not in self._tables:
            raise NotComputedError(name)
        table = self._tables[name]
        for column, value in conditions.items():
            found = table[column].isna() if value is None else table[column] == value
            table = table[found]
        if len(table) != 1:
            raise NotComputedError(f"{name}: {conditions}")
        return table.iloc[0]


def repaired_correlations(statistics):
    """Correlations of R² as published and with the repairable defects repaired.

    Parameters
    ----------
    statistics : pandas.DataFrame
        From `trialwise.summary.factors.published_statistics`.

    Returns
    -------
    Grid
    """
    wanted = statistics["item"].str.fullmatch(r"Fig\. (4[A-F]|5|8[A-E])")
    chosen = statistics[wanted & (statistics["statistic"] == CORRELATION)]
    rows = []
    keys = ["item", "predictor", "subset"]
    for (item, predictor, subset), own in chosen.groupby(keys, sort=False):
        by_version: pd.DataFrame = own.set_index("version")
        text, mended = by_version.loc["paper"], by_version.loc["paper-repaired"]
        measure = _MEASURES.get(predictor, predictor.replace("_", " "))
        rows.append(
            (
                f"{item}: {measure}, {subset}",
                *(str(int(text["n"])), fixed(text["value"], 2)),
                interval(text["ci_low"], text["ci_high"], 2),
                fixed(by_version.loc["figures", "value"], 2),
                fixed(by_version.loc["tables", "value"], 2),
                *(str(int(mended["n"])), fixed(mended["value"], 2)),
                interval(mended["family_low"], mended["family_high"], 2),
            )
        )
    head = (
        *("R² with", "models", "values of the text", "95 %, over models"),
        *("final figures", "printed tables"),
        *("models, repaired", "repaired", "95 %, over families"),
    )
    caption = "Rank correlations (Spearman) of R², recomputed from published values"
    return Grid(caption, head, (("", tuple(rows)),))
