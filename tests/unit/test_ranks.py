import numpy as np
import pandas as pd
import pytest
from scipy import special, stats
from sklearn.metrics import cohen_kappa_score
from threadpoolctl import threadpool_limits

from trialwise.agreement.ranks import (
    participant_values,
    rank_observers,
    rank_sets,
    rank_sets_from_resamples,
    sure,
)
from trialwise.errors import InputError
from trialwise.simulation.agreement_ranks import (
    measure_observer_ranks,
    measure_rank_sets,
    person_values,
)


def values_of(means, n, seed):
    return person_values(means, n, np.random.default_rng(seed))


def test_two_models_are_compared_by_a_paired_t_test():
    values = values_of([0.25, 0], 200, 3)
    ranks, pairs = rank_sets(values, 20_000)
    test = stats.ttest_rel(values["model-01"], values["model-02"])
    interval = test.confidence_interval()
    pair = pairs.iloc[0]
    assert pair["t"] == pytest.approx(test.statistic)
    assert pair["p_maxt"] == pytest.approx(test.pvalue, abs=0.01)
    assert pair["ci_low"] == pytest.approx(interval.low, abs=0.05 * pair["se"])
    assert pair["ci_high"] == pytest.approx(interval.high, abs=0.05 * pair["se"])
    by_model = ranks.set_index("model")
    for model, own in values.items():
        assert by_model.loc[model, "se"] == pytest.approx(own.sem())


def test_intervals_of_independent_models_are_tukeys():
    rng = np.random.default_rng(0)
    values = pd.DataFrame(rng.normal(size=(600, 6)))
    _, pairs = rank_sets(values, 8000)
    half = (pairs["ci_high"] - pairs["ci_low"]) / 2 / pairs["se"]
    tukey = stats.studentized_range.ppf(0.95, 6, np.inf) / np.sqrt(2)
    assert half.to_numpy() == pytest.approx(tukey, rel=0.02)


def test_resampled_estimates_equal_multcomp():
    # glht(parm(x, S), contrMat(n, "Tukey")), single-step, of R's multcomp 1.4.
    x = pd.Series([0.9, 0.5, 0.45, 0.1], index=list("abcd"))
    covariance = np.diag([0.10, 0.06, 0.15, 0.20]) ** 2
    covariance[0, 1] = covariance[1, 0] = 0.003
    p = [2.03847e-05, 5.32228e-02, 1.71577e-03, 9.88513e-01, 2.01135e-01, 4.71703e-01]
    low = [0.1801, -0.0047, 0.2360, -0.3575, -0.1266, -0.2805]
    rng = np.random.default_rng(0)
    resampled = rng.multivariate_normal(x, covariance, size=200_000)
    ranks, pairs = rank_sets_from_resamples(x, resampled)
    assert pairs["p_maxt"].to_numpy() == pytest.approx(p, abs=0.004)
    assert pairs["ci_low"].to_numpy() == pytest.approx(low, abs=0.005)
    assert ranks["rank_low"].tolist() == [1, 2, 1, 2]
    assert ranks["rank_high"].tolist() == [2, 4, 4, 4]


def test_sets_count_the_sure_pairs_and_intervals_say_which():
    values = values_of(np.linspace(0, 2, 9), 60, 5)
    ranks, pairs = rank_sets(values, 999)
    sure_pairs = (pairs["ci_low"] > 0) | (pairs["ci_high"] < 0)
    assert (sure_pairs == (pairs["p_maxt"] <= 0.05)).all()
    assert 0 < sure_pairs.sum() < len(pairs)
    for row in ranks.itertuples():
        better = (pairs["model_j"] == row.model) & (pairs["ci_low"] > 0)
        better |= (pairs["model_i"] == row.model) & (pairs["ci_high"] < 0)
        worse = (pairs["model_i"] == row.model) & (pairs["ci_low"] > 0)
        worse |= (pairs["model_j"] == row.model) & (pairs["ci_high"] < 0)
        assert (row.rank_low, row.rank_high) == (1 + better.sum(), 9 - worse.sum())
        assert row.rank_low <= row.rank <= row.rank_high


