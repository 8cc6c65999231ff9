"""Geirhos, Meding & Wichmann (NeurIPS 2020) from the raw trials of 35 observers."""

import csv

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import cohen_kappa_score

from trialwise.cli import main
from trialwise.consistency.intervals import crossed_interval, resample_kappa
from trialwise.consistency.kappa import kappa, pair_counts
from trialwise.trials import correctness, is_human, load_trials, read_trials

EXPERIMENTS = ["cue-conflict", "edges", "silhouettes"]
PEOPLE = [f"subject-{i:02d}" for i in range(1, 11)]

per_experiment = pytest.mark.parametrize("experiment", EXPERIMENTS)


@pytest.fixture(scope="module")
def read(consistency):
    def table(experiment, name):
        return pd.read_csv(consistency / experiment / f"{name}.csv")

    return table


@pytest.fixture(scope="module")
def mean_kappa(read):
    def row(experiment, comparison, variant="all-trials"):
        groups = read(experiment, "groups").set_index(["variant", "comparison"])
        return groups.loc[(variant, comparison)]

    return row


@pytest.fixture(scope="module")
def reproduction(study):
    path = study / "results" / "summary" / "reproduction" / "error-consistency.csv"
    return pd.read_csv(path, dtype=str, keep_default_na=False)


@per_experiment
def test_every_kappa_equals_scikit_learns(experiment, mirror, read):
    folder = mirror / f"error-consistency/raw-data/texture-shape_{experiment}"
    answers = {}
    for path in folder.glob("*.csv"):
        with path.open() as file:
            for trial in csv.DictReader(file):
                image = trial["imagename"].rsplit("_", 1)[-1]
                right = trial["object_response"] == trial["category"]
                answers.setdefault(trial["subj"], {})[image] = right
    images = sorted(answers["alexnet"])
    correct = {o: [seen[i] for i in images] for o, seen in answers.items()}
    pairs = read(experiment, "pairs").query("variant == 'all-trials'")
    assert len(pairs) == 35 * 34 / 2
    for pair in pairs.itertuples():
        theirs = cohen_kappa_score(correct[pair.observer_i], correct[pair.observer_j])
        assert pair.kappa == pytest.approx(theirs, abs=1e-12)


@per_experiment
def test_accuracies_and_kappas_with_people(experiment, expected, read):
    accuracy = read(experiment, "accuracy").set_index("observer")["accuracy"]
    assert accuracy.to_dict() == pytest.approx(
        expected[experiment]["accuracy"], abs=1e-6
    )
    networks = read(experiment, "networks").set_index("observer")["mean"]
    assert networks.to_dict() == pytest.approx(
        expected[experiment]["kappa_human_mean"], abs=1e-6
    )


@per_experiment
def test_group_means(experiment, expected, mean_kappa):
    names = {"n": "n_pairs", "min": "minimum", "max": "maximum"}
    rows = {
        "human_human": ("human-human", "all-trials"),
        "cnn16_cnn16": ("cnn16-cnn16", "all-trials"),
        "cnn16_human": ("cnn16-human", "all-trials"),
        "cnn_cnn_published_16_rows_0_3_mod4": ("cnn16-cnn16", "published"),
        "cnn_cnn_published_brainscore14": ("cnn14-cnn14", "published"),
        "cnn_cnn_published_four_row_3_mod4": ("cnn4-cnn4", "published"),
    }
    for key, place in rows.items():
        row = mean_kappa(experiment, *place)
        for name, value in expected[experiment][key].items():
            assert row[names.get(name, name)] == pytest.approx(value, abs=1e-6)
    cornet = mean_kappa(experiment, "cornet-resnet50")["mean"]
    assert cornet == pytest.approx(expected[experiment]["cornet_vs_resnet50"], abs=1e-6)


@per_experiment
def test_regressions(experiment, expected, read):
    table = read(experiment, "regression").query("over == 'pairs'")
    table = table.set_index(["benchmark", "networks"])
    keys = {
        "top1": ("top1", "cnn16"),
        "top5": ("top5", "cnn16"),
        "top1_inception77.45": ("top1_corrected", "cnn16"),
        "top5_inception93.56": ("top5_corrected", "cnn16"),
    }
    for benchmark in ("average", "V1", "V2", "V4", "IT", "behaviour"):
        keys[f"brainscore_{benchmark}"] = (benchmark, "cnn14")
        keys[f"brainscore_{benchmark}_no_squeezenet"] = (benchmark, "cnn12")
    assert set(keys) == set(expected[experiment]["regression"])
    for key, place in keys.items():
        values = expected[experiment]["regression"][key]
        assert table.loc[place][list(values)].to_dict() == pytest.approx(
            values, abs=1e-6
        )


