import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import cohen_kappa_score

from trialwise.agreement.learning import (
    join_kappa,
    kappa_row,
    learner_kappa,
    rank_learners,
    rankings,
)
from trialwise.errors import InputError
from trialwise.simulation.agreement_ranks import measure_learner_kappa


def scored_table(seed, n_people=6, n_trials=40):
    rng = np.random.default_rng(seed)
    shape = n_people, n_trials
    hard = rng.random(shape) < 0.4
    return pd.DataFrame(
        {
            "participant": np.repeat([f"p{i}" for i in range(n_people)], n_trials),
            "trial": np.tile(np.arange(n_trials), n_people),
            "correct": (rng.random(shape) < 0.9 - 0.5 * hard).ravel().astype(int),
            "learner_correct": (rng.random(shape) < 0.95 - 0.4 * hard)
            .ravel()
            .astype(int),
        }
    )


def test_kappa_with_own_and_other_sequences_equals_scikit_learns():
    scored = scored_table(0)
    table = learner_kappa(scored, "category")
    by_person = dict(list(scored.groupby("participant")))
    for row in table.itertuples():
        person = by_person[row.participant]["correct"]
        own = by_person[row.participant]["learner_correct"]
        others = [
            cohen_kappa_score(other["learner_correct"], person)
            for name, other in by_person.items()
            if name != row.participant
        ]
        assert row.kappa == pytest.approx(cohen_kappa_score(own, person))
        assert row.kappa_other == pytest.approx(np.mean(others))
        assert row.accuracy_learner == own.mean()
        assert row.accuracy_person == person.mean()
        assert row.n_trials == 40


def test_ceiling_and_h_by_hand():
    # 10 trials, learner right on 8, person on 6, both on 5: c_obs .6, c_exp .56, and
    # at most .8 observed.
    scored = pd.DataFrame(
        {
            "participant": "p",
            "trial": range(10),
            "learner_correct": [1] * 8 + [0] * 2,
            "correct": [0] * 3 + [1] * 5 + [1] + [0],
        }
    )
    row = learner_kappa(scored, "category").iloc[0]
    assert row["observed"] == pytest.approx(0.6)
    assert row["expected"] == pytest.approx(0.56)
    assert row["kappa"] == pytest.approx(0.04 / 0.44)
    assert row["kappa_max"] == pytest.approx(0.24 / 0.44)
    assert row["kappa_min"] == pytest.approx(-0.16 / 0.44)
    assert row["h"] == pytest.approx(1 / 6)
    assert np.isnan(row["kappa_other"])


def test_the_best_and_the_worst_overlap_reach_the_limits():
    scored = scored_table(1, n_people=1)
    together = scored.assign(
        **{name: sorted(scored[name]) for name in ("correct", "learner_correct")}
    )
    apart = together.assign(correct=together["correct"].to_numpy()[::-1])
    best, worst = (learner_kappa(x, "category").iloc[0] for x in (together, apart))
    assert best["kappa"] == best["kappa_max"]
    assert best["h"] == 1
    assert worst["kappa"] == pytest.approx(worst["kappa_min"])
    assert worst["h"] == pytest.approx(-1)


def test_trials_of_equal_rewards_have_no_right_answer():
    scored = scored_table(2).assign(left_reward=3, right_reward=5)
    tied = scored["trial"] % 7 == 0
    changed = scored.copy()
    changed.loc[tied, "right_reward"] = 3
    changed.loc[tied, "correct"] = 1
    changed.loc[tied, "learner_correct"] = 0
    pd.testing.assert_frame_equal(
        learner_kappa(changed, "reward"), learner_kappa(scored[~tied], "reward")
    )
    alike = changed.assign(
        right_reward=changed["right_reward"].mask(changed["participant"] == "p1", 3)
    )
    with pytest.raises(InputError, match="p1 has no trial with a right answer"):
        learner_kappa(alike, "reward")


def test_the_learner_that_is_always_right_has_kappa_0_by_construction():
    table = learner_kappa(scored_table(3).assign(learner_correct=1), "category")
    assert (table[["kappa", "kappa_min", "kappa_max", "kappa_other"]] == 0).all(
        axis=None
    )
    row = kappa_row(table, {"model": "truth"})
    assert row["model"] == "truth"
    assert (row["kappa"], row["kappa_se"], row["kappa_max"]) == (0, 0, 0)
    assert np.isnan([row["h"], row["h_of_means"]]).all()
    assert (row["n_fixed"], row["n_undefined"]) == (6, 0)


def test_two_without_errors_have_no_kappa_and_are_counted():
    scored = scored_table(4)
    perfect = scored["participant"] == "p2"
    scored.loc[perfect, ["correct", "learner_correct"]] = 1
    table = learner_kappa(scored, "category").set_index("participant")
    assert table.loc["p2", ["kappa", "kappa_min", "kappa_max", "h"]].isna().all()
    row = kappa_row(table.reset_index(), {})
    others = table.drop(index="p2")
    assert row["n_undefined"] == 1
    assert row["n_participants"] == 6
    assert row["kappa"] == pytest.approx(others["kappa"].mean())
    assert row["kappa_se"] == pytest.approx(others["kappa"].std() / np.sqrt(5))


