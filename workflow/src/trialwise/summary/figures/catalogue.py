"""What figures there are, what they are drawn from, and their words; nothing is drawn.

Inputs are named by the table below ``results/consistency`` (``edges/pairs``), except
``published`` (the published values) and ``stimuli-*`` (folders of images).
"""

from dataclasses import dataclass

EXPERIMENTS = ("cue-conflict", "edges", "silhouettes")
NOISE = (
    *("uniform-noise", "contrast", "high-pass", "low-pass"),
    *("eidolon-1", "eidolon-2", "eidolon-3", "phase-scrambling"),
)


@dataclass(frozen=True)
class Entry:
    """One figure: its number in the paper, inputs and texts."""

    number: str
    title: str
    inputs: tuple[str, ...]
    alt: str


def _each(*tables, experiments=EXPERIMENTS):
    return tuple(f"{name}/{table}" for name in experiments for table in tables)


def _confusion(experiment, title, number, seen):
    return Entry(
        number,
        f"What is answered to which category: {title}",
        (f"{experiment}/confusion",),
        f"Heat maps of answers by presented category, {title}: {seen}",
    )


def _brain_score(experiment, title, number, seen):
    return Entry(
        number,
        f"Error consistency with people against Brain-Score: {title}",
        (
            *_each("pairs", "groups", "networks", experiments=[experiment]),
            *("benchmark-scores", "published"),
        ),
        "Six panels of error consistency of 14 networks with people against the "
        f"Brain-Score metrics average, V1, V2, V4, IT and behaviour, {title}: {seen}",
    )


_MATRICES = (
    "people's answers lie on the diagonal, those of ResNet-50 and CORnet-S fall into a "
    "few columns, much the same ones for both networks."
)