def test_a_level_that_all_people_share_does_not_matter():
    values = values_of(np.linspace(0, 1, 5), 40, 6)
    shifted = values.add(np.random.default_rng(0).normal(0, 50, size=40), axis=0)
    for one, two in zip(rank_sets(values), rank_sets(shifted), strict=True):
        columns = one.columns.drop(["mean", "se"], errors="ignore")
        pd.testing.assert_frame_equal(one[columns], two[columns])


def test_order_of_models_does_not_matter():
    values = values_of(np.linspace(0, 1, 6), 50, 7)
    ranks, _ = rank_sets(values)
    again, _ = rank_sets(values[values.columns[::-1]])
    pd.testing.assert_frame_equal(ranks, again)


def test_a_model_and_itself_computed_otherwise_are_one():
    values = values_of([0, 0, 1], 30, 8)
    values["again"] = values["model-01"] * (1 + 1e-12)
    ranks, pairs = rank_sets(values)
    same = pairs.query("model_i == 'model-01' and model_j == 'again'").iloc[0]
    assert same[["difference", "se", "t", "p_maxt"]].tolist() == [0, 0, 0, 1]
    own = ranks.set_index("model").loc[["model-01", "again"]]
    assert own["rank"].nunique() == 1


def test_a_difference_without_spread_is_sure():
    values = pd.DataFrame({"a": np.arange(30.0) + 1, "b": np.arange(30.0)})
    ranks, pairs = rank_sets(values)
    assert pairs["t"].iloc[0] == np.inf
    assert pairs["p_maxt"].iloc[0] == 1 / 2001
    assert ranks[["model", "rank_high"]].to_numpy().tolist() == [["a", 1], ["b", 2]]


def test_two_models_alike_but_for_one_person_do_not_hide_the_others():
    rng = np.random.default_rng(9)
    values = values_of([2, 0, 0], 82, 9)
    _, before = rank_sets(values)
    twin = values["model-03"] + 1e-4 * rng.normal(size=82)
    twin.iloc[0] += 0.01
    ranks, after = rank_sets(values.assign(twin=twin))
    assert before["p_maxt"].iloc[0] == after["p_maxt"].iloc[0] == 1 / 2001
    assert ranks.set_index("model").loc["model-01", "rank_high"] == 1


@pytest.mark.parametrize("n_threads", [1, 2])
def test_same_seed_same_bytes(n_threads):
    values = values_of(np.linspace(0, 1, 30), 91, 10)
    with threadpool_limits(1, user_api="blas"):
        expected = rank_sets(values, 500)
    with threadpool_limits(n_threads, user_api="blas"):
        again = rank_sets(values, 500)
    for one, two in zip(expected, again, strict=True):
        pd.testing.assert_frame_equal(one, two, check_exact=True)


def test_what_cannot_be_ranked_is_refused():
    values = values_of([0, 1], 20, 11)
    with pytest.raises(InputError, match="two models"):
        rank_sets(values[["model-01"]])
    with pytest.raises(InputError, match="two participants"):
        rank_sets(values.iloc[:1])
    with pytest.raises(InputError, match=r"18 resamples are too few .* Take 19"):
        rank_sets(values, 18)
    rank_sets(values, 19)
    values.iloc[3, 1] = np.nan
    with pytest.raises(InputError, match="Participant 3 has no value of model-02"):
        rank_sets(values)
    estimates = pd.Series([1.0, 2.0], index=["a", "b"])
    with pytest.raises(InputError, match="missing in some resamples"):
        rank_sets_from_resamples(estimates, np.full((30, 2), np.nan))
    with pytest.raises(InputError, match="two models"):
        rank_sets_from_resamples(estimates[:1], np.ones((30, 1)))


