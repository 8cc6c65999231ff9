from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import cohen_kappa_score

from trialwise.agreement.individuation import (
    copy_replicas,
    fixed_observer_null,
    individuation,
    individuation_power,
)
from trialwise.errors import InputError
from trialwise.simulation.agreement_worlds import (
    measure_fidelity,
    measure_individuation,
    replica_world,
    shared_difficulty_world,
)

PEOPLE = ["person-*"]
FAST = {"n_matrices": 300, "n_resamples": 200}


def table(answers):
    """Trials of a dict of answers by observer, each in an order of its own."""
    rows = []
    for number, (observer, correct) in enumerate(answers.items()):
        order = np.random.default_rng(number).permutation(len(correct))
        for image, right in enumerate(correct):
            rows.append([observer, "1", str(order[image]), f"i{image:04d}", int(right)])
    return pd.DataFrame(
        rows, columns=["observer", "session", "trial", "image", "correct"]
    )


def repeat(trials, observer, correct, session="2"):
    rows = trials[trials["observer"] == observer].assign(
        session=session, correct=np.asarray(correct, dtype=int)
    )
    return pd.concat([trials, rows], ignore_index=True)


@pytest.fixture(scope="module")
def world():
    """Six people, a replica that copies the first on .6 of the images, two machines."""
    rng = np.random.default_rng(0)
    people, replica = replica_world(6, 400, 0.6, rng)
    answers = {f"person-{i}": row for i, row in enumerate(people)}
    machines = shared_difficulty_world(2, 400, rng)
    return {**answers, "replica": replica, "net-1": machines[0], "net-2": machines[1]}


@pytest.fixture(scope="module")
def tested(world):
    return individuation(table(world), PEOPLE, ["replica"], panel=["net-*"], **FAST)


def test_null_is_that_of_all_matrices():
    people = np.array([[1, 1, 1, 0, 0], [1, 1, 0, 1, 0], [1, 0, 0, 0, 1]], dtype=bool)
    fixed = np.array([[1, 1, 0, 0, 1], [0, 1, 1, 1, 0]], dtype=bool)
    rows = [
        [r for r in product([0, 1], repeat=5) if sum(r) == k]
        for k in people.sum(axis=1)
    ]
    possible = np.array(list(product(*rows)))
    possible = possible[(possible.sum(axis=1) == people.sum(axis=0)).all(axis=1)]
    exact = possible @ fixed.T.astype(int)
    rng = np.random.default_rng(1)
    tests, probability = fixed_observer_null(people, fixed[None], 20_000, rng)
    n11 = people.astype(int) @ fixed.T
    assert np.array_equal(tests["n11"], n11)
    assert np.allclose(tests["expected"], exact.mean(axis=0), atol=0.02)
    assert np.allclose(tests["p_upper"], np.mean(exact >= n11, axis=0), atol=0.02)
    z = (n11 - exact.mean(axis=0)) / exact.std(axis=0)
    assert np.allclose(tests["z"], z, atol=0.05)
    assert np.allclose(probability, possible.mean(axis=0), atol=0.02)
    assert np.allclose(probability @ fixed.T, tests["expected"])
    assert np.allclose(probability.sum(axis=1), people.sum(axis=1))


def test_the_copied_target_is_found(world, tested):
    by_target = tested.set_index("target")
    copied = by_target.loc["person-0"]
    assert copied["p_upper"] == 1 / 301
    assert copied["rank"] == 1
    assert copied["excess_low"] > 0
    assert (by_target["p_upper"].drop("person-0") > 0.01).all()
    theirs = cohen_kappa_score(world["replica"], world["person-0"])
    assert copied["kappa"] == pytest.approx(theirs, abs=1e-12)


def test_null_kappa_is_the_kappa_of_the_expected_overlap(world, tested):
    # Cohen's kappa of the 2 x 2 table with the margins of the pair and expected n11.
    for row in tested.itertuples():
        p, q = world["replica"].mean(), world[row.target].mean()
        chance = p * q + (1 - p) * (1 - q)
        overlap = 1 - p - q + 2 * row.expected / row.n
        assert row.null_kappa == pytest.approx((overlap - chance) / (1 - chance))
        assert row.excess == pytest.approx(row.kappa - row.null_kappa, abs=1e-12)


