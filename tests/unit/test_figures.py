"""Figures of the error-consistency paper, on simulated observers and real print."""

from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from matplotlib.collections import PathCollection
from matplotlib.text import Text
from PIL import Image

from trialwise.consistency.accuracy import observer_accuracy
from trialwise.consistency.comparisons import Comparison, compare_observers
from trialwise.consistency.confusion import confusion
from trialwise.consistency.controversial import controversial_images
from trialwise.consistency.percentiles import all_bands
from trialwise.consistency.shape_bias import shape_bias
from trialwise.simulation.observers import ObserverGroup, simulate_correctness
from trialwise.summary.figures import answers, consistency, consistency_tables, style
from trialwise.summary.figures.catalogue import ERROR_CONSISTENCY, EXPERIMENTS, NOISE
from trialwise.summary.figures.drawings import DRAWINGS
from trialwise.summary.reproduction import read_published
from trialwise.trials import CATEGORIES

ROOT = Path(__file__).parents[2]
GROUPS = yaml.safe_load((ROOT / "config" / "config.yaml").read_text())["groups"]
NETWORKS = [*GROUPS["cnn16"], "cornet-s"]
PEOPLE = [f"subject-{i:02}" for i in range(1, 6)]
IMAGES = [
    f"{shape}{i}-{texture}1.png"
    for i in range(1, 4)
    for shape, texture in zip(CATEGORIES, np.roll(CATEGORIES, i), strict=True)
]
WITH_PRINT = [name for name, e in ERROR_CONSISTENCY.items() if "published" in e.inputs]


@pytest.fixture(scope="module")
def trials():
    """Five people and 17 networks who name the shape, or else mostly the texture."""
    rng = np.random.default_rng(5)
    people = ObserverGroup("subject", len(PEOPLE), 0.75, 0.3)
    networks = ObserverGroup("network", len(NETWORKS), 0.35, 0.6)
    correct = simulate_correctness(people, networks, 0.1, len(IMAGES), rng)
    names = pd.Series(IMAGES).str.extract(r"^([a-z]+)\d+-([a-z]+)\d")
    tables = []
    for observer, right in zip([*PEOPLE, *NETWORKS], correct, strict=True):
        wrong = np.where(rng.random(len(IMAGES)) < 0.8, names[1], "na")
        tables.append(
            pd.DataFrame(
                {
                    "observer": observer,
                    "image": IMAGES,
                    "category": names[0],
                    "response": np.where(right, names[0], wrong),
                    "correct": right.astype(int),
                    "row": range(1, len(IMAGES) + 1),
                }
            )
        )
    return pd.concat(tables, ignore_index=True)


@pytest.fixture(scope="module")
def tables(trials):
    """All tables that figures are drawn from; the three experiments are alike."""
    comparisons = [
        Comparison(first, second)
        for first in ("human", "cnn16", "cnn14", "cnn4")
        for second in ("human", first)
        if (first, second) != ("human", "human") or second == "human"
    ]
    comparisons = [*dict.fromkeys([*comparisons, Comparison("cornet", "resnet50")])]
    pairs, means, networks = compare_observers(
        trials, GROUPS | {"human": ["subject-*"]}, comparisons, n_resamples=5
    )
    own = {
        "pairs": pairs,
        "groups": means,
        "networks": networks,
        "band": all_bands(len(IMAGES), break_point=0.15),
        "accuracy": observer_accuracy(trials),
        "confusion": confusion(trials),
        "controversial": controversial_images(
            trials.assign(
                image=trials["image"].str.replace(r"-.*", ".png", regex=True)
            ),
            GROUPS["cnn16"],
        ),
        "shape-bias": shape_bias(trials, r"-([a-z]+)\d+[.]png$"),
    }
    tables = {
        f"{experiment}/{name}": table
        for experiment in (*EXPERIMENTS, "colour")
        for name, table in own.items()
    }
    tables["cue-conflict/accuracy"] = own["accuracy"].assign(n=64)
    tables["cue-conflict/band"] = all_bands(64, break_point=0.05)
    people = confusion(trials[trials["observer"].isin(PEOPLE)])
    tables["colour/confusion"] = people
    tables["colour/groups"] = means[means["comparison"] == "human-human"]
    scores = pd.read_csv(ROOT / "resources" / "imagenet_accuracy.csv")
    metrics = ["average", "V1", "V2", "V4", "IT", "behaviour"]
    drawn = np.random.default_rng(6).uniform(0.2, 0.6, (len(scores), len(metrics)))
    tables["benchmark-scores"] = scores.join(pd.DataFrame(drawn, columns=metrics))
    tables["published"] = read_published(
        ROOT / "resources" / "published" / "error-consistency.csv"
    )
    return tables | _levels(tables["published"])


