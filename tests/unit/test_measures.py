"""Accuracy, shape bias, confusion, regression and ranking on trials made by hand."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

from trialwise.consistency.accuracy import (
    accuracy_by_level,
    accuracy_table,
    group_accuracy,
    observer_accuracy,
)
from trialwise.consistency.confusion import confusion
from trialwise.consistency.controversial import controversial_images, extremes
from trialwise.consistency.regression import regress_all
from trialwise.consistency.shape_bias import shape_bias, shape_bias_and_kappa
from trialwise.errors import InputError


def trials_of(rows):
    columns = ["observer", "session", "condition", "image", "category", "response"]
    table = pd.DataFrame(rows, columns=columns)
    correct = (table["category"] == table["response"]).astype(int)
    row = table.groupby("observer").cumcount() + 1
    return table.assign(correct=correct, row=row)


def test_missed_trials_count_as_wrong():
    trials = trials_of(
        [
            ("subject-01", "1", "0", "a", "cat", "cat"),
            ("subject-01", "1", "0", "b", "dog", "na"),
            ("subject-01", "1", "0", "c", "dog", "cat"),
            ("subject-01", "1", "0", "d", "dog", "dog"),
        ]
    )
    row = observer_accuracy(trials).iloc[0]
    assert (row["n_no_response"], row["accuracy"]) == (1, 0.5)


def test_accuracies_round_half_to_even():
    accuracy = pd.DataFrame({"observer": ["a", "b"], "accuracy": [0.925, 0.135]})
    table = accuracy_table({"edges": accuracy}, ["b", "a"])
    assert table["observer"].tolist() == ["b", "a"]
    assert table["edges"].tolist() == [0.14, 0.92]


def test_group_accuracy_counts_each_observer_once():
    accuracy = pd.DataFrame(
        {"observer": ["a", "b", "c"], "accuracy": [0.2, 0.4, 0.9], "n": [10, 990, 5]}
    )
    row = group_accuracy(accuracy, {"nets": ["a", "b"]}).iloc[0]
    assert row["accuracy"] == pytest.approx(0.3)
    assert (row["minimum"], row["maximum"]) == (0.2, 0.4)


def test_ranges_are_over_people_and_over_sessions():
    right, wrong = ("cat", "cat"), ("cat", "dog")
    trials = trials_of(
        [
            ("subject-01", "1", "c05", "a", *right),
            ("subject-01", "1", "c05", "b", *right),
            ("subject-02", "1", "c05", "a", *right),
            ("subject-02", "1", "c05", "b", *wrong),
            ("net", "1", "c05", "a", *wrong),
            ("net", "2", "c05", "c", *right),
            ("net", "2", "c05", "d", *wrong),
            ("net", "1", "inf", "e", *right),
        ]
    )
    table = accuracy_by_level(trials, "c([0-9]+)", ["net"])
    table = table.set_index(["variant", "observer", "level"]).sort_index()
    people = table.loc[("all-trials", "humans", 5.0)]
    assert people[["accuracy", "low", "high"]].tolist() == [0.75, 0.5, 1.0]
    net = table.loc[("all-trials", "net", 5.0)]
    assert net[["n", "low", "high"]].tolist() == [3, 0.0, 0.5]
    assert table.loc[("published", "net", 5.0)][["low", "high"]].tolist() == [0.5, 1.0]
    with pytest.raises(InputError, match="'nett'"):
        accuracy_by_level(trials, "c([0-9]+)", ["nett"])


def test_shape_bias_leaves_out_agreeing_images_and_other_answers():
    trials = trials_of(
        [
            ("subject-01", "1", "0", "cat1-dog1.png", "cat", "cat"),
            ("subject-01", "1", "0", "cat1-dog2.png", "cat", "dog"),
            ("subject-01", "1", "0", "cat2-dog2.png", "cat", "cat"),
            ("subject-01", "1", "0", "cat2-car2.png", "cat", "oven"),
            ("subject-01", "1", "0", "cat2-cat2.png", "cat", "cat"),
            ("net", "1", "0", "dog2-car2.png", "dog", "oven"),
        ]
    )
    table = shape_bias(trials, r"-([a-z]+)\d+\.png$").set_index(
        ["observer", "category"]
    )
    person = table.loc[("subject-01", "all")]
    assert person[["n", "n_shape", "n_texture"]].tolist() == [4, 2, 1]
    assert person["shape_bias"] == pytest.approx(2 / 3)
    assert table.loc[("humans", "cat"), "shape_bias"] == pytest.approx(2 / 3)
    assert np.isnan(table.loc[("net", "all"), "shape_bias"])


def test_published_correlation_is_that_of_the_rounded_values():
    # The four kappas and shape biases that the authors typed in; R gives .9998646.
    names = list("abcd")
    networks = pd.DataFrame(
        {"observer": names, "mean": [0.0681, 0.0659, 0.0980, 0.1949]}
    )
    bias = pd.DataFrame(
        {
            "observer": names,
            "category": "all",
            "shape_bias": [0.213899, 0.205401, 0.346512, 0.813668],
        }
    )
    accuracy = pd.DataFrame({"observer": names, "accuracy": 0.5})
    _, correlation = shape_bias_and_kappa(networks, bias, accuracy, names)
    r = correlation.set_index("variant")["r"]
    assert r["published"] == pytest.approx(0.9998646, abs=5e-8)


def test_confusion_in_percent_of_the_presented_category():
    trials = trials_of(
        [
            ("subject-01", "1", "0", "a", "cat", "cat"),
            ("subject-01", "1", "0", "b", "cat", "na"),
            ("subject-02", "1", "0", "a", "cat", "dog"),
            ("subject-02", "1", "0", "b", "cat", "cat"),
            ("subject-02", "1", "0", "c", "dog", "dog"),
        ]
    )
    table = confusion(trials).set_index(["observer", "category", "response"])["percent"]
    assert table["humans", "cat", "cat"] == 50
    assert table["humans", "cat", "na"] == 25
    assert table["humans", "dog", "cat"] == 0
    assert ("subject-01", "cat", "dog") not in table.index
    totals = table.groupby(level=["observer", "category"]).sum()
    assert np.allclose(totals, 100)


def test_images_rank_by_people_then_by_networks_then_by_the_tie_breaker():
    answers = {
        "subject-01": {"a": 1, "b": 1, "c": 1, "d": 0},
        "subject-02": {"d": 0, "c": 1, "b": 1, "a": 0},
        "net": {"a": 0, "b": 0, "c": 0, "d": 1},
    }
    rows = [
        (observer, "1", "0", image, "cat", "cat" if right else "dog")
        for observer, images in answers.items()
        for image, right in images.items()
    ]
    table = controversial_images(trials_of(rows), ["net"], "subject-02")
    easy = table.sort_values("human_easy_rank")["image"].tolist()
    assert easy == ["c", "b", "a", "d"]
    hard = table.sort_values("network_easy_rank")["image"].tolist()
    assert hard == ["d", "a", "c", "b"]
    best = extremes(table, n=2).set_index("kind")["images"]
    assert best["human-easy"] == "c b"


@pytest.fixture
def pairs():
    rng = np.random.default_rng(0)
    networks, people = [f"net{i}" for i in range(6)], ["subject-1", "subject-2"]
    rows = [("all-trials", n, p, rng.random()) for n in networks for p in people]
    columns = ["variant", "observer_i", "observer_j", "kappa"]
    rows += [("all-trials", *people, 5.0), ("all-trials", "net0", "net1", 5.0)]
    return pd.DataFrame(rows, columns=columns)


def test_regression_equals_statsmodels(pairs):
    scores = pd.DataFrame(
        {"score": np.linspace(0, 1, 6) ** 2}, index=[f"net{i}" for i in range(6)]
    )
    table = regress_all(
        pairs, scores, {"nets": ["net*"]}, [{"benchmark": "score", "networks": "nets"}]
    ).set_index("over")
    points = pairs.iloc[:12].assign(
        x=pairs.iloc[:12]["observer_i"].map(scores["score"])
    )
    means = points.groupby("observer_i")[["kappa", "x"]].mean()
    for over, data in (("pairs", points), ("networks", means)):
        fit = sm.OLS(data["kappa"], sm.add_constant(data["x"])).fit()
        expected = [fit.rsquared, fit.params["x"], fit.params["const"], fit.fvalue]
        ours = table.loc[over]
        assert ours[["r2", "slope", "intercept", "f"]].tolist() == pytest.approx(
            expected
        )
        assert ours["p"] == pytest.approx(fit.f_pvalue)


def test_unknown_benchmarks_and_missing_scores_are_refused(pairs):
    scores = pd.DataFrame({"score": [1.0]}, index=["net0"])
    groups = {"nets": ["net*"]}
    with pytest.raises(InputError, match="Benchmarks: score"):
        regress_all(pairs, scores, groups, [{"benchmark": "scor", "networks": "nets"}])
    with pytest.raises(InputError, match="no score of net1"):
        regress_all(pairs, scores, groups, [{"benchmark": "score", "networks": "nets"}])
