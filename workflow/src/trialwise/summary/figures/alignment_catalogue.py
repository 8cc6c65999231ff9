"""What figures of the learning tasks there are, and their words; nothing is drawn.

Inputs are named by the table below the results folder (``choices/scores``), except
``printed-curves`` (curves read out of the paper). Of published figures
``summary/models`` and ``summary/factors`` are the tables of published values.
"""

from trialwise.summary.figures.catalogue import Entry

_MODELS, _FACTORS = "summary/models", "summary/factors"
_BY_TRIAL = ("choices/people/category-by-trial", "choices/people/reward-by-trial")

LEARNING_TASKS = {
    "gain-over-truth": Entry(
        "Headline",
        "What each model adds to knowing the right answer",
        ("choices/scores",),
        "Gain over truth of each model, one panel per task: nats per trial that its "
        "learner adds to predicting people's choices from the right answer, with "
        "standard errors over participants. Right of the zero line a model explains "
        "something about people beyond being right.",
    ),
    "learning-curves": Entry(
        "Figure 2",
        "Learning curves of people and of learners",
        (*_BY_TRIAL, "learners/curves", "printed-curves"),
        "Share of correct answers by trial, a column per task: people, with 95 % "
        "intervals, and below them learners that see up to five models, under the "
        "protocols published and comparable. Broad grey lines: printed in the paper.",
    ),
    "alignment-by-model": Entry(
        "Figure 3",
        "How well each model predicts people's choices",
        (_MODELS,),
        "Bars of McFadden's R² by model, sorted and coloured by type of model, one "
        "panel per task, under the protocol comparable; diamonds give the same models "
        "under the protocol published.",
    ),
    "alignment-and-model-properties": Entry(
        "Figure 4",
        "Alignment against properties of the models",
        (_MODELS, _FACTORS),
        "Six panels of McFadden's R² against task accuracy, parameters, training "
        "images, class separation, CKA with the generative features and intrinsic "
        "dimensionality, one point per model, each with its rank correlation.",
    ),
    "alignment-and-dimensionality-by-type": Entry(
        "Figure 5",
        "Alignment and intrinsic dimensionality within types of models",
        (_FACTORS,),
        "Rank correlation of intrinsic dimensionality and McFadden's R² within "
        "supervised, self-supervised and multimodal models, with 95 % intervals.",
    ),
    "alignment-by-training-objective": Entry(
        "Figure 6",
        "Models that differ in their training objective alone",
        (_FACTORS, "choices/participants"),
        "Bars of McFadden's R² and of task accuracy of vision transformers of three "
        "sizes trained with the objectives CLIP, SimCLR and SLIP, with 95 % intervals.",
    ),
    "aligned-models-against-base": Entry(
        "Figure 7",
        "Models aligned to people against those they come from",
        (_MODELS, _FACTORS),
        "Five panels of differences, aligned model minus its base: McFadden's R², task "
        "accuracy, class separation, CKA and intrinsic dimensionality, by model and "
        "method of alignment.",
    ),
    "alignment-and-other-measures": Entry(
        "Figure 8",
        "Alignment against other measures of agreement with people",
        (_MODELS, _FACTORS),
        "Five panels of McFadden's R² against odd-one-out accuracy, zero-shot and "
        "probing, similarity judgements, forced choices and ClickMe maps, one point "
        "per model, each with its rank correlation.",
    ),
    "predicted-choices-by-model": Entry(
        "Figure 10",
        "Share of people's choices that each model predicts",
        (_MODELS, _FACTORS),
        "Bars of the share of people's choices that each model predicts, from one "
        "half, sorted and coloured by type of model, one panel per task, under the "
        "protocol comparable; diamonds give the protocol published.",
    ),
    "aligned-models-against-base-other-measures": Entry(
        "Figure 11",
        "Aligned models against their bases in other measures",
        (_MODELS, _FACTORS),
        "Three panels of differences, aligned model minus its base: McFadden's R², "
        "similarity judgements and forced choices, by model and method of alignment.",
    ),
    "people-above-chance-by-trial": Entry(
        "Figure 12",
        "Trials in which people are right more often than by chance",
        _BY_TRIAL,
        "p value of a t-test against one half by trial on a logarithmic axis, one "
        "panel per task; filled points lie below .05. They begin within the first "
        "trials, and p tends to fall with further trials.",
    ),
    "example-trials": Entry(
        "Figure 13",
        "The first trials of two participants",
        ("choices/people/category", "choices/people/reward"),
        "Two rows of six trials. Category task: the name of an object, the answer "
        "Julty or Folty, the true owner, and whether the answer was correct. Reward "
        "task: two objects with their rewards, the chosen one framed, and whether it "
        "was correct.",
    ),
    "correlations-of-model-properties": Entry(
        "Figure 14",
        "How properties of models go together",
        (_FACTORS,),
        "Triangular map of rank correlations between task accuracy, parameters, "
        "training images, class separation, CKA and intrinsic dimensionality.",
    ),
}