def test_regression_over_the_means_of_networks(read):
    row = read("silhouettes", "regression").query(
        "benchmark == 'top5' and over == 'networks'"
    )
    assert row["n"].item() == 16
    assert row["r2"].item() == pytest.approx(0.460, abs=5e-4)
    assert row["p"].item() == pytest.approx(0.004, abs=5e-4)


@pytest.mark.parametrize(
    ("name", "experiment"),
    [
        ("high-pass", "high-pass"),
        ("low-pass", "low-pass"),
        ("uniform-noise", "uniform-noise"),
        ("contrast-png", "contrast"),
        ("eidolon-10-", "eidolon-1"),
        ("eidolon-3-", "eidolon-2"),
        ("eidolon-0-", "eidolon-3"),
        ("phase-scrambling", "phase-scrambling"),
    ],
)
def test_noise_generalisation(name, experiment, expected, read):
    table = read(experiment, "levels").query("variant == 'all-trials'")
    table = table.set_index(["observer", "level"])
    columns = {
        "resnet50": ("resnet50", "accuracy"),
        "cornet-s": ("cornet-s", "accuracy"),
        "human": ("humans", "accuracy"),
        "hmin": ("humans", "low"),
        "hmax": ("humans", "high"),
        "cmin": ("cornet-s", "low"),
        "cmax": ("cornet-s", "high"),
    }
    for key, (observer, column) in columns.items():
        values = {float(x): y for x, y in expected["noise"][name][key].items()}
        ours = table.loc[observer][column].to_dict()
        assert ours == pytest.approx(values, abs=5.0001e-5)


@pytest.mark.parametrize(
    ("n", "experiment", "kappa_noise"),
    [(160, "edges", 1.6e-3), (1280, "cue-conflict", 3.7e-4)],
)
def test_percentiles_equal_the_authors_simulation(
    n, experiment, kappa_noise, mirror, read
):
    folder = mirror / "error-consistency/data-analysis/confidence-intervals"
    authors = pd.read_csv(folder / f"{n}_trials.csv", index_col=0)
    ours = read(experiment, "band").set_index("bin")[
        ["expected", "observed_low", "observed_high", "kappa_low", "kappa_high"]
    ]
    difference = np.abs(ours.to_numpy() - authors.to_numpy())
    assert difference[:, 0].max() < 2e-5
    assert difference[:, 1:3].max() < 1 / n + 1e-9
    assert np.nanmax(difference[:, 3:]) < kappa_noise
    assert np.isnan(difference[99, 3:]).all()


@pytest.mark.parametrize(
    ("experiment", "h", "ceiling", "human_h"),
    [
        ("edges", 0.73, 0.092, 0.53),
        ("cue-conflict", 0.55, 0.124, 0.44),
        ("silhouettes", 0.77, 0.436, 0.59),
    ],
)
def test_ceilings(experiment, h, ceiling, human_h, read, mean_kappa):
    pairs = read(experiment, "pairs").query("group == 'cnn16-human'")
    assert pairs["kappa_max"].mean() == pytest.approx(ceiling, abs=5e-4)
    assert mean_kappa(experiment, "cnn16-human")["h_mean"] == pytest.approx(h, abs=5e-3)
    human = mean_kappa(experiment, "human-human")["h_mean"]
    assert human == pytest.approx(human_h, abs=5e-3)


@pytest.mark.parametrize(
    ("experiment", "significant"),
    [("cue-conflict", 159), ("edges", 49), ("silhouettes", 160)],
)
def test_exact_tests_of_networks_and_people(experiment, significant, read):
    row = read(experiment, "outside-band").set_index("comparison").loc["cnn16-human"]
    assert row["significant"] == significant


@pytest.mark.parametrize(
    ("experiment", "resnet50", "ceiling"),
    [
        ("cue-conflict", 0.06800, 0.33105),
        ("edges", 0.03626, 0.31844),
        ("silhouettes", 0.42805, 0.47571),
    ],
)
def test_values_asserted_by_brain_score(
    experiment, resnet50, ceiling, read, mean_kappa
):
    networks = read(experiment, "networks").set_index("observer")["mean"]
    assert networks["resnet50"] == pytest.approx(resnet50, abs=5e-6)
    human = mean_kappa(experiment, "human-human")["mean"]
    assert human == pytest.approx(ceiling, abs=5e-6)