def _levels(published):
    """Levels of the real experiments, with accuracies of nobody."""
    rng, tables = np.random.default_rng(7), {}
    for name in NOISE:
        printed = consistency_tables.published_cells(
            published, f"{name}/levels", ["accuracy"]
        )
        levels = printed["level"].astype(float).unique()
        accuracy = rng.uniform(0.2, 0.8, (len(answers.OBSERVERS), len(levels)))
        rows = pd.DataFrame(accuracy, list(answers.OBSERVERS), levels).stack()
        rows = rows.rename_axis(["observer", "level"]).rename("accuracy").reset_index()
        tables[f"{name}/levels"] = rows.assign(
            variant="all-trials",
            low=rows["accuracy"] - 0.1,
            high=rows["accuracy"] + 0.1,
        )
    return tables


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Stimuli: grey squares."""
    root = tmp_path_factory.mktemp("stimuli")
    for name in IMAGES:
        image = name.partition("-")[0]
        for kind in ("stimuli-edges", "stimuli-silhouettes"):
            folder = root / kind / image[:-1]
            folder.mkdir(parents=True, exist_ok=True)
            Image.new("L", (8, 8), 128).save(folder / f"{image}.png")
    return {name: root / name for name in ("stimuli-edges", "stimuli-silhouettes")}


@pytest.fixture(scope="module")
def tabulated(tables):
    def tabulate(name):
        given = {
            key: tables[key] for key in ERROR_CONSISTENCY[name].inputs if key in tables
        }
        return DRAWINGS[name][0](given, {"groups": GROUPS})

    return {name: tabulate(name) for name in DRAWINGS}


@pytest.fixture(scope="module")
def drawn(tabulated, folders):
    figures = {}
    for name, (_, draw) in DRAWINGS.items():
        needs = any(key in folders for key in ERROR_CONSISTENCY[name].inputs)
        more = {"folders": folders} if needs else {}
        figures[name] = draw(tabulated[name], **more)
        figures[name].draw_without_rendering()
    return figures


def points_of(panel, published=False):
    """Places of all scattered points of a panel."""
    offsets = [
        artist.get_offsets()
        for artist in panel.collections
        if isinstance(artist, PathCollection)
        and (artist.get_gid() == style.PUBLISHED) == published
    ]
    return np.ma.getdata(np.concatenate(offsets))


def assert_same_points(found, rows):
    expected = rows.to_numpy(dtype=float)
    assert len(found) == len(expected) > 0
    order = [np.lexsort(table.T) for table in (found, expected)]
    assert np.array_equal(found[order[0]], expected[order[1]])


def test_every_figure_is_drawn_captioned_and_described():
    captions = {p.stem for p in (ROOT / "workflow/report/figures").glob("*.rst")}
    assert set(DRAWINGS) == set(ERROR_CONSISTENCY) <= captions
    for entry in ERROR_CONSISTENCY.values():
        assert len(entry.alt) > 60
        assert entry.number
        assert entry.title not in entry.alt


@pytest.mark.parametrize("name", DRAWINGS)
def test_texts_are_legible_and_inside_the_figure(name, drawn):
    figure = drawn[name]
    texts = [
        t for t in figure.findobj(Text) if t.get_visible() and t.get_text().strip()
    ]
    assert texts
    assert min(text.get_fontsize() for text in texts) >= 7
    shown = [t for t in texts if t.get_window_extent().width > 0]
    edges = figure.bbox.padded(1)
    for text in shown:
        box = text.get_window_extent()
        inside = edges.x0 <= box.x0 <= box.x1 <= edges.x1
        assert inside or not _on_axis(text, figure), text
        assert edges.y0 <= box.y0 <= box.y1 <= edges.y1 or not _on_axis(text, figure), (
            text
        )


def _on_axis(text, figure):
    """Whether a text is shown at all: labels of ticks beyond the limits are not."""
    for panel in figure.axes:
        for axis in (panel.xaxis, panel.yaxis):
            for tick in axis.get_major_ticks():
                if text in (tick.label1, tick.label2):
                    low, high = sorted(axis.get_view_interval())
                    return low <= tick.get_loc() <= high
    return True


@pytest.mark.parametrize("name", DRAWINGS)
def test_labels_of_ticks_do_not_overlap(name, drawn):
    for panel in drawn[name].axes:
        for axis, low, high in ((panel.xaxis, "x0", "x1"), (panel.yaxis, "y0", "y1")):
            shown = [
                tick.label1.get_window_extent()
                for tick in axis.get_major_ticks()
                if tick.label1.get_visible()
                and tick.label1.get_text()
                and _on_axis(tick.label1, drawn[name])
            ]
            shown = sorted(shown, key=lambda box: getattr(box, low))
            for first, second in pairwise(shown):
                assert getattr(first, high) <= getattr(second, low) + 1


@pytest.mark.parametrize("name", ["kappa-of-cornet-s", "bounds-and-percentiles"])
@pytest.mark.parametrize("suffix", [".png", ".pdf"])
def test_same_bytes_twice(name, suffix, tables, tmp_path):
    tabulate, draw = DRAWINGS[name]
    files = [tmp_path / f"{i}{suffix}" for i in range(2)]
    for file in files:
        style.save(draw(tabulate(tables, {"groups": GROUPS})), file)
    assert files[0].read_bytes() == files[1].read_bytes()


def test_style_is_not_left_behind(tabulated):
    import matplotlib

    before = dict(matplotlib.rcParams)
    consistency.draw_expected(tabulated["expected-overlap-of-accuracies"])
    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize("name", WITH_PRINT)
def test_printed_values_do_not_enter_computed_rows(name, tables, tabulated):
    other = tables["published"].copy()
    numbers = pd.to_numeric(other["published"], errors="coerce")
    other["published"] = other["published"].where(
        numbers.isna(), (numbers + 1).astype(str)
    )
    changed = DRAWINGS[name][0]({**tables, "published": other}, {"groups": GROUPS})
    table = tabulated[name]
    for source, same in ((style.COMPUTED, True), (style.PUBLISHED, False)):
        rows = [
            t[t["source"] == source].reset_index(drop=True) for t in (table, changed)
        ]
        if len(rows[0]) and "rank" not in table.columns:
            assert rows[0].equals(rows[1]) == same


def test_printed_cells_are_those_of_the_paper(tables):
    published = tables["published"]
    means = consistency_tables.published_cells(
        published, "edges/groups", ["mean", "half_width"]
    )
    means = means[means["variant"] == "all-trials"].set_index("comparison")
    assert means.loc["human-human"].tolist()[1:] == [0.32, 0.04]
    assert means.loc["cnn4-cnn4"].tolist()[1:] == [0.55, 0.13]
    networks = consistency_tables.published_cells(
        published, "cue-conflict/networks", ["mean"]
    )
    assert networks["observer"].is_unique
    assert networks.set_index("observer").loc["alexnet", "mean"] == 0.0804


def test_pairs_stand_where_their_table_says(tabulated, drawn):
    for name, measure in (
        ("kappa-against-expected-overlap", "kappa"),
        ("kappa-of-cornet-s", "kappa"),
    ):
        table = tabulated[name]
        for panel, experiment in zip(drawn[name].axes, EXPERIMENTS, strict=False):
            own = table[
                (table["layer"] == "overlap") & (table["experiment"] == experiment)
            ]
            computed = own[own["source"] == style.COMPUTED]
            assert_same_points(points_of(panel), computed[["expected", measure]])
    printed = table[(table["source"] == style.PUBLISHED)]
    assert printed["kappa"].tolist() == [0.711, 0.5686, 0.7392]
    for panel, row in zip(drawn[name].axes, printed.itertuples(), strict=False):
        assert points_of(panel, published=True).tolist() == [[row.expected, row.kappa]]


def test_numbers_of_pairs(tabulated):
    table = tabulated["kappa-against-expected-overlap"]
    own = table[(table["layer"] == "overlap") & (table["experiment"] == "edges")]
    counts = own["series"].value_counts()
    assert counts[consistency_tables.PEOPLE] == 10
    # Families of 5 ResNets, 4 VGGs, 3 DenseNets and 2 SqueezeNets.
    assert counts[consistency_tables.ONE_FAMILY] == 10 + 6 + 3 + 1
    assert counts[consistency_tables.TWO_FAMILIES] == 120 - 20
    assert counts["ResNet"] == 5 * len(PEOPLE)


def test_scores_stand_where_their_table_says(tabulated, drawn):
    table = tabulated["kappa-against-imagenet-accuracy"]
    for panel, experiment in zip(
        drawn["kappa-against-imagenet-accuracy"].axes, EXPERIMENTS, strict=False
    ):
        own = table[(table["experiment"] == experiment)]
        points = own[own["layer"].isin(["pair", "network"])]
        computed = points[points["source"] == style.COMPUTED]
        printed = points[points["source"] == style.PUBLISHED]
        assert_same_points(points_of(panel), computed[["score", "kappa"]])
        assert_same_points(points_of(panel, True), printed[["score", "kappa"]])
        lines = {line.get_gid(): line.get_xydata() for line in panel.lines}
        for source in (style.COMPUTED, style.PUBLISHED):
            line = own[(own["layer"] == "line") & (own["source"] == source)]
            assert_same_points(lines[f"cnn16 {source}"], line[["score", "kappa"]])


def test_line_is_that_of_least_squares(tabulated):
    table = tabulated["kappa-against-imagenet-accuracy"]
    own = table[(table["experiment"] == "edges") & (table["source"] == style.COMPUTED)]
    pairs, ends = own[own["layer"] == "pair"], own[own["layer"] == "line"]
    assert len(pairs) == 16 * len(PEOPLE)
    slope, intercept = np.polyfit(pairs["score"], pairs["kappa"], 1)
    assert np.allclose(ends["kappa"], intercept + slope * ends["score"])


def test_simulated_pairs_lie_within_bounds_and_mostly_within_percentiles(tabulated):
    table = tabulated["bounds-and-percentiles"]
    simulated = table[table["layer"] == "simulated"].dropna(subset="kappa")
    for measure in ("observed", "kappa"):
        for layer, least, most in (("bounds", 1, 1), ("percentiles", 0.94, 0.98)):
            limits = table[(table["layer"] == layer) & (table["source"] == "computed")]
            limits = limits.dropna(subset=[f"{measure}_low"])
            low, high = (
                np.interp(simulated["expected"], limits["expected"], limits[column])
                for column in (f"{measure}_low", f"{measure}_high")
            )
            inside = (simulated[measure] >= low - 0.01) & (
                simulated[measure] <= high + 0.01
            )
            assert least <= inside.mean() <= most, (measure, layer)


def test_shape_bias_stands_where_its_table_says(tabulated, drawn):
    table = tabulated["shape-bias"]
    points = drawn["shape-bias"].axes[0]
    names = [label.get_text() for label in points.get_yticklabels()]
    own = table[(table["category"] != "all") & (table["source"] == style.COMPUTED)]
    own = own.assign(place=own["category"].map(names.index))
    assert_same_points(points_of(points), own[["shape_bias", "place"]])
    people = own[own["observer"] == "humans"].sort_values("place")
    assert people["shape_bias"].is_monotonic_increasing


def test_distortions_stand_where_their_table_says(tabulated, drawn):
    table = tabulated["accuracy-against-distortion"]
    for panel, name in zip(
        drawn["accuracy-against-distortion"].axes, NOISE, strict=True
    ):
        own = table[table["experiment"] == name]
        printed = own[own["source"] == style.PUBLISHED]
        assert_same_points(points_of(panel, True), printed[["level", "accuracy"]])
        computed = own[own["source"] == style.COMPUTED]
        for observer, container in zip(
            answers.OBSERVERS, panel.containers, strict=True
        ):
            rows = computed[computed["observer"] == observer]
            line = container.lines[0].get_xydata()
            assert_same_points(line, rows[["level", "accuracy"]])


def test_confusion_shows_all_answers(trials, drawn):
    panel = drawn["confusion-edges"].axes[0]
    shares = panel.collections[0].get_array().reshape(len(CATEGORIES) + 1, -1)
    people = trials[trials["observer"].isin(PEOPLE)]
    assert np.allclose(shares.sum(axis=0), 100)
    right = people.groupby("category")["correct"].mean() * 100
    assert np.allclose(np.diagonal(shares), right[list(CATEGORIES)])
    missing = (people["response"] == "na").groupby(people["category"]).mean() * 100
    assert np.allclose(shares[-1], missing[list(CATEGORIES)])


def test_controversial_images_are_shown_in_order_of_rank(tabulated, drawn):
    table = tabulated["controversial-stimuli"]
    computed = table[table["source"] == style.COMPUTED]
    shown = [panel.get_gid() for panel in drawn["controversial-stimuli"].axes]
    assert shown == computed["image"].tolist()
    assert computed["rank"].tolist() == [1, 2, 3, 4, 5] * 4
    printed = table[table["source"] == style.PUBLISHED]
    assert printed["image"].tolist() == [
        *("elephant3.png", "bird3.png", "car10.png", "truck5.png", "car9.png")
    ]


def test_symbols_differ_in_more_than_colour():
    for symbols in (
        [s["marker"] for s in consistency.STYLES.values() if s["marker"] != "x"],
        [s["marker"] for s in answers.OBSERVERS.values()],
        list(style.MODEL_MARKERS.values()),
    ):
        assert len(symbols) == len(set(symbols))


# Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB.
VISIONS = {
    "trichromat": np.eye(3),
    "deuteranope": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "protanope": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
}


def lab(colour, vision):
    """CIE L*a*b* (D65) of an sRGB colour as somebody sees it."""
    rgb = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    to_xyz = [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
    seen = np.clip(np.asarray(vision) @ linear, 0, 1)
    xyz = to_xyz @ seen / np.array([0.95047, 1.0, 1.08883])
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def test_lab_of_known_colours():
    assert np.allclose(lab("#FFFFFF", np.eye(3)), [100, 0, 0], atol=0.01)
    assert np.allclose(lab("#FF0000", np.eye(3)), [53.24, 80.09, 67.20], atol=0.02)


@pytest.mark.parametrize("vision", VISIONS)
def test_types_of_models_are_told_apart(vision):
    """A distance of 10 is plain at a glance; neighbours on a chart need twice that."""
    places = [lab(colour, VISIONS[vision]) for colour in style.MODEL_TYPES.values()]
    assert min(np.linalg.norm(a - b) for a, b in combinations(places, 2)) > 20
