"""Which functions tabulate and draw each figure of the catalogue."""

from functools import partial

from trialwise.summary.figures import answers, consistency, consistency_tables
from trialwise.summary.figures.catalogue import EXPERIMENTS

DRAWINGS = {
    "overlap-and-kappa-edges": (
        consistency_tables.tabulate_steps,
        consistency.draw_steps,
    ),
    "bounds-and-percentiles": (
        consistency_tables.tabulate_bounds,
        consistency.draw_bounds,
    ),
    "kappa-against-imagenet-accuracy": (
        consistency_tables.tabulate_scores,
        consistency.draw_scores,
    ),
    "kappa-against-expected-overlap": (
        partial(consistency_tables.tabulate_overlap, names=["cnn16"]),
        consistency.draw_overlap,
    ),
    "kappa-of-cornet-s": (
        partial(
            consistency_tables.tabulate_overlap,
            names=["cornet", "resnet50"],
            by_name=True,
        ),
        consistency.draw_overlap,
    ),
    "stimulus-examples": (answers.tabulate_examples, answers.draw_examples),
    "expected-overlap-of-accuracies": (
        consistency_tables.tabulate_expected,
        consistency.draw_expected,
    ),
    "controversial-stimuli": (
        answers.tabulate_controversial,
        answers.draw_controversial,
    ),
    "shape-bias": (answers.tabulate_shape_bias, answers.draw_shape_bias),
    "accuracy-against-distortion": (
        answers.tabulate_distortion,
        answers.draw_distortion,
    ),
    **{
        f"confusion-{name}": (
            partial(answers.tabulate_confusion, experiment=name),
            answers.draw_confusion,
        )
        for name in (*EXPERIMENTS, "colour")
    },
    **{
        f"kappa-against-brain-score-{name}": (
            partial(consistency_tables.tabulate_brain_score, experiment=name),
            consistency.draw_brain_score,
        )
        for name in EXPERIMENTS
    },
}
