"""Demircan et al. (2024): statistics over models, from the published values of each."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from trialwise.files import write_table
from trialwise.models.registry import read_models
from trialwise.summary.correlations import correlate, rank_correlation
from trialwise.summary.factors import published_statistics
from trialwise.summary.model_table import published_models, read_families
from trialwise.summary.reproduction import compare, read_published

ROOT = Path(__file__).parents[2]
SIX = (
    *("task_accuracy", "parameters", "training_images"),
    *("class_separation", "cka", "intrinsic_dimensionality"),
)


@pytest.fixture(scope="module")
def registry():
    return read_models(ROOT / "config" / "models.tsv")


@pytest.fixture(scope="module")
def models(registry):
    families = read_families(ROOT / "resources" / "families.tsv")
    path = ROOT / "resources" / "published" / "models.csv"
    return published_models(path, registry, families)


@pytest.fixture(scope="module")
def statistics(models, registry):
    return published_statistics(models, registry, n_resamples=1000, seed=2020)


@pytest.fixture(scope="module")
def find(statistics):
    """The one row that has these values."""

    def find_row(**conditions):
        rows = statistics
        for column, value in conditions.items():
            rows = rows[rows[column] == value]
        assert len(rows) == 1, conditions
        return rows.iloc[0]

    return find_row


@pytest.mark.parametrize(
    ("version", "item", "subset", "value", "n"),
    [
        ("figures", "Fig. 4A", "all", 0.725, 86),
        ("paper", "Fig. 4A", "all", 0.776, 86),
        ("figures", "Fig. 4B", "vision", 0.476, 79),
        ("paper", "Fig. 4B", "vision", 0.483, 79),
        ("tables", "Fig. 4B", "vision", 0.501, 68),
        ("figures", "Fig. 4C", "vision", 0.521, 79),
        ("paper", "Fig. 4C", "vision", 0.519, 79),
        ("tables", "Fig. 4C", "vision", 0.545, 68),
        ("figures", "Fig. 4D", "vision", 0.291, 79),
        ("paper", "Fig. 4D", "vision", 0.288, 79),
        ("tables", "Fig. 4D", "vision", 0.486, 67),
        ("figures", "Fig. 4E", "all but Task", 0.665, 84),
        ("paper", "Fig. 4E", "all", 0.711, 86),
        ("paper", "Fig. 4E", "all but Task", 0.703, 85),
        ("tables", "Fig. 4E", "all", 0.732, 75),
        ("tables", "Fig. 4E", "all but Task", 0.726, 74),
        ("figures", "Fig. 4F", "vision", -0.322, 79),
        ("paper", "Fig. 4F", "vision", -0.235, 79),
        ("tables", "Fig. 4F", "vision", -0.191, 68),
        ("figures", "Fig. 5", "Supervised", -0.395, 35),
        ("paper", "Fig. 5", "Supervised", -0.239, 35),
        ("figures", "Fig. 5", "Multimodal", -0.684, 21),
        ("figures", "Fig. 8A", "vision", 0.54, 22),
        ("figures", "Fig. 8B", "vision", 0.61, 22),
        ("figures", "Fig. 8C", "vision", 0.349, 79),
        ("figures", "Fig. 8D", "vision", 0.067, 79),
        ("figures", "Fig. 8E", "vision", -0.478, 25),
        ("paper", "Fig. 8E", "vision", -0.428, 25),
    ],
)
def test_correlations_with_alignment(find, version, item, subset, value, n):
    row = find(
        version=version, item=item, subset=subset, statistic="Spearman correlation"
    )
    decimals = 2 if item in ("Fig. 8A", "Fig. 8B") else 3
    assert round(row["value"], decimals) == value
    assert row["n"] == n


@pytest.mark.parametrize(
    ("version", "item", "subset", "p", "decimals"),
    [
        ("figures", "Fig. 4D", "vision", 0.009, 3),
        ("paper", "Fig. 4D", "vision", 0.010, 3),
        ("figures", "Fig. 4F", "vision", 0.0038, 4),
        ("paper", "Fig. 4F", "vision", 0.037, 3),
        ("tables", "Fig. 4F", "vision", 0.12, 2),
        ("paper", "Fig. 5", "Supervised", 0.17, 2),
        ("figures", "Fig. 8A", "vision", 0.009, 3),
        ("figures", "Fig. 8B", "vision", 0.0026, 4),
        ("figures", "Fig. 8C", "vision", 0.0016, 4),
        ("figures", "Fig. 8D", "vision", 0.557, 3),
        ("figures", "Fig. 8E", "vision", 0.016, 3),
        # As the authors' notebook prints them.
        ("figures", "Fig. 5", "Multimodal", 0.0006212722335769775, 12),
        ("figures", "Fig. 5", "Supervised", 0.01886890810056721, 12),
    ],
)
def test_p_values(find, version, item, subset, p, decimals):
    row = find(
        version=version, item=item, subset=subset, statistic="Spearman correlation"
    )
    assert round(row["p"], decimals) == round(p, decimals)


def test_value_of_the_notebook_that_rounding_hides(models):
    """Networks with shared features tie in the figures, and do not in the notebook."""
    drawn = models[models["version"] == "figures"].set_index("model")
    drawn.loc[["swav-rn50", "pirl-rn50"], "intrinsic_dimensionality"] += 1e-7
    drawn.loc["vicreg-rn50", "intrinsic_dimensionality"] += 1e-7
    rows = correlate(drawn.reset_index(), 2, 0)
    own = rows[(rows["item"] == "Fig. 5") & (rows["subset"] == "Self-Supervised")]
    assert own["value"].tolist() == pytest.approx([0.34256055363321797], abs=1e-12)
    assert own["p"].tolist() == pytest.approx([0.10957781538660256], abs=1e-12)


def test_intervals_by_type_lie_among_those_of_other_draws(models):
    """The authors' bootstrap has no seed; ours with twenty seeds shows its spread."""
    drawn = models[models["version"] == "figures"]
    expected = {
        "Supervised": (-0.712497, 0.003973),
        "Self-Supervised": (-0.109329, 0.723348),
        "Multimodal": (-0.859484, -0.385217),
    }
    names = ("r2", "intrinsic_dimensionality", ())
    for kind, interval in expected.items():
        own = drawn[drawn["type"] == kind]
        draws = [rank_correlation(own, *names, 1000, seed) for seed in range(20)]
        ends = pd.DataFrame(draws)[["ci_low", "ci_high"]].to_numpy()
        # The authors' interval is one more draw.
        assert (np.abs(ends.mean(axis=0) - interval) < 3 * ends.std(axis=0)).all()


