"""Figures of the learning tasks say what their tables say, and what was published."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import Collection, LineCollection, PathCollection
from matplotlib.colors import to_hex
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text

from trialwise.choices.people import accuracy_by_trial
from trialwise.files import write_table
from trialwise.models.registry import read_models
from trialwise.summary.factors import computed_statistics, published_statistics
from trialwise.summary.figures.alignment import DRAWINGS
from trialwise.summary.figures.alignment_catalogue import (
    LEARNING_TASKS,
    PUBLISHED_FIGURES,
    PUBLISHED_VERSIONS,
    VERSION_CAPTIONS,
)
from trialwise.summary.figures.style import MODEL_TYPES, save
from trialwise.summary.model_table import (
    computed_models,
    published_models,
    read_families,
)

ROOT = Path(__file__).parents[2]
THREE = ("spose-49", "glove-6b-50d", "all-minilm-l6-v2")
SMALLEST_PRINT = 7
SCALINGS = {
    "published": {"category": "in-place", "reward": "in-place"},
    "comparable": {"category": "global", "reward": "global"},
}


@pytest.fixture(scope="module")
def registry():
    return read_models(ROOT / "config/models.tsv")


@pytest.fixture(scope="module")
def words(registry):
    return {
        "names": {name: model.figure_name or name for name, model in registry.items()},
        "types": {name: model.type for name, model in registry.items()},
    }


@pytest.fixture(scope="module")
def published_tables(registry):
    families = read_families(ROOT / "resources/families.tsv")
    path = ROOT / "resources/published/models.csv"
    models = published_models(path, registry, families)
    return {
        "summary/models": models,
        "summary/factors": published_statistics(models, registry, 50, 0),
        "printed-curves": pd.read_csv(ROOT / "resources/published/learning-curves.csv"),
    }


@pytest.fixture(scope="module")
def published(published_tables, words):
    """Table of each figure of published values."""
    return {
        name: DRAWINGS[name][0](
            {key: published_tables[key] for key in entry.inputs},
            {**words, "versions": [PUBLISHED_VERSIONS[name]]},
        )
        for name, entry in PUBLISHED_FIGURES.items()
    }


@pytest.fixture(scope="module")
def computed_tables(published_tables, registry):
    """What a study of three models computes, with the published number of people."""
    rng = np.random.default_rng(0)
    tables = {
        "choices/scores": _scores(THREE, rng),
        "learners/curves": _curves(THREE, rng),
        "printed-curves": published_tables["printed-curves"],
        "choices/people/category-by-trial": _people("category", 91),
        "choices/people/reward-by-trial": _people("reward", 82),
        "choices/participants": pd.DataFrame(
            columns=["protocol", "learner", "model", "mcfadden_r2", "task_accuracy"]
        ),
        **_trials(),
    }
    metrics = pd.DataFrame({"model": THREE, "cka": [1.0, 0.4, 0.5]})
    families = read_families(ROOT / "resources/families.tsv")
    models = computed_models(tables["choices/scores"], metrics, registry, families)
    tables["summary/models"] = models
    tables["summary/factors"] = computed_statistics(models, 20, 0)
    return tables


@pytest.fixture(scope="module")
def settings(words):
    versions = {"versions": ["comparable", "published"], "scalings": SCALINGS}
    return {**words, **versions, "n_resamples": 50, "seed": 0}


@pytest.fixture(scope="module")
def computed(computed_tables, settings):
    """Table of each figure of computed values."""
    return {
        name: DRAWINGS[name][0](
            {key: computed_tables[key] for key in entry.inputs}, settings
        )
        for name, entry in LEARNING_TASKS.items()
    }


def _scores(models, rng):
    rows = []
    for protocol in SCALINGS:
        for task, people, trials in (("category", 91, 120), ("reward", 82, 60)):
            for model in models:
                r2 = rng.uniform(0.02, 0.2)
                rows.append(
                    {
                        "protocol": protocol,
                        "task": task,
                        "learner": "main",
                        "model": model,
                        "n_participants": people,
                        "n_trials": people * trials,
                        "nll": (1 - r2) * people * trials * np.log(2),
                        "mcfadden_r2": r2,
                        "gain_over_truth": rng.normal(0.01, 0.01),
                        "gain_se": 0.002,
                        "choice_accuracy": 0.5 + r2,
                        "task_accuracy": 0.6 + r2,
                    }
                )
    return pd.DataFrame(rows)


def _curves(models, rng):
    index = pd.MultiIndex.from_product(
        [("in-place", "global"), models, ("main", "pca"), range(12)],
        names=["scaling", "model", "learner", "block_start"],
    )
    tasks = []
    for task, size in (("category", 10), ("reward", 5)):
        rows = index.to_frame(index=False)
        rows["block_start"] *= size
        tasks.append(rows.assign(task=task, accuracy=rng.uniform(0.5, 1, len(rows))))
    return pd.concat(tasks, ignore_index=True)


def _people(task, n):
    """By-trial table of people who are right as often as Figs. 2A and 2B print."""
    printed = pd.read_csv(ROOT / "resources/published/learning-tasks.csv")
    printed = printed[
        printed["item"].str.startswith(f"{task}: people correct in trial")
    ]
    counts = printed["published"].astype(int).to_numpy()
    correct = np.arange(n)[:, None] < counts
    trials = pd.DataFrame(
        {
            "participant": np.repeat(np.arange(n), len(counts)),
            "trial": np.tile(np.arange(len(counts)), n),
            "correct": correct.ravel().astype(int),
        }
    )
    return accuracy_by_trial(trials, n_resamples=50)


def _trials():
    trial = np.arange(8)
    identity = {"participant": "one", "dimension": 0, "trial": trial}
    images = [f"stimuli/air_conditioner/air_conditioner_{i:02}s.jpg" for i in trial]
    choice = trial % 2
    category = {"image": images, "true_category_binary": 1, "correct": choice}
    reward = {
        "left_image": images,
        "right_image": "stimuli/bat1/bat1_01b.jpg",
        "left_reward": 7,
        "right_reward": 93,
        "correct": choice,
    }
    return {
        "choices/people/category": pd.DataFrame(
            {**identity, "choice": choice, **category}
        ),
        "choices/people/reward": pd.DataFrame({**identity, "choice": choice, **reward}),
    }


def _draw(name, table):
    return DRAWINGS[name][1](table)


def _points(axes):
    """Points of all scatters of a panel, sorted."""
    offsets = [
        collection.get_offsets()
        for collection in axes.collections
        if isinstance(collection, PathCollection)
    ]
    points = np.concatenate(offsets)
    return points[np.lexsort(points.T)]


def _texts(figure):
    return [text for text in figure.findobj(Text) if text.get_text().strip()]


def _titles(figure):
    return [_plain(axes.get_title(loc="left")) for axes in figure.axes]


def _plain(text):
    return text.replace("\N{MINUS SIGN}", "-")


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        (
            "alignment-and-model-properties",
            [
                "= .78, p < .001, n = 86",
                "= .48, p < .001, n = 79",
                "= .52, p < .001, n = 79",
                "= .29, p = .010, n = 79",
                "= .71, p < .001, n = 86",
                "= -.24, p = .037, n = 79",
            ],
        ),
        (
            "alignment-and-other-measures",
            [
                "= .54, p = .009, n = 22",
                "= .61, p = .003, n = 22",
                "= .35, p = .002, n = 79",
                "= .07, p = .557, n = 79",
                "= -.48, p = .016, n = 25",
            ],
        ),
    ],
)
def test_published_correlations_are_those_of_the_paper(published, name, printed):
    titles = _titles(_draw(name, published[name]))[: len(printed)]
    assert [title.removeprefix("$\\rho$ ") for title in titles] == printed


def test_figure_14_shows_the_printed_matrix(published):
    figure = _draw(
        "correlations-of-model-properties",
        published["correlations-of-model-properties"],
    )
    shown = [_plain(text.get_text()).split("\n")[0] for text in figure.axes[0].texts]
    printed = ".45 .73 .36 .84 -.46 .59 .34 .32 -.39 .38 .59 -.55 .37 -.65 -.38"
    assert shown == printed.split()


def test_figure_5_excludes_zero_for_multimodal_models_alone(published):
    table = published["alignment-and-dimensionality-by-type"].set_index("type")
    assert table["n"].to_dict() == {
        "Supervised": 35,
        "Self-Supervised": 23,
        "Multimodal": 21,
    }
    excludes = (table["ci_low"] > 0) | (table["ci_high"] < 0)
    assert list(table.index[excludes]) == ["Multimodal"]


def test_figure_6_bars_have_the_printed_heights(published):
    figure = _draw(
        "alignment-by-training-objective", published["alignment-by-training-objective"]
    )
    bars = sorted(figure.axes[0].patches, key=lambda bar: bar.get_x())
    heights = np.reshape([bar.get_height() for bar in bars], (3, 3))
    # Small, base and large under CLIP, SimCLR and SLIP.
    printed = [
        [0.0593, 0.0401, 0.0762],
        [0.0852, 0.0746, 0.0889],
        [0.0731, 0.0601, 0.0943],
    ]
    # Printed to four digits; the values behind them are good to 1e-6.
    np.testing.assert_allclose(heights, printed, rtol=0, atol=5e-5 + 1e-6)


def test_figure_7_shows_which_aligned_models_gain(published):
    table = published["aligned-models-against-base"]
    r2 = table[(table["measure"] == "r2") & (table["difference"] > 0)]
    gains = r2.set_index("model")["difference"].round(3).to_dict()
    assert gains == {
        "Harmonization-MaxViT-T": 0.004,
        "Harmonization-LeViT-S": 0.001,
        "gLocal-DINO-V2-ViT-L": 0.044,
        "gLocal-ResNet-50": 0.013,
    }
    assert table["model"].nunique() == 16


def test_learning_curves_have_the_printed_means(published):
    figure = _draw("learning-curves", published["learning-curves"])
    means = {}
    for axes, task in zip(figure.axes, ("category", "reward"), strict=True):
        names = [text.get_text() for text in axes.get_legend().get_texts()]
        curves = [line.get_ydata() for line in axes.lines if len(line.get_ydata()) > 2]
        for name, curve in zip(names, curves, strict=True):
            means[task, name] = round(float(np.mean(curve)), 3)
    assert means == {
        ("category", "CLIP-ViT-L/14"): 0.679,
        ("category", "ViT-H/14"): 0.662,
        ("category", "Task"): 0.665,
        ("category", "Universal Sentence Encoder"): 0.632,
        ("category", "gLocal-DINO-V2-ViT-L"): 0.7,
        ("reward", "CLIP-ViT-L/14"): 0.776,
        ("reward", "ViT-H/14"): 0.738,
        ("reward", "Task"): 0.889,
        ("reward", "RoBERTa"): 0.733,
        ("reward", "DINO-RN50"): 0.701,
    }


def test_people_are_above_chance_in_as_many_trials_as_printed(computed):
    name = "people-above-chance-by-trial"
    figure = _draw(name, computed[name])
    category, reward = _titles(figure)
    assert re.search("108 of 120.*trial 7$", category)
    assert re.search("47 of 60.*trial 6$", reward)
    for axes, task in zip(figure.axes, ("category", "reward"), strict=True):
        own = computed[name][computed[name]["task"] == task]
        expected = own.assign(trial=own["trial"] + 1)[["trial", "p"]].to_numpy()
        expected = expected[np.lexsort(expected.T)]
        np.testing.assert_array_equal(_points(axes), expected)


def test_scatter_points_are_the_rows_of_the_table(published):
    table = published["alignment-and-model-properties"]
    figure = _draw("alignment-and-model-properties", table)
    panels = table.groupby("measure", sort=False)
    assert sum(len(own) for _, own in panels) == 2 * 86 + 4 * 79
    for axes, (_, own) in zip(figure.axes, panels, strict=True):
        expected = own[["value", "r2"]].to_numpy()
        expected = expected[np.lexsort(expected.T)]
        np.testing.assert_array_equal(_points(axes), expected)


def test_bars_are_sorted_and_coloured_by_type(published):
    table = published["alignment-by-model"]
    figure = _draw("alignment-by-model", table)
    for axes, task in zip(figure.axes, ("category", "reward"), strict=True):
        own = table[table["task"] == task].set_index("model")
        assert len(own) == 86
        names = [label.get_text() for label in axes.get_yticklabels()]
        widths = np.array([bar.get_width() for bar in axes.patches])
        assert np.all(np.diff(widths) <= 0)
        np.testing.assert_allclose(widths, own["value"][names], rtol=0, atol=1e-15)
        colours = [to_hex(bar.get_facecolor()).upper() for bar in axes.patches]
        assert colours == [MODEL_TYPES[kind] for kind in own["type"][names]]


def test_gain_over_truth_is_drawn_with_its_standard_error(computed):
    table = computed["gain-over-truth"]
    figure = _draw("gain-over-truth", table)
    order = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert order[0] == table.groupby("model")["value"].mean().idxmax()
    for axes, task in zip(figure.axes, ("category", "reward"), strict=True):
        own = table[table["task"] == task].set_index("model")
        segments = [
            collection.get_segments()[0]
            for collection in axes.collections
            if isinstance(collection, LineCollection)
        ]
        drawn = {order[round(s[0, 1])]: (s[0, 0], s[1, 0]) for s in segments}
        for model, row in own.iterrows():
            limits = row["value"] + np.array([-1, 1]) * row["standard_error"]
            np.testing.assert_allclose(drawn[model], limits, rtol=1e-12)


def test_intervals_of_objectives_hold_the_mean_over_participants(settings, registry):
    rng = np.random.default_rng(1)
    names = ("clip-slip-base", "simclr-slip-base", "slip-slip-base")
    people = pd.DataFrame(
        [
            {
                "protocol": "comparable",
                "learner": "main",
                "task": task,
                "model": name,
                "mcfadden_r2": rng.normal(0.1, 0.05),
                "task_accuracy": rng.normal(0.7, 0.05),
            }
            for name in names
            for task, n in (("category", 91), ("reward", 82))
            for _ in range(n)
        ]
    )
    scores = _scores(names, rng).set_index(["protocol", "model", "task"])
    means = people.groupby(["protocol", "model", "task"])
    scores.update(means[["mcfadden_r2", "task_accuracy"]].mean())
    families = read_families(ROOT / "resources/families.tsv")
    empty = pd.DataFrame({"model": []})
    models = computed_models(scores.reset_index(), empty, registry, families)
    statistics = computed_statistics(models, 2, 0)
    tables = {"summary/factors": statistics, "choices/participants": people}
    tabulate, draw = DRAWINGS["alignment-by-training-objective"]
    table = tabulate(tables, settings)
    assert set(table["statistic"]) == {"mean over participants"}
    expected = people.groupby("model")[["mcfadden_r2", "task_accuracy"]].mean()
    expected = np.sort(expected.to_numpy().T.ravel())
    values = np.sort(table["value"].to_numpy(dtype=float))
    np.testing.assert_allclose(values, expected, rtol=1e-12)
    assert (table["ci_low"] < table["value"]).all()
    assert (table["value"] < table["ci_high"]).all()
    assert len(draw(table).axes[0].patches) == 3


def test_printed_curves_stay_apart_from_computed_ones(computed, computed_tables):
    table = computed["learning-curves"]
    printed = table[table["source"] == "published"]
    assert set(printed["protocol"]) == {"published"}
    # Of the three models of the study, the paper prints Task alone.
    assert set(printed["model"]) == {"Task"}
    assert len(printed) == 24
    curves = table[(table["source"] == "computed") & (table["model"] != "people")]
    assert len(curves) == 3 * 12 * 4
    for name, other in computed.items():
        if name != "learning-curves":
            assert set(other["source"]) <= {"computed"}, name


def test_example_trials_frame_the_chosen_object(computed):
    figure = _draw("example-trials", computed["example-trials"])
    reward = figure.axes[1]
    framed = [patch.get_y() for patch in reward.patches if patch.get_linewidth() > 1]
    assert framed == [0.5, 0.13] * 3
    shown = {text.get_text() for text in reward.texts}
    assert {"air conditioner\n7 points", "bat\n93 points"} <= shown


def test_few_models_are_said_to_be_too_few(computed):
    for name in (
        "alignment-and-model-properties",
        "alignment-and-dimensionality-by-type",
        "alignment-by-training-objective",
        "aligned-models-against-base",
        "alignment-and-other-measures",
        "predicted-choices-by-model",
        "correlations-of-model-properties",
    ):
        texts = " ".join(
            text.get_text() for text in _texts(_draw(name, computed[name]))
        )
        assert "n too small" in texts.replace("\n", " "), name
        assert not re.search(r"= -?\.\d", _plain(texts)), name


def test_unregistered_models_are_drawn_under_their_own_name(settings):
    rng = np.random.default_rng(2)
    scores = _scores(("source", "decoy-1"), rng)
    tabulate, draw = DRAWINGS["gain-over-truth"]
    figure = draw(tabulate({"choices/scores": scores}, settings))
    labels = {label.get_text() for label in figure.axes[0].get_yticklabels()}
    assert labels == {"source", "decoy-1"}


@pytest.mark.parametrize("kind", ["computed", "published"])
def test_figures_depend_on_the_written_table_alone(kind, request, tmp_path):
    for name, table in request.getfixturevalue(kind).items():
        write_table(table, tmp_path / "table.csv")
        again = pd.read_csv(tmp_path / "table.csv")
        assert _artists(_draw(name, table)) == _artists(_draw(name, again)), name


def _artists(figure):
    """All that is drawn, as text."""
    drawn = [text.get_text() for text in figure.findobj(Text)]
    drawn += [line.get_xydata().tolist() for line in figure.findobj(Line2D)]
    for patch in figure.findobj(Patch):
        drawn.append(
            (to_hex(patch.get_facecolor()), patch.get_path().vertices.tolist())
        )
        drawn.append(patch.get_patch_transform().get_matrix().tolist())
    for collection in figure.findobj(Collection):
        drawn.append(np.asarray(collection.get_offsets()).tolist())
        drawn += [path.vertices.tolist() for path in collection.get_paths()]
    return repr(drawn)


@pytest.mark.parametrize("suffix", [".pdf", ".png"])
def test_files_have_the_same_bytes_twice(published, tmp_path, suffix):
    name = "alignment-and-dimensionality-by-type"
    first, second = tmp_path / f"first{suffix}", tmp_path / f"second{suffix}"
    for path in (first, second):
        save(_draw(name, published[name]), path)
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("kind", ["computed", "published"])
def test_no_text_is_smaller_than_seven_points(kind, request):
    for name, table in request.getfixturevalue(kind).items():
        figure = _draw(name, table)
        sizes = {text.get_fontsize() for text in _texts(figure)}
        assert min(sizes) >= SMALLEST_PRINT, name
        width, height = figure.get_size_inches()
        assert width <= 7, name
        assert height <= 10.5, name


def test_every_figure_has_words():
    assert set(DRAWINGS) == set(LEARNING_TASKS)
    assert set(PUBLISHED_VERSIONS) == set(PUBLISHED_FIGURES) <= set(DRAWINGS)
    assert set(VERSION_CAPTIONS) >= set(PUBLISHED_VERSIONS.values())
    captions = ROOT / "workflow/report/learning-figures"
    assert {path.stem for path in captions.glob("*.rst")} == set(LEARNING_TASKS)
    for entry in (*LEARNING_TASKS.values(), *PUBLISHED_FIGURES.values()):
        assert len(entry.alt) > 60
