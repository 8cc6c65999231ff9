"""Shape bias on cue-conflict images (Geirhos et al. 2019; supplement of 2020)."""

import pandas as pd

from trialwise.consistency import ALL_TRIALS, PUBLISHED
from trialwise.consistency.accuracy import HUMANS
from trialwise.consistency.regression import correlation
from trialwise.trials import is_human, label_in_name

ALL = "all"


def shape_bias(trials, texture_pattern):
    """Share of shape decisions among decisions for shape or texture.

    Images whose shape and texture agree are left out.

    Parameters
    ----------
    trials : pandas.DataFrame
        From `trialwise.trials.read_trials`; `category` is the shape.
    texture_pattern : str
        Regular expression whose first group is the texture in the image name.

    Returns
    -------
    pandas.DataFrame
        ``observer, category, n, n_shape, n_texture, shape_bias`` for each observer and
        for the people pooled (``humans``), by shape category and over ``all``.
    """
    texture = label_in_name(texture_pattern, trials["image"])
    table = pd.DataFrame(
        {
            "observer": trials["observer"],
            "category": trials["category"],
            "shape": (trials["response"] == trials["category"]).astype(int),
            "texture": (trials["response"] == texture).astype(int),
        }
    )[texture != trials["category"]]
    pooled = table[is_human(table["observer"])].assign(observer=HUMANS)
    table = pd.concat([table, pooled] if len(pooled) else [table])
    table = pd.concat([table, table.assign(category=ALL)])
    counts = table.groupby(["observer", "category"], as_index=False).agg(
        n=("shape", "size"), n_shape=("shape", "sum"), n_texture=("texture", "sum")
    )
    decided = counts["n_shape"] + counts["n_texture"]
    return counts.assign(shape_bias=counts["n_shape"] / decided.where(decided > 0))


def shape_bias_and_kappa(networks, bias, accuracy, observers):
    """Shape bias and mean kappa with people of differently trained networks.

    Parameters
    ----------
    networks : pandas.DataFrame
        ``observer, mean``: mean kappa with people.
    bias : pandas.DataFrame
        From `shape_bias`.
    accuracy : pandas.DataFrame
        From `trialwise.consistency.accuracy.observer_accuracy`.
    observers : sequence of str

    Returns
    -------
    table : pandas.DataFrame
        ``observer, accuracy, shape_bias_percent, kappa``.
    correlation : pandas.DataFrame
        ``variant, n, r``: Pearson's r over `observers`, and for the variant
        ``published`` from values rounded as the authors typed them (kappa to three
        decimals, shape bias to two decimals of a percent).
    """
    overall = bias[bias["category"] == ALL].set_index("observer")
    table = pd.DataFrame(
        {
            "accuracy": accuracy.set_index("observer")["accuracy"],
            "shape_bias_percent": 100 * overall["shape_bias"],
            "kappa": networks.set_index("observer")["mean"],
        }
    ).loc[list(observers)]
    rounded = table.round({"shape_bias_percent": 2, "kappa": 3})
    rows = []
    for variant, values in ((ALL_TRIALS, table), (PUBLISHED, rounded)):
        r, n = correlation(values, "shape_bias_percent", "kappa")
        rows.append({"variant": variant, "n": n, "r": r})
    return table.rename_axis("observer").reset_index(), pd.DataFrame(rows)