@pytest.mark.parametrize(
    ("experiment", "resnet50", "ceiling"),
    [
        ("cue-conflict", 0.06800, 0.33105),
        ("edges", 0.03626, 0.31844),
        ("silhouettes", 0.42805, 0.47571),
    ],
)
def test_comparing_a_model_gives_the_values_of_brain_score(
    experiment, resnet50, ceiling, mirror, consistency, tmp_path
):
    raw = mirror / "error-consistency" / "raw-data" / f"texture-shape_{experiment}"
    (model,) = raw.glob("*_resnet50_*.csv")
    people = consistency / experiment / "trials.csv"
    words = ["compare", model, "--experiment", experiment, "--people", people]
    words += ["--resamples", "20", "--output", tmp_path / "compared.csv"]
    assert main([str(word) for word in words]) == 0
    table = pd.read_csv(tmp_path / "compared.csv").set_index("measure")["value"]
    assert table["kappa"] == pytest.approx(resnet50, abs=5e-6)
    assert table["kappa_people"] == pytest.approx(ceiling, abs=5e-6)


@pytest.fixture(scope="module")
def cue_conflict(consistency):
    return load_trials(consistency / "cue-conflict" / "trials.csv")


def test_intervals_of_cue_conflict(cue_conflict):
    observers, images, correct = correctness(cue_conflict)
    people = [observers.index(o) for o in PEOPLE]
    i, j = np.array(people)[np.array(np.triu_indices(10, k=1))]
    shapes = [image.split("-")[0] for image in images]

    def resampled(labels):
        return resample_kappa(correct, labels, 2000, np.random.default_rng(1))

    by_image, by_shape = resampled(images), resampled(shapes)
    means = by_image[:, i, j].mean(axis=1)
    assert means.std() == pytest.approx(0.0138, rel=0.05)
    assert by_shape[:, i, j].mean(axis=1).std() == pytest.approx(0.0212, rel=0.05)
    assert np.quantile(means, [0.025, 0.975]) == pytest.approx(
        [0.303, 0.358], abs=0.002
    )
    low, high, undefined = crossed_interval(
        by_image, people, people, np.random.default_rng(2)
    )
    assert (low, high) == pytest.approx((0.275, 0.388), abs=0.004)
    assert undefined == 0
    networks = [observers.index(n) for n in ("resnet50", "cornet-s")]
    with_people = by_image[:, networks][:, :, people].mean(axis=2)
    difference = with_people[:, 0] - with_people[:, 1]
    assert np.quantile(difference, [0.025, 0.975]) == pytest.approx(
        [-0.010, 0.013], abs=0.002
    )


def test_cue_conflict_without_images_whose_shape_is_their_texture(
    cue_conflict, consistency
):
    texture = cue_conflict["image"].str.extract(r"-([a-z]+)\d+\.png", expand=False)
    conflict = cue_conflict[texture != cue_conflict["category"]]
    observers, images, correct = correctness(conflict)
    n, k, n11 = pair_counts(correct)
    value = pd.DataFrame(
        kappa(n, k[:, None], k[None, :], n11), index=observers, columns=observers
    )
    table = pd.read_csv(consistency / "accuracy.csv", index_col=0)
    networks = [o for o in table.index if o not in [*PEOPLE, "cornet-s"]]

    def mean_within(group):
        upper = np.triu_indices(len(group), k=1)
        return value.loc[group, group].to_numpy()[upper].mean()

    assert len(images) == 1200
    assert mean_within(PEOPLE) == pytest.approx(0.335, abs=5e-4)
    assert mean_within(networks) == pytest.approx(0.515, abs=5e-4)
    between = value.loc[PEOPLE, networks].to_numpy().mean()
    assert between == pytest.approx(0.055, abs=5e-4)


@pytest.mark.parametrize(
    ("experiment", "mean"),
    [("cue-conflict", 0.343), ("edges", 0.335), ("silhouettes", 0.485)],
)
def test_dropping_missed_trials_pairwise(experiment, mean, consistency):
    trials = load_trials(consistency / experiment / "trials.csv")
    people = trials[is_human(trials["observer"]) & (trials["response"] != "na")]
    wide = people.pivot(index="image", columns="observer", values="correct")
    values = []
    for i, first in enumerate(PEOPLE):
        for second in PEOPLE[:i]:
            both = wide[[first, second]].dropna().to_numpy(dtype=bool).T
            n, k, n11 = pair_counts(both)
            values.append(kappa(n, k[0], k[1], n11[0, 1]))
    assert np.mean(values) == pytest.approx(mean, abs=5e-4)