def test_matrix_of_correlations(find):
    expected = [0.45, 0.73, 0.36, 0.84, -0.46, 0.59, 0.34, 0.32, -0.39]
    expected += [0.38, 0.59, -0.55, 0.37, -0.65, -0.38]
    pairs = [(a, b) for k, a in enumerate(SIX) for b in SIX[k + 1 :]]
    for (first, second), value in zip(pairs, expected, strict=True):
        row = find(version="figures", item="Fig. 14", outcome=first, predictor=second)
        assert row["value"] == pytest.approx(value, abs=0.005), (first, second)


@pytest.mark.parametrize("version", ["tables", "figures", "paper"])
@pytest.mark.parametrize(
    ("task", "leading", "better", "clip"),
    [("category", 7, 16, 14), ("reward", 6, 7, 6)],
)
def test_ranking_counts(find, version, task, leading, better, clip):
    given = {"version": version, "outcome": f"{task}_r2"}
    assert find(**given, statistic="leading models")["value"] == leading
    label = {"statistic": "models better than Task"}
    assert find(**given, **label, subset="all")["value"] == better
    assert find(**given, **label, subset="Multimodal")["value"] == clip
    best = find(**given, statistic="best model")
    assert best["model"] == "clip-vit-l-14"


def test_who_beats_task(models):
    task = {"category": {"vit-h-14", "glocal-dinov2-vit-large-p14"}, "reward": set()}
    task["reward"] = {"vit-h-14"}
    for version, own in models.groupby("version"):
        own = own.set_index("model")
        for name, others in task.items():
            r2 = own[f"{name}_r2"]
            better = own[(r2 > r2["spose-49"]) & (own["type"] != "Multimodal")]
            assert set(better.index) == others, version