def test_a_rank_test_of_six_people_cannot_reach_the_usual_level(tested):
    assert (tested["smallest_p"] == 1 / 6).all()
    assert sorted(tested["rank"]) == [1, 2, 3, 4, 5, 6]
    assert tested["p_rank"].min() == 1 / 6


def test_panel_is_the_mean_of_scikit_learns_kappa(world, tested):
    theirs = [cohen_kappa_score(world["replica"], world[f"net-{i}"]) for i in (1, 2)]
    assert np.allclose(tested["panel_kappa"], np.mean(theirs))
    alone = individuation(table(world), PEOPLE, ["net-1"], panel=["net-1"], **FAST)
    assert alone["panel_kappa"].isna().all()


def test_fidelity_is_the_copied_share(world):
    # A target who repeats every answer: F is the share of images that are copied.
    trials = repeat(table(world), "person-0", world["person-0"])
    trials = pd.concat([trials, table({"twin": world["person-0"]})], ignore_index=True)
    result = individuation(trials, PEOPLE, ["replica", "twin"], **FAST)
    of_target = result[result["target"] == "person-0"].set_index("replica")
    assert of_target["fidelity"]["twin"] == 1
    assert of_target["fidelity_low"]["twin"] == of_target["fidelity_high"]["twin"] == 1
    copied = of_target.loc["replica"]
    assert copied["fidelity_low"] < 0.6 < copied["fidelity_high"]
    assert copied["fidelity"] == pytest.approx(0.6, abs=0.12)
    others = result[result["target"] != "person-0"]
    assert others["fidelity"].isna().all()
    assert set(others["fidelity_note"]) == {"no repeat session"}


def test_first_answers_are_tested_and_not_the_repeated_ones(world, tested):
    trials = repeat(table(world), "person-0", ~world["person-0"])
    result = individuation(trials, PEOPLE, ["replica"], panel=["net-*"], **FAST)
    columns = ["n11", "z", "p_upper", "kappa", "null_kappa", "excess_low", "rank"]
    pd.testing.assert_frame_equal(result[columns], tested[columns])
    first = result.iloc[0]
    assert np.isnan(first["fidelity"])
    assert first["fidelity_note"].startswith("the target agrees with itself no better")


def test_an_incomplete_repeat_session_gives_no_fidelity(world):
    trials = repeat(table(world), "person-2", world["person-2"]).iloc[:-3]
    result = individuation(trials, PEOPLE, ["replica"], **FAST).set_index("target")
    assert result["fidelity_note"]["person-2"] == (
        "the repeat session lacks 3 of the images"
    )
    assert np.isnan(result["fidelity"]["person-2"])


def test_people_stand_in_for_replicas(world):
    result = individuation(table(world), PEOPLE, PEOPLE, **FAST)
    assert len(result) == 6 * 5
    assert (result["replica"] != result["target"]).all()
    assert (result["smallest_p"] == 0.2).all()
    both = result.set_index(["replica", "target"])["n11"]
    assert all(both[r, t] == both[t, r] for r, t in both.index)


def test_z_of_other_people_with_the_target_stands_beside(world):
    trials = table(world)
    tested = individuation(trials, PEOPLE, [*PEOPLE, "replica"], **FAST)
    z = tested.pivot(index="replica", columns="target", values="z")
    beside = tested.pivot(index="replica", columns="target", values="z_others")
    people = [name for name in z.index if name != "replica"]
    target, others = people[0], people[1:]
    assert beside.loc["replica", target] == pytest.approx(z.loc[others, target].mean())
    expected = z.loc[others[1:], target].mean()
    assert beside.loc[others[0], target] == pytest.approx(expected)
    alone = individuation(trials, PEOPLE, ["replica"], **FAST)
    assert alone["z_others"].isna().all()


def test_images_a_replica_was_made_from_are_refused(world):
    with pytest.raises(InputError, match="made from answers to image i0007"):
        individuation(
            table(world), PEOPLE, ["replica"], trained_on=["i0400", "i0009", "i0007"]
        )


def test_a_single_person_is_refused(world):
    with pytest.raises(InputError, match="no person but person-3"):
        individuation(table(world), ["person-3"], ["replica"])
    with pytest.raises(InputError, match="no person but person-3"):
        individuation(table(world), ["person-2", "person-3"], ["person-2"])