@pytest.mark.parametrize(
    ("conditions", "value"), [(["cr"], 0.369), (["bw"], 0.373), (["cr", "bw"], 0.372)]
)
def test_imagenet_colour(conditions, value, mirror):
    trials = read_trials(
        mirror / "error-consistency/raw-data/noise-generalisation_colour",
        conditions=conditions,
        exclude=["subject-01"],
    )
    _, images, correct = correctness(trials)
    n, k, n11 = pair_counts(correct)
    assert len(images) == 640 * len(conditions)
    assert kappa(n, k[0], k[1], n11[0, 1]) == pytest.approx(value, abs=5e-4)


@pytest.mark.parametrize(
    ("experiment", "observer", "category", "response", "percent"),
    [
        ("edges", "resnet50", "airplane", "knife", 100),
        ("cue-conflict", "humans", "boat", "knife", 11.9),
        ("cue-conflict", "resnet50", "knife", "bottle", 33.8),
        ("silhouettes", "resnet50", "keyboard", "knife", 100),
    ],
)
def test_confusions(experiment, observer, category, response, percent, read):
    table = read(experiment, "confusion").set_index(
        ["observer", "category", "response"]
    )
    found = table.loc[(observer, category, response), "percent"]
    assert found == pytest.approx(percent, abs=0.05)


def test_missed_trials_of_people(read):
    table = read("cue-conflict", "confusion").query("observer == 'humans'")
    missed = table.query("response == 'na'")["count"].sum()
    assert missed == 131
    assert 100 * missed / table["count"].sum() == pytest.approx(1.02, abs=5e-3)


def test_resnet50_uses_five_responses_to_edges(read):
    table = read("edges", "confusion").query("observer == 'resnet50'")
    assert table["response"].nunique() == 5


@pytest.mark.parametrize(
    ("experiment", "share"),
    [("cue-conflict", 839 / 1280), ("edges", 0.619), ("silhouettes", 0.656)],
)
def test_cornet_and_resnet50_give_the_same_response(experiment, share, consistency):
    trials = load_trials(consistency / experiment / "trials.csv")
    wide = trials.pivot(index="image", columns="observer", values="response")
    assert (wide["cornet-s"] == wide["resnet50"]).mean() == pytest.approx(
        share, abs=5e-4
    )


def test_shape_bias_by_category(read):
    table = read("cue-conflict", "shape-bias").query("category != 'all'")
    people = table.query("observer == 'humans'").set_index("category")["shape_bias"]
    order = people.sort_values(ascending=False)
    assert (order.index[0], order.index[-1]) == ("bicycle", "boat")
    assert order.iloc[[0, -1]].tolist() == pytest.approx([0.997, 0.872], abs=5e-4)
    one_observer = table.query("observer == 'resnet50'")
    assert one_observer["n"].tolist() == [75] * 16


def test_every_claim_has_its_verdict(reproduction):
    assert not reproduction.duplicated(["item", "protocol"]).any()
    assert set(reproduction["status"]) == {"match", "differs", "not available"}
    explained = reproduction[reproduction["status"] != "match"]["note"]
    assert explained.str.len().min() > 40
    assert not explained.str.contains("no reason is known").any()


def test_published_numbers_match_with_the_slips_and_not_without(reproduction):
    by_item = reproduction.set_index(["item", "protocol"])["status"]
    assert (by_item[:, "published"] == "match").all()
    for experiment in EXPERIMENTS:
        item = f"{experiment}: mean kappa cnn16-cnn16"
        assert by_item[item, "all-trials"] == "differs"
    assert by_item["edges: largest kappa of two networks", "all-trials"] == "differs"


def test_whatever_needs_the_unpublished_responses_is_not_available(reproduction):
    missing = reproduction.query("status == 'not available'")["item"]
    assert "colour: R2 of kappa on top-5 accuracy" in set(missing)


def test_second_run_does_nothing_even_without_the_mirror(study, run_snakemake):
    run = run_snakemake(study, "consistency")
    assert run.returncode == 0
    assert "Nothing to be done" in run.stdout