@pytest.mark.parametrize(
    ("version", "category", "reward"),
    [("tables", 0, 0), ("paper", 0, 3), ("figures", 1, 5)],
)
def test_models_below_chance(find, version, category, reward):
    given = {"version": version, "statistic": "models below chance"}
    assert find(**given, outcome="category_r2")["value"] == category
    assert find(**given, outcome="reward_r2")["value"] == reward


def test_r2_of_the_best_model_and_of_task(models):
    drawn = models[models["version"] == "figures"].set_index("model")
    columns = ["category_r2", "reward_r2"]
    assert drawn.loc["clip-vit-l-14", columns].round(4).tolist() == [0.1338, 0.1517]
    assert drawn.loc["spose-49", columns].round(4).tolist() == [0.0783, 0.1128]
    printed = models[models["version"] == "tables"].set_index("model")
    assert printed.loc["spose-49", columns].round(4).tolist() == [0.0783, 0.1128]


def test_types_of_the_86(models):
    counts = models[models["version"] == "figures"]["type"].value_counts()
    assert counts.to_dict() == {
        **{"Supervised": 35, "Self-Supervised": 23, "Multimodal": 21},
        **{"Language": 6, "Task": 1},
    }
    assert (models["version"] == "tables").sum() == 75


@pytest.mark.parametrize(
    ("task", "beaten"), [("category", 8), ("reward", 13)], ids=["category", "reward"]
)
def test_sparse_and_pca(find, task, beaten):
    row = find(
        version="tables",
        statistic="models better than with main",
        outcome=f"{task}_nll",
        predictor="sparse or pca",
    )
    assert (row["value"], row["n"]) == (beaten, 75)
    best = find(version="tables", statistic="best learner", outcome=f"{task}_nll")
    assert (best["predictor"], best["model"]) == ("main", "clip-vit-l-14")


@pytest.mark.parametrize(
    ("size", "clip", "simclr", "slip"),
    [
        ("small", 0.0593, 0.0401, 0.0762),
        ("base", 0.0852, 0.0746, 0.0889),
        ("large", 0.0731, 0.0601, 0.0943),
    ],
)
def test_losses(find, size, clip, simclr, slip):
    for loss, value in {"clip": clip, "simclr": simclr, "slip": slip}.items():
        row = find(
            version="figures",
            statistic="mean over participants",
            outcome="r2",
            model=f"{loss}-slip-{size}",
        )
        # Read to four decimals; the bar of SLIP, small, is .07615.
        assert row["value"] == pytest.approx(value, abs=6e-5)
        assert row["n"] == 173


def test_more_losses_are_better_at_every_size(find):
    for outcome in ("r2", "task_accuracy"):
        for step in ("slip - clip", "clip - simclr", "slip - simclr"):
            row = find(
                version="figures",
                statistic="sizes that gain",
                outcome=outcome,
                predictor=step,
            )
            assert (row["value"], row["n"]) == (3, 3)