def test_a_trial_twice_is_refused():
    scored = scored_table(5)
    with pytest.raises(InputError, match="p0 has trial 3 twice"):
        learner_kappa(pd.concat([scored, scored[3:4]]), "category")


def test_order_of_rows_does_not_matter():
    scored = scored_table(6)
    pd.testing.assert_frame_equal(
        learner_kappa(scored, "category"),
        learner_kappa(scored.sample(frac=1, random_state=0), "category"),
    )


def scores(**measures):
    names = {"protocol": "comparable", "task": "reward", "learner": "main"}
    return pd.DataFrame({**names, "model": list("abcd"), **measures})


def test_rankings_and_their_agreement_by_hand():
    # Kendall: 5 of 6 pairs agree, 1 does not. Spearman: 1 - 6 x 2 / (4 x 15).
    table = scores(mcfadden_r2=[0.4, 0.3, 0.2, 0.1], kappa=[0.9, 0.8, 0.1, 0.2])
    ranks, agreement = rankings(table, measures=["mcfadden_r2", "kappa"])
    row = agreement.iloc[0]
    assert row["kendall_tau_b"] == pytest.approx(4 / 6)
    assert row["spearman"] == pytest.approx(0.8)
    assert row["n_models"] == 4
    kappa = ranks[ranks["measure"] == "kappa"].set_index("model")["rank"]
    assert kappa.to_dict() == {"a": 1, "b": 2, "c": 4, "d": 3}


def test_the_same_measure_under_two_protocols():
    one = scores(gain_over_truth=[3.0, 2, 1, 0])
    two = scores(gain_over_truth=[0.0, 1, 2, 3]).assign(protocol="published")
    _, agreement = rankings(pd.concat([one, two]), measures=["gain_over_truth"])
    row = agreement.iloc[0]
    assert {row["protocol_i"], row["protocol_j"]} == {"comparable", "published"}
    assert row["kendall_tau_b"] == -1


def test_rankings_without_order_or_models_agree_with_nothing():
    table = scores(kappa=[1.0, 2, 3, 4], h=[0.5] * 4, gain=[np.nan, np.nan, 1, 2])
    _, agreement = rankings(table, measures=["kappa", "h", "gain"])
    assert agreement["n_models"].tolist() == [4, 2, 2]
    assert agreement[["kendall_tau_b", "spearman"]].isna().all(axis=None)


def test_learners_ranked_among_each_other():
    table = scores(kappa=[1.0, 2, 3, 4], h=[1.0, 2, 3, 4])
    table = pd.concat([table, table.assign(learner="pca", kappa=table["kappa"] + 4)])
    ranks, agreement = rankings(table, within=["task"], measures=["kappa", "h"])
    assert agreement["n_models"].tolist() == [8]
    best = ranks[(ranks["measure"] == "kappa") & (ranks["rank"] == 1)].iloc[0]
    assert (best["learner"], best["model"]) == ("pca", "d")


def test_a_shared_learning_curve_is_not_taken_for_shared_difficulty():
    table = measure_learner_kappa(80, 40, 60, seed=0).set_index("world")
    size = 0.05 + 3 * np.sqrt(0.05 * 0.95 / 80)
    assert table.loc["independent", ["above_zero", "above_other"]].max() <= size
    assert table.loc["learning curve", "above_zero"] > 0.95
    assert table.loc["learning curve", "above_other"] <= size
    assert table.loc["shared difficulty", "above_other"] > 0.95


def test_ranks_set_models_beside_somebody_always_right():
    rng = np.random.default_rng(0)
    people = [f"person-{i}" for i in range(40)]
    rows = [
        pd.DataFrame(
            {
                **{"protocol": "comparable", "task": "category", "learner": learner},
                **{"model": model, "participant": people, "n_trials": 10},
                "nll": 10 * (loss + 0.05 * rng.standard_normal(40)),
                "gain_over_truth": 0.0 if model == "truth" else 0.01,
            }
        )
        for model, learner, loss in [
            ("good", "main", 0.4),
            ("poor", "main", 0.6),
            ("truth", "baseline", 0.5),
        ]
    ]
    scores = pd.concat(rows, ignore_index=True)
    learned = scores[scores["learner"] == "main"]
    kappa = learned.assign(kappa=rng.random(80) + (learned["model"] == "good"), h=0.5)
    measures = ("log_score", "gain_over_truth", "kappa")
    joined = join_kappa(scores, kappa)
    ranks, pairs = rank_learners(joined, measures, n_resamples=500)
    order = ranks.groupby("measure")["model"].agg(list)
    assert order["log_score"] == ["good", "truth", "poor"]
    assert order["kappa"] == ["good", "poor"]
    assert (pairs.groupby("measure").size()["gain_over_truth"]) == 3
    means = ranks[ranks["measure"] == "log_score"].set_index("model")["mean"]
    expected = -scores.groupby("model")["nll"].mean() / 10
    assert means.to_dict() == pytest.approx(expected.to_dict())