def test_a_shared_order_is_noticed(world, tested):
    assert (tested["n_same_order"] == 0).all()
    trials = table(world)
    order = trials.set_index("observer")["trial"]
    for other in ("person-4", "replica"):
        trials.loc[trials["observer"] == other, "trial"] = order["person-1"].to_numpy()
    result = individuation(trials, PEOPLE, ["replica"], **FAST)
    assert result["n_same_order"].tolist() == [0, 2, 0, 0, 2, 0]
    for unknown in (trials.assign(trial=""), trials.drop(columns=["trial", "session"])):
        result = individuation(unknown, PEOPLE, ["replica"], **FAST)
        assert result["n_same_order"].isna().all()


def test_images_of_one_cluster_are_drawn_together(world):
    fourfold = {o: np.repeat(a[:100], 4) for o, a in world.items()}
    trials = table(fourfold)
    trials["image"] = [f"c{int(name[1:]) // 4:02d}-{name}" for name in trials["image"]]
    apart = individuation(trials, PEOPLE, ["replica"], **FAST)
    joint = individuation(trials, PEOPLE, ["replica"], cluster="^(c[0-9]+)-", **FAST)
    width = [(t["excess_high"] - t["excess_low"]).mean() for t in (joint, apart)]
    assert width[0] == pytest.approx(2 * width[1], rel=0.15)


def test_replicas_copy_as_often_as_they_should():
    rng = np.random.default_rng(2)
    target, probability = rng.random(50) < 0.5, rng.random(50)
    for q in (0, 0.3, 1):
        replicas = copy_replicas(target, probability, q, 20_000, rng)
        expected = q * target + (1 - q) * probability
        assert np.allclose(replicas.mean(axis=0), expected, atol=0.02)


def test_power_grows_with_the_copy_probability():
    correct = shared_difficulty_world(8, 200, np.random.default_rng(3))
    trials = table({f"person-{i}": row for i, row in enumerate(correct)})
    replicas, power = individuation_power(
        trials,
        PEOPLE,
        copy_probabilities=(0, 0.2, 0.5, 1),
        n_replicas=40,
        n_matrices=300,
    )
    assert len(replicas) == 8 * 4 * 40
    assert power["power"].is_monotonic_increasing
    size = power["power"].iloc[0]
    assert size <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 8) * 0.5
    assert power["power"].iloc[-1] == power["lowest_power"].iloc[-1] == 1
    copies = replicas[replicas["copy_probability"] == 1]
    assert np.allclose(copies["kappa"], 1)
    assert np.allclose(copies["n11"], np.repeat(correct.sum(axis=1), 40))
    by_hand = replicas.groupby(["copy_probability", "target"])["p_upper"].agg(
        lambda p: np.mean(p <= 0.05)
    )
    assert power["highest_power"].tolist() == [
        by_hand[q].max() for q in (0, 0.2, 0.5, 1)
    ]


def test_same_seed_same_table(world):
    one, two = (
        individuation(trials, PEOPLE, ["replica", "person-1"], seed=4, **FAST)
        for trials in (table(world), table(world).sample(frac=1, random_state=0))
    )
    pd.testing.assert_frame_equal(one, two, check_exact=True)
    trials = table(world)
    settings = {"n_replicas": 3, "n_matrices": 50, "seed": 5}
    first, second = (individuation_power(trials, PEOPLE, **settings) for _ in range(2))
    for one, two in zip(first, second, strict=True):
        pd.testing.assert_frame_equal(one, two, check_exact=True)


def check_individuation(worlds):
    rates = measure_individuation(
        worlds, 10, 160, [0, 0.4], seed=6, n_matrices=99
    ).set_index(["copy_probability", "test"])["rejected"]
    margin = 3 * np.sqrt(0.05 * 0.95 / worlds)
    assert rates[0].max() <= 0.05 + margin
    assert rates[0.4, "another person"] <= 0.05 + margin
    assert rates[0.4, "target"] > 0.8


def test_size_and_power_in_few_worlds():
    check_individuation(60)


@pytest.mark.full
def test_size_and_power():
    check_individuation(500)


def check_fidelity(worlds):
    measured = measure_fidelity(worlds, 10, 400, seed=7, n_matrices=99)
    assert measured["coverage"] >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / worlds)
    assert measured["median"] == pytest.approx(1, abs=0.15)


def test_fidelity_of_one_more_session_in_few_worlds():
    check_fidelity(30)


@pytest.mark.full
def test_fidelity_of_one_more_session():
    check_fidelity(300)