@pytest.mark.parametrize(("version", "suffix"), [("figures", ""), ("paper", "_paper")])
def test_aligned_minus_base(statistics, registry, reference, version, suffix):
    path = reference / "learning-tasks" / "fig7_fig11_pairs.csv"
    expected = pd.read_csv(path)
    ids = {model.figure_name: name for name, model in registry.items()}
    expected = expected.set_index(expected["aligned"].map(ids))
    own = statistics[
        (statistics["version"] == version) & (statistics["statistic"] == "difference")
    ]
    names = {"r2": "r2_mean", "task_accuracy": "task_accuracy", "cka": "cka"}
    names |= {"class_separation": "class_sep", "intrinsic_dimensionality": "id"}
    names |= {} if suffix else {"peterson": "peterson", "nights": "nights"}
    for outcome, name in names.items():
        item = "Fig. 11" if outcome in ("peterson", "nights") else "Fig. 7"
        rows = own[(own["item"] == item) & (own["outcome"] == outcome)]
        values = rows.set_index("model")["value"]
        assert len(values) == (17 if item == "Fig. 11" else 16)
        known = expected.loc[values.index, f"d_{name}{suffix}"]
        scale = 100 if outcome == "nights" else 1
        np.testing.assert_allclose(values * scale, known, atol=1e-4)


def test_signs_of_alignment(statistics, find):
    own = statistics[
        (statistics["item"] == "Fig. 7")
        & (statistics["version"] == "figures")
        & (statistics["statistic"] == "difference")
        & (statistics["subset"] == "gLocal")
    ]
    change = own.pivot(index="model", columns="outcome", values="value")
    r2 = change["r2"]
    assert r2[r2 > 0].round(3).to_dict() == {
        "glocal-dinov2-vit-large-p14": 0.044,
        "glocal-resnet50": 0.013,
    }
    assert set(change.index[change["task_accuracy"] < 0]) == {
        "glocal-dinov2-vit-base-p14",
        "glocal-openclip-vit-b-32-laion400m-e32",
    }
    more = change.index[change["intrinsic_dimensionality"] > 0]
    assert more.tolist() == ["glocal-clip-vit-l-14"]
    for version, gains in {"paper": (0, 0, 0), "figures": (4, 0, 1)}.items():
        for outcome, gain in zip(
            ("task_accuracy", "class_separation", "cka"), gains, strict=True
        ):
            row = find(
                item="Fig. 7",
                version=version,
                statistic="models that gain",
                outcome=outcome,
                subset="Harmonization",
            )
            assert (row["value"], row["n"]) == (gain, 7)


def test_tables_agree_with_figures_but_for_harmonization(models):
    printed, drawn = (
        models[models["version"] == version].set_index("model")
        for version in ("tables", "figures")
    )
    for column in ("category_nll", "reward_nll", "task_accuracy", "cka"):
        apart = (printed[column] - drawn[column]).abs() > 0.005 + 1e-9
        apart = apart[apart].index
        assert all(name.startswith("harmonization-") for name in apart)
        assert len(apart) == (6 if column == "cka" else 7)
    # The repository's figures did not compute it anew.
    column = "class_separation"
    apart = (printed[column] - drawn[column]).abs() > 0.005 + 1e-9
    assert not apart.any()
    # Distances within classes are on average no larger than all: with each pair counted
    # once, as in the repository's code, nothing below one half could come out.
    assert drawn[column].min() < 0.1


def test_every_claim_that_differs_has_its_reason(statistics, models, tmp_path):
    folder = tmp_path / "summary" / "published"
    write_table(statistics, folder / "statistics.csv")
    write_table(models, folder / "models.csv")
    claims = read_published(ROOT / "resources" / "published" / "factors.csv")
    verdicts = compare(claims, tmp_path)
    assert set(verdicts["status"]) == {"recomputed", "differs", "not available"}
    differs = verdicts[verdicts["status"] == "differs"]
    assert (differs["note"] != "no reason is known").all()
    reasons = claims.loc[verdicts["status"] == "recomputed", "reason"]
    assert (reasons == "").all(), reasons[reasons != ""].tolist()


def test_training_images_do_not_matter_within_types(find):
    row = find(
        version="paper", item="partial", predictor="training_images", given="type"
    )
    assert abs(row["value"]) < 0.1
    assert row["p"] > 0.5