# `paper` is what the text was written from, `figures` what the authors' final figures
# show; some measures exist in the latter alone.
PUBLISHED_VERSIONS = {
    "learning-curves": "figures",
    "alignment-by-model": "paper",
    "alignment-and-model-properties": "paper",
    "alignment-and-dimensionality-by-type": "paper",
    "alignment-by-training-objective": "paper",
    "aligned-models-against-base": "paper",
    "alignment-and-other-measures": "figures",
    "aligned-models-against-base-other-measures": "figures",
    "correlations-of-model-properties": "figures",
}
_PUBLISHED_ALT = {
    "learning-curves": "Share of correct answers of learners in twelve blocks of "
    "trials, as printed. Category task: five learners rise alike from one half to "
    "between .67 and .79. Reward task: the generative features (Task) come close to 1, "
    "the others end between .72 and .81.",
    "alignment-by-model": "Bars of McFadden's R² of 86 representations, sorted and "
    "coloured by type, one panel per task. CLIP models lead both panels (.13 and .15); "
    "Task has .08 and .11; supervised and self-supervised models fill the lower half; "
    "in the reward task three supervised models lie below zero.",
    "alignment-and-model-properties": "Six panels of McFadden's R² against properties "
    "of the models. It rises with task accuracy (.78), parameters (.48), training "
    "images (.52), class separation (.29) and CKA with the generative features (.71), "
    "and falls with intrinsic dimensionality (-.24).",
    "alignment-and-dimensionality-by-type": "Rank correlation of intrinsic "
    "dimensionality and McFadden's R²: clearly negative for multimodal models (-.68), "
    "not different from zero for supervised (-.24) and self-supervised ones (.34).",
    "alignment-by-training-objective": "Bars of McFadden's R² and task accuracy for "
    "small, base and large vision transformers: SLIP is highest and SimCLR lowest at "
    "every size.",
    "aligned-models-against-base": "Five panels of differences, aligned model minus "
    "its base. R² mostly falls; gLocal raises class separation everywhere and CKA "
    "mostly; Harmonization lowers class separation, CKA and accuracy.",
    "alignment-and-other-measures": "Five panels of McFadden's R² against other "
    "measures of agreement with people. It rises with odd-one-out accuracy (.54 "
    "zero-shot, .61 probing) and similarity judgements (.35), hardly with forced "
    "choices (.07), and falls with ClickMe maps (-.48).",
    "aligned-models-against-base-other-measures": "Three panels of differences, "
    "aligned model minus its base. R² mostly falls, while DreamSim models gain in "
    "forced choices and effects on similarity judgements are mixed.",
    "correlations-of-model-properties": "Triangular map of rank correlations between "
    "properties of models: task accuracy goes with CKA (.84) and with training images "
    "(.73); intrinsic dimensionality is negatively correlated with all.",
}
PUBLISHED_FIGURES = {
    name: Entry(
        LEARNING_TASKS[name].number,
        f"{LEARNING_TASKS[name].title}, from published values",
        ("printed-curves",)
        if name == "learning-curves"
        else tuple(
            table
            for table in LEARNING_TASKS[name].inputs
            if table in (_MODELS, _FACTORS)
        ),
        alt,
    )
    for name, alt in _PUBLISHED_ALT.items()
}
# What the published versions of values are, for captions.
VERSION_CAPTIONS = {
    "figures": "Drawn from values read out of the authors' final vector figures, in "
    "which the Harmonization networks see rightly scaled images.",
    "paper": "Drawn from the published values that the text rests on: the final vector "
    "figures, with the Harmonization networks of the printed tables.",
}
