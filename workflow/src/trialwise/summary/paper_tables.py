"""Tables 1 and 2 of the paper, published and reproduced values side by side."""

import numpy as np
import pandas as pd

from trialwise.summary.model_table import NLL

# Column of the model tables: heading, decimals and which extreme is set in bold.
TABLE_1 = {
    "parameters": ("Parameters (M)", 2, None),
    **{
        name: (
            name.replace("category_nll", "Category")
            .replace("reward_nll", "Reward")
            .replace("_", ", ")
            .replace("pca", "PCA"),
            2,
            "min",
        )
        for name in NLL
    },
}
TABLE_2 = {
    "task_accuracy": ("Task accuracy", 2, None),
    "training_images": ("Training images (M)", 2, None),
    "class_separation": ("Class separation", 2, None),
    "cka": ("CKA", 2, None),
    "intrinsic_dimensionality": ("Intrinsic dimensionality", 2, None),
}
TABLES = {"table-1": TABLE_1, "table-2": TABLE_2}
CAPTIONS = {
    "table-1": "Size, and negative log-likelihood of people's choices under each "
    "learner: published / reproduced. Lowest values of each column in bold.",
    "table-2": "Task accuracy, training images and measures of the representations: "
    "published / reproduced.",
}


def side_by_side(published, computed, columns, version="published"):
    """One row per model with both values of every column.

    Parameters
    ----------
    published : pandas.DataFrame
        From `trialwise.summary.model_table.published_models`; of the version ``tables``
        in its order.
    computed : pandas.DataFrame or None
        From `trialwise.summary.model_table.computed_models`. Its models that the tables
        lack come last.
    columns : iterable of str
    version : str
        The protocol in `computed`.

    Returns
    -------
    pandas.DataFrame
        ``model, type`` and, for each column, ``{column}_published,
        {column}_reproduced``. Reproduced parameters are those counted, also where
        nothing else of a model was computed.
    """
    printed = published[published["version"] == "tables"].set_index("model")
    own = printed.iloc[:0]
    if computed is not None:
        own = computed[computed["version"] == version].set_index("model")
    models = printed.index.append(own.index.difference(printed.index, sort=False))
    types = printed["type"].combine_first(own["type"])
    table = pd.DataFrame({"type": types.reindex(models)})
    for column in columns:
        source = "parameters_counted" if column == "parameters" else column
        reproduced = own[source].astype(float)
        if column == "parameters":
            reproduced = reproduced.combine_first(printed[source])
        table[f"{column}_published"] = printed[column].reindex(models)
        table[f"{column}_reproduced"] = reproduced.reindex(models)
    return table.rename_axis("model").reset_index()


def typeset(table, columns, names, mark):
    """The same as text: both values in one cell, the best of each column marked.

    Parameters
    ----------
    table : pandas.DataFrame
        From `side_by_side`.
    columns : dict of str to tuple
        Heading, decimals and ``min`` or None, see `TABLE_1`.
    names : dict of str to str
        Printed names of models.
    mark : callable
        Puts text in bold.

    Returns
    -------
    pandas.DataFrame of str
    """
    cells = {"Model": [names.get(model) or model for model in table["model"]]}
    for column, (heading, decimals, extreme) in columns.items():
        halves = [
            _digits(table[f"{column}_{source}"], decimals, extreme, mark)
            for source in ("published", "reproduced")
        ]
        cells[heading] = [" / ".join(pair) for pair in zip(*halves, strict=True)]
    return pd.DataFrame(cells)


def to_markdown(table, columns, names):
    """A table of `side_by_side` in Markdown."""
    cells = typeset(table, columns, names, "**{}**".format)
    return cells.to_markdown(index=False, disable_numparse=True) + "\n"


def to_latex(table, columns, names, label):
    """A table of `side_by_side` in LaTeX, for booktabs and longtable."""
    escaped = {model: _escape(names.get(model) or model) for model in table["model"]}
    cells = typeset(table, columns, escaped, r"\textbf{{{}}}".format)
    return cells.to_latex(
        index=False,
        longtable=True,
        column_format="l" + "r" * len(columns),
        caption=CAPTIONS[label],
        label=f"tab:{label}",
    )


def _digits(values, decimals, extreme, mark):
    best = values.min() if extreme else np.nan
    texts = ["-" if np.isnan(value) else f"{value:.{decimals}f}" for value in values]
    return [
        mark(text) if value == best else text
        for value, text in zip(values, texts, strict=True)
    ]


def _escape(text):
    return "".join(f"\\{letter}" if letter in "&%$#_{}" else letter for letter in text)
