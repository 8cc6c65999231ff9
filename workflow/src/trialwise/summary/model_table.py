"""One table of models for published and computed values alike."""

import numpy as np
import pandas as pd

from trialwise.errors import InputError

TASKS = ("category", "reward")
LEARNERS = ("main", "sparse", "pca")
MEASURES = (
    *("class_separation", "cka", "intrinsic_dimensionality"),
    *("odd_one_out_zero_shot", "odd_one_out_probing"),
    *("peterson", "nights", "clickme"),
)
NLL = tuple(
    f"{task}_nll" if learner == "main" else f"{task}_nll_{learner}"
    for task in TASKS
    for learner in LEARNERS
)
PUBLISHED_COLUMNS = (
    *("model", "version", *NLL, "category_r2", "reward_r2", "task_accuracy"),
    *("parameters", "training_images", *MEASURES),
)
COLUMNS = (
    *("source", "version", "model", "type", "family", "baseline", "aligned_by"),
    *(f"{task}_{unit}" for task in TASKS for unit in ("participants", "trials")),
    *(*NLL, "category_r2", "reward_r2", "r2"),
    *("category_accuracy", "reward_accuracy", "task_accuracy"),
    *("category_choice_accuracy", "reward_choice_accuracy"),
    *("parameters", "parameters_counted", "training_images", *MEASURES),
)
PARTICIPANTS = {"category": 91, "reward": 82}
TRIALS = {"category": 91 * 120, "reward": 82 * 60}
NO_NETWORK = ("Language", "Task")
# One network under several names: their downloads had the same file name.
SAME_FEATURES = (
    ("simclr-rn50", "swav-rn50", "pirl-rn50"),
    ("vicreg-rn50", "barlowtwins-rn50"),
)
WRONG_TRAINING_IMAGES = ("vit-h-14",)
REPAIRED = "-repaired"


def published_models(path, registry, families):
    """The published values of every model, in the columns of all model tables.

    Parameters
    ----------
    path : path
        Columns `PUBLISHED_COLUMNS`. `version` is ``tables`` (as printed), ``figures``
        (coordinates of the vector figures in the authors' repository, where the
        Harmonization networks see rightly scaled images; the sizes that no figure
        shows, of language models and Task, from Table 1) or ``paper`` (the figures with
        the Harmonization networks and one CKA of the tables: what the text was written
        from). Parameters and training images in millions, accuracies as shares. The
        zeros that Table 2 prints for BERT stand for no value and are left empty.
    registry : dict of str to trialwise.models.registry.Model
    families : pandas.DataFrame
        From `read_families`.

    Returns
    -------
    pandas.DataFrame
        `COLUMNS`. Where only the negative log-likelihood is published, McFadden's R2
        is computed from it.

    Raises
    ------
    InputError
        If a column is missing, a model is not in the registry or stands twice.
    """
    table = pd.read_csv(path)
    missing = [name for name in PUBLISHED_COLUMNS if name not in table.columns]
    if missing:
        raise InputError(f"{path}, line 1: no column {', '.join(missing)}. Add it.")
    for line, model in enumerate(table["model"], start=2):
        if model not in registry:
            raise InputError(
                f"{path}, line {line}: {model!r} is no model of the registry. "
                "Give the id that the registry has."
            )
    repeated = table.duplicated(["model", "version"])
    if repeated.any():
        raise InputError(
            f"{path}, line {int(repeated.idxmax()) + 2}: this model stands twice in "
            "one version. Remove one of the two."
        )
    for task in TASKS:
        from_nll = 1 - table[f"{task}_nll"] / (TRIALS[task] * np.log(2))
        table[f"{task}_r2"] = table[f"{task}_r2"].fillna(from_nll)
        table[f"{task}_participants"] = PARTICIPANTS[task]
        table[f"{task}_trials"] = TRIALS[task]
    return _complete(table.assign(source="published"), registry, families)