def test_sure_by_itself_and_among_others():
    values = values_of([0.6, 0.5, 0, 3], 91, 12)
    first = ["model-01", "model-02"]
    table = sure(values, first, "model-03")
    for row in table.itertuples():
        _, alone = rank_sets(values[[row.first, "model-03"]])
        assert row.p == alone["p_maxt"].iloc[0]
        test = stats.ttest_rel(values[row.first], values["model-03"])
        assert row.p == pytest.approx(test.pvalue, abs=0.02)
        assert row.share_better == (values[row.first] > values["model-03"]).mean()
    assert (table["p_maxt"] >= table["p"]).all()
    assert (table["p_maxt"] <= 2 * table["p"] + 1e-12).all()
    _, everything = rank_sets(values)
    chosen = everything["model_i"].isin(first) & (everything["model_j"] == "model-03")
    assert (everything.loc[chosen, "p_maxt"].to_numpy() >= table["p_maxt"]).all()


def test_sure_of_what_is_not_there():
    values = values_of([0, 1], 20, 13)
    with pytest.raises(InputError, match="no model 'clip'"):
        sure(values, ["clip"], "model-01")
    with pytest.raises(InputError, match="better than itself"):
        sure(values, ["model-01"], "model-01")


def test_people_without_a_value_are_left_out_for_all_models():
    table = pd.DataFrame(
        {
            "participant": ["p1", "p1", "p2", "p2", "p3"],
            "model": ["a", "b", "a", "b", "a"],
            "kappa": [0.1, 0.2, np.nan, 0.3, 0.4],
        }
    )
    values, n_incomplete = participant_values(table, "kappa")
    assert values.to_numpy().tolist() == [[0.1, 0.2]]
    assert n_incomplete == 2
    with pytest.raises(InputError, match="p1 has a twice"):
        participant_values(pd.concat([table, table[:1]]), "kappa")


def test_all_rank_sets_hold_at_once():
    table = measure_rank_sets(60, 90, 6, seed=1, n_resamples=400)
    assert table["world"].tolist() == ["equal", "graded", "separated", "twins"]
    # Three standard errors below the nominal share of 60 worlds.
    assert (table["coverage"] >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 60)).all()
    by_world = table.set_index("world")
    assert by_world.loc["separated", "found"] > 0.85
    assert by_world.loc["twins", "found"] > 0.85
    assert by_world.loc["equal", "mean_size"] > 5.9


@pytest.mark.full
def test_coverage_of_many_models():
    table = measure_rank_sets(200, 90, 40, seed=2, n_resamples=499)
    assert (table["coverage"] >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 200)).all()


def observers(seed, images=160):
    rng = np.random.default_rng(seed)
    difficulty = rng.normal(0, 1.5, size=images)
    slope = np.array([1, 1, 0, 1, 1, 1, 1])
    names = ["alike", "also", "chance", *(f"subject-{i}" for i in range(4))]
    odds = -slope[:, None] * difficulty
    correct = (rng.random(odds.shape) < special.expit(odds)).astype(int)
    trials = pd.DataFrame(
        {
            "observer": np.repeat(names, images),
            "image": np.tile([f"image{i:03d}" for i in range(images)], len(names)),
            "correct": correct.ravel(),
        }
    )
    return trials, names, correct


def test_observers_are_ranked_by_mean_kappa_with_people():
    trials, names, correct = observers(0)
    ranks, pairs = rank_observers(trials, names[:3], names[3:])
    means = ranks.set_index("model")["mean"]
    for i, name in enumerate(names[:3]):
        theirs = [cohen_kappa_score(correct[i], person) for person in correct[3:]]
        assert means[name] == pytest.approx(np.mean(theirs))
    assert ranks["model"].iloc[-1] == "chance"
    assert ranks["rank_low"].iloc[-1] == 3
    again, _ = rank_observers(trials, names[:3], names[3:])
    pd.testing.assert_frame_equal(ranks, again, check_exact=True)
    clustered, _ = rank_observers(trials, names[:3], names[3:], cluster="(image..)")
    assert not np.array_equal(clustered["se"], ranks["se"])
    assert len(pairs) == 3


def test_ranks_of_observers_hold_the_truth():
    table = measure_observer_ranks(30, 10, 160, 5, seed=3, n_resamples=300)
    assert (table["coverage"] >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 30)).all()
    assert table.set_index("world").loc["separated", "found"] > 0.7