ERROR_CONSISTENCY = {
    "overlap-and-kappa-edges": Entry(
        "Figure 1",
        "From error overlap to error consistency: four networks, edges",
        (
            *_each("pairs", "groups", "networks", "band", experiments=["edges"]),
            *("benchmark-scores", "published"),
        ),
        "Three panels for edge images. Observed against expected error overlap: pairs "
        "of people and pairs of networks lie above the diagonal, networks paired with "
        "people just on it. Error consistency against expected overlap: the same pairs "
        "above and within the band of independent observers. Error consistency with "
        "people against ImageNet accuracy: four networks near .05, below the mean of "
        "pairs of people (.32) and of pairs of networks.",
    ),
    "bounds-and-percentiles": Entry(
        "Figures 2 (upper row) and SF.1",
        "Bounds and percentiles of independent observers, 160 and 1,280 trials",
        (
            *_each("accuracy", "band", experiments=["edges", "cue-conflict"]),
            "published",
        ),
        "Observed overlap and kappa of simulated independent observers against "
        "expected overlap, for 160 and 1,280 trials. The 95 % percentiles enclose the "
        "dots, widest at an expected overlap of one half, and narrow towards the "
        "bounds; the textbook intervals do not follow them.",
    ),
    "kappa-against-imagenet-accuracy": Entry(
        "Figure 3",
        "Error consistency with people against ImageNet accuracy, 16 networks",
        (
            *_each("pairs", "groups", "networks"),
            *("colour/groups", "benchmark-scores", "published"),
        ),
        "Four panels of error consistency against top-5 ImageNet accuracy. Networks "
        "paired with people stay near .07 for cue conflict and .05 for edges at any "
        "accuracy and rise from .17 to .43 for silhouettes, always below pairs of "
        "people (.33, .32, .48) and pairs of networks (.60, .47, .63). For ImageNet "
        "images only the pair of people (.37) can be computed.",
    ),
    "kappa-against-expected-overlap": Entry(
        "Figures 4a and SF.3",
        "Error consistency against expected overlap, 16 networks by architecture",
        (*_each("pairs", "band"), "published"),
        "Three panels, cue conflict, edges and silhouettes: pairs of networks, of one "
        "family or not, reach the highest kappa, pairs of people come next, and "
        "networks paired with people lie in or just above the band of independent "
        "observers, except for silhouettes.",
    ),
    "kappa-of-cornet-s": Entry(
        "Figures 4b and SF.6",
        "Error consistency against expected overlap, CORnet-S and ResNet-50",
        (*_each("pairs", "band"), "published"),
        "Three panels, cue conflict, edges and silhouettes: CORnet-S and ResNet-50 "
        "agree with each other (kappa .71, .57, .74) more than with people, with whom "
        "both agree equally little; pairs of people lie between.",
    ),
    "stimulus-examples": Entry(
        "Stimuli of Figure 3",
        "Edge and silhouette stimuli",
        ("edges/controversial", "stimuli-edges", "stimuli-silhouettes"),
        "Two rows of images: line drawings of eight objects, and the same objects as "
        "black silhouettes on white.",
    ),
    "expected-overlap-of-accuracies": Entry(
        "Figure SF.2",
        "Expected overlap by the accuracies of two independent observers",
        (),
        "Map of expected overlap over two accuracies: 1 where both are 0 or both are "
        "1, 0 where one is 0 and the other 1, one half on the lines through the "
        "centre.",
    ),
    "controversial-stimuli": Entry(
        "Figure SF.4",
        "Stimuli on which people and networks differ most",
        (
            *_each("controversial", experiments=["edges", "silhouettes"]),
            *("stimuli-edges", "stimuli-silhouettes", "published"),
        ),
        "Four rows of five images: edges and silhouettes that are easiest for people "
        "and hardest for networks, and the reverse, each with the number of observers "
        "who are right. Of the edges, networks find clocks and a knife easiest, which "
        "nearly all people see too.",
    ),
    "shape-bias": Entry(
        "Figure SF.5",
        "Shape bias of people, ResNet-50 and CORnet-S",
        ("cue-conflict/shape-bias", "published"),
        "Shape bias by category on cue conflict images: people decide by shape (.96 on "
        "average), ResNet-50 (.21) and CORnet-S (.18) by texture in most categories. "
        "Bars beside it give the share of answers that are the shape or the texture.",
    ),
    "accuracy-against-distortion": Entry(
        "Figure SF.7",
        "Accuracy against the strength of eight distortions",
        (*_each("levels", experiments=NOISE), "published"),
        "Eight panels of accuracy against distortion: ResNet-50 and CORnet-S run close "
        "together, at or above people where the distortion is weak, and lose more than "
        "people as it grows, most of all under uniform noise and the filters.",
    ),
    "confusion-cue-conflict": _confusion(
        "cue-conflict", "cue conflict", "Figure SF.8", _MATRICES
    ),
    "confusion-edges": _confusion("edges", "edges", "Figure SF.8", _MATRICES),
    "confusion-silhouettes": _confusion(
        "silhouettes",
        "silhouettes",
        "Figure SF.8",
        "people's answers lie on the diagonal, half of those of ResNet-50 and CORnet-S "
        "do.",
    ),
    "confusion-colour": _confusion(
        "colour",
        "ImageNet images",
        "Figure SF.8",
        "people's answers lie on the diagonal; those of networks were not published.",
    ),
    "kappa-against-brain-score-cue-conflict": _brain_score(
        "cue-conflict",
        "cue conflict",
        "Figure SF.9",
        "networks stay near .07 whatever their score.",
    ),
    "kappa-against-brain-score-edges": _brain_score(
        "edges", "edges", "Figure SF.10", "networks stay near .06 whatever their score."
    ),
    "kappa-against-brain-score-silhouettes": _brain_score(
        "silhouettes",
        "silhouettes",
        "Figure SF.11",
        "kappa rises with all scores but V1, mostly because both SqueezeNets are low; "
        "lines without them are nearly flat.",
    ),
}