def computed_models(scores, metrics, registry, families):
    """The computed values of every model, one version per protocol.

    Parameters
    ----------
    scores : pandas.DataFrame
        From `trialwise.choices.scores.score_table`, with ``protocol, task, learner,
        model``.
    metrics : pandas.DataFrame
        `model` and as many of `MEASURES` as there are.
    registry, families
        See `published_models`.

    Returns
    -------
    pandas.DataFrame
        `COLUMNS`; task accuracy is the mean of both tasks, as in the paper.
    """
    scores = scores[scores["learner"].isin(LEARNERS)]
    index = ["protocol", "model"]
    models = scores[index].drop_duplicates().reset_index(drop=True)
    for task in TASKS:
        for learner, nll in zip(
            LEARNERS, [name for name in NLL if name.startswith(task)], strict=True
        ):
            own = scores[(scores["task"] == task) & (scores["learner"] == learner)]
            own = own.set_index(index)
            models = models.join(own["nll"].rename(nll), on=index)
            if learner == "main":
                renamed = {
                    "n_participants": f"{task}_participants",
                    "n_trials": f"{task}_trials",
                    "mcfadden_r2": f"{task}_r2",
                    "task_accuracy": f"{task}_accuracy",
                    "choice_accuracy": f"{task}_choice_accuracy",
                }
                own = own.rename(columns=renamed)[list(renamed.values())]
                models = models.join(own, on=index)
    accuracies = models[["category_accuracy", "reward_accuracy"]]
    known = [registry.get(model) for model in models["model"]]
    models = models.assign(
        source="computed",
        task_accuracy=accuracies.mean(axis=1, skipna=False),
        parameters=[_millions(model) for model in known],
        training_images=[model.training_images if model else None for model in known],
    ).rename(columns={"protocol": "version"})
    own = metrics.set_index("model").reindex(columns=list(MEASURES))
    return _complete(models.join(own, on="model"), registry, families)


def read_families(path):
    """Read which models are akin, and what aligned ones are compared with.

    Parameters
    ----------
    path : path
        Tab-separated: `model`; its `family`, the models of one release or one
        architecture with one training programme, where transforms and fine-tuned
        networks belong to the family of the network that they start from; and the
        `baseline` of an aligned model.

    Returns
    -------
    pandas.DataFrame
        ``family, baseline`` by model, empty where there is none.
    """
    table = pd.read_csv(path, sep="\t", dtype=str, keep_default_na=False)
    return table.set_index("model")


def by_version(table):
    """Models of each source and version, after a dict of these two labels."""
    for (source, version), models in table.groupby(["source", "version"], sort=False):
        yield {"source": source, "version": version}, models


def is_vision(table):
    """Which rows are networks that see images: neither language models nor Task."""
    return ~table["type"].isin(NO_NETWORK)


def repair(table, registry):
    """The same models without the defects that the numbers allow to be repaired.

    Networks whose features were the same array count once, with the mean of what is
    published under their names, and a network whose training images were mistaken
    gets the number of the registry.

    Parameters
    ----------
    table : pandas.DataFrame
        From `published_models`.
    registry : dict of str to trialwise.models.registry.Model

    Returns
    -------
    pandas.DataFrame
        `COLUMNS`, every version with ``-repaired`` after its name.
    """
    table = table.assign(version=table["version"] + REPAIRED)
    for model in WRONG_TRAINING_IMAGES:
        rows = table["model"] == model
        table.loc[rows, "training_images"] = registry[model].training_images
    first = {name: names[0] for names in SAME_FEATURES for name in names}
    table = table.assign(model=table["model"].replace(first))
    numeric = table.select_dtypes("number").columns
    keys = ["version", "model"]
    means = table.groupby(keys, sort=False)[list(numeric)].transform("mean")
    return table.assign(**means).drop_duplicates(keys).reset_index(drop=True)


def _complete(table, registry, families):
    known = [registry.get(model) for model in table["model"]]
    akin = families.reindex(table["model"])
    table = table.assign(
        r2=(table["category_r2"] + table["reward_r2"]) / 2,
        type=[model.type if model else "" for model in known],
        aligned_by=[model.aligned_by if model else "" for model in known],
        parameters_counted=[_millions(model) for model in known],
        # Unknown models are akin to none.
        family=akin["family"].fillna(pd.Series(akin.index, akin.index)).to_numpy(),
        baseline=akin["baseline"].fillna("").to_numpy(),
    )
    numbers = [name for name in COLUMNS[7:] if name in table.columns]
    table = table.astype(dict.fromkeys(numbers, float))
    return table.reindex(columns=list(COLUMNS))


def _millions(model):
    return model.parameters / 1e6 if model and model.parameters else np.nan
