"""Every statistic about what goes with alignment, in one table."""

import pandas as pd

from trialwise.summary.alignment_effects import alignment_effects, loss_effects
from trialwise.summary.correlations import correlate
from trialwise.summary.model_table import repair
from trialwise.summary.rankings import compare_versions, rank_models


def published_statistics(models, registry, n_resamples, seed):
    """Recompute the paper's statistics from what it has published about each model.

    Parameters
    ----------
    models : pandas.DataFrame
        From `trialwise.summary.model_table.published_models`.
    registry : dict of str to trialwise.models.registry.Model
    n_resamples, seed : int
        See `trialwise.summary.correlations.correlate`.

    Returns
    -------
    pandas.DataFrame
        Columns of `trialwise.summary.correlations.correlate`, for the printed tables,
        the vector figures and the paper's own mixture of both; correlations also with
        the known defects repaired.
    """
    repaired = pd.concat([models, repair(models, registry)], ignore_index=True)
    tables = [
        correlate(repaired, n_resamples, seed),
        loss_effects(models),
        alignment_effects(models),
        rank_models(models),
        compare_versions(models),
    ]
    return _join(tables)


def computed_statistics(models, n_resamples, seed):
    """The same statistics of computed models, one version per protocol.

    Parameters
    ----------
    models : pandas.DataFrame
        From `trialwise.summary.model_table.computed_models`.
    n_resamples, seed : int
        See `trialwise.summary.correlations.correlate`.

    Returns
    -------
    pandas.DataFrame
        See `published_statistics`. Where models are too few a value is NaN.
    """
    tables = [
        correlate(models, n_resamples, seed),
        loss_effects(models),
        alignment_effects(models),
        rank_models(models),
    ]
    return _join(tables)


def _join(tables):
    joined = pd.concat(tables, ignore_index=True)
    return joined.astype({"n": "Int64", "n_families": "Int64"})
