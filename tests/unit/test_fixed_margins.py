from itertools import product
from math import comb

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from trialwise.agreement.fixed_margins import (
    difficulty_tests,
    leave_one_out_z,
    overall_test,
    pair_tests,
    sample_matrices,
    sample_overlaps,
)
from trialwise.errors import InputError
from trialwise.simulation.agreement_worlds import (
    measure_difficulty_tests,
    shared_difficulty_world,
)

TINY = np.array([[1, 1, 1, 0, 0], [1, 1, 0, 1, 0], [1, 0, 0, 0, 1], [0, 1, 1, 0, 0]])
GROUPS = {"a": ["a*"], "b": ["b*"], "one": ["b0"], "all": ["*"], "a0": ["a0"]}


def sample(correct, n_matrices, seed=0, **settings):
    rng = np.random.default_rng(seed)
    return np.concatenate(list(sample_matrices(correct, n_matrices, rng, **settings)))


def every_matrix(correct):
    """All matrices with the margins of one, by trying every choice of each row."""
    n = correct.shape[1]
    rows = [
        [r for r in product([0, 1], repeat=n) if sum(r) == k]
        for k in correct.sum(axis=1)
    ]
    found = np.array(list(product(*rows)))
    return found[(found.sum(axis=1) == correct.sum(axis=0)).all(axis=1)]


def trials_of(correct, names=None):
    m, n = correct.shape
    return pd.DataFrame(
        {
            "observer": np.repeat(names or [f"a{i}" for i in range(m)], n),
            "image": np.tile([f"image{i:04d}" for i in range(n)], m),
            "correct": correct.astype(int).ravel(),
        }
    )


def test_every_matrix_of_the_margins_is_as_likely():
    possible = every_matrix(TINY)
    sampled = sample(TINY, 20_000, sweeps=8)
    codes = 2 ** np.arange(TINY.size)
    which = np.searchsorted(
        np.sort(possible.reshape(-1, TINY.size) @ codes),
        sampled.reshape(-1, TINY.size) @ codes,
    )
    counts = np.bincount(which, minlength=len(possible))
    assert len(counts) == len(possible) > 50
    assert stats.chisquare(counts).pvalue > 0.001


def test_expected_overlap_and_p_are_those_of_all_matrices():
    possible = every_matrix(TINY)
    i, j = np.triu_indices(4, k=1)
    exact = (possible @ possible.transpose(0, 2, 1))[:, i, j]
    n11 = (TINY @ TINY.T)[i, j]
    rng = np.random.default_rng(1)
    sampled = sample_overlaps(TINY, i, j, 20_000, rng)
    expected, z, p_upper, p_two_sided = pair_tests(n11, sampled)
    upper, lower = np.mean(exact >= n11, axis=0), np.mean(exact <= n11, axis=0)
    assert np.allclose(expected, exact.mean(axis=0), atol=0.02)
    assert np.allclose(z, (n11 - exact.mean(axis=0)) / exact.std(axis=0), atol=0.05)
    assert np.allclose(p_upper, upper, atol=0.02)
    assert np.allclose(
        p_two_sided, np.minimum(1, 2 * np.minimum(upper, lower)), atol=0.04
    )


@settings(max_examples=40)
@given(st.integers(1, 7), st.integers(1, 12), st.integers(1, 3), st.integers(0, 999))
def test_margins_stay_in_every_part(m, n, parts, seed):
    rng = np.random.default_rng(seed)
    correct, labels = rng.random((m, n)) < 0.6, rng.integers(parts, size=m)
    sampled = sample(correct, 5, seed, labels=labels)
    assert (sampled.sum(axis=2) == correct.sum(axis=1)).all()
    for label in set(labels):
        part = labels == label
        assert (sampled[:, part].sum(axis=1) == correct[part].sum(axis=0)).all()
        if part.sum() == 1:
            assert (sampled[:, part] == correct[part]).all()


def test_margins_fix_the_overlap_summed_over_pairs():
    # No group agrees more than its own difficulty has it, whatever its answers.
    rng = np.random.default_rng(2)
    correct = shared_difficulty_world(8, 60, rng)
    i, j = np.triu_indices(8, k=1)
    within = sample_overlaps(correct, i, j, 300, rng)
    right = correct.sum(axis=0)
    assert set(within.sum(axis=1)) == {sum(comb(int(k), 2) for k in right)}
    first, second = np.repeat([0, 1, 2], 5), np.tile([3, 4, 5, 6, 7], 3)
    labels = np.arange(8) < 3
    between = sample_overlaps(correct, first, second, 300, rng, labels)
    total = correct[:3].sum(axis=0) @ correct[3:].sum(axis=0)
    assert set(between.sum(axis=1)) == {total}


def test_p_is_exact_though_the_chain_hardly_mixes():
    # Nineteen successive matrices, one sweep apart; the null hypothesis holds.
    possible = every_matrix(TINY)
    rng = np.random.default_rng(3)
    i, j = np.triu_indices(4, k=1)
    pair, overall = [], []
    for observed in possible[rng.integers(len(possible), size=1500)]:
        blocks = sample_matrices(observed, 19, rng, sweeps=1)
        sampled = np.concatenate([b.astype(int) @ b.transpose(0, 2, 1) for b in blocks])
        n11 = (observed @ observed.T)[i, j]
        pair.append(pair_tests(n11, sampled[:, i, j])[2][0])
        overall.append(overall_test(n11, sampled[:, i, j])[1])
    for p in (np.array(pair), np.array(overall)):
        for alpha in (0.1, 0.3, 0.5):
            error = np.sqrt(alpha * (1 - alpha) / p.size)
            assert np.mean(p <= alpha) <= alpha + 3 * error


def test_leave_one_out_z_leaves_one_out():
    values = np.random.default_rng(4).integers(0, 9, size=(12, 3)).astype(float)
    z = leave_one_out_z(values)
    for row in range(12):
        others = np.delete(values, row, axis=0)
        theirs = (values[row] - others.mean(axis=0)) / others.std(axis=0, ddof=1)
        assert np.allclose(z[row], theirs)
    constant = np.full((12, 2), 7.0)
    constant[4, 1] = 8
    assert np.isnan(leave_one_out_z(constant)).all()


def test_overlap_without_freedom_has_no_z():
    # Two rows keep what they share; an observer who is always right shares everything.
    two = np.array([[1, 1, 0, 0], [1, 0, 1, 0]])
    sampled = sample_overlaps(two, [0], [1], 50, np.random.default_rng(0))
    expected, z, p_upper, p_two_sided = pair_tests([1], sampled)
    assert (expected[0], p_upper[0], p_two_sided[0]) == (1, 1, 1)
    assert np.isnan([z[0], *overall_test([1], sampled)]).all()


def test_copies_of_one_observer_stand_out():
    rng = np.random.default_rng(5)
    correct = shared_difficulty_world(6, 200, rng)
    correct[5] = correct[4]
    pairs, overall = difficulty_tests(
        trials_of(correct), GROUPS, [("a", "a")], n_matrices=999
    )
    most = pairs.loc[pairs["z"].idxmax()]
    assert (most.observer_i, most.observer_j) == ("a4", "a5")
    assert most.p_upper == 0.001
    assert most.p_two_sided == 0.002
    assert overall["p"].item() == 0.001
    assert overall["n_pairs"].item() == len(pairs) == 15


def test_groups_apart_are_resampled_apart():
    # Perfect within each group and unlike between them: as one matrix that is striking,
    # and by itself each group explains all of it.
    rng = np.random.default_rng(6)
    one, other = rng.random((2, 120)) < 0.6
    correct = np.array([one, one, one, other, other, other])
    trials = trials_of(correct, ["a0", "a1", "a2", "b0", "b1", "b2"])
    pairs, overall = difficulty_tests(
        trials, GROUPS, [("a", "b"), ("all", "all")], n_matrices=499
    )
    apart = pairs[pairs["comparison"] == "a-b"]
    assert len(apart) == 9
    assert (apart["n11"] == apart["expected"]).all()
    assert overall.set_index("comparison")["n_pairs"]["a-b"] == 0
    assert overall.set_index("comparison")["p"]["all-all"] == 0.002


def test_a_group_of_one_is_held_fixed():
    correct = shared_difficulty_world(6, 80, np.random.default_rng(7))
    trials = trials_of(correct, [*(f"a{i}" for i in range(5)), "b0"])
    pairs, _ = difficulty_tests(trials, GROUPS, [("one", "a")], n_matrices=400)
    n11 = sample(correct[:5], 4000, seed=1) @ correct[5].astype(int)
    assert np.allclose(pairs["expected"], n11.mean(axis=0), atol=0.4)


def test_a_comparison_is_the_same_alone_and_among_others():
    correct = shared_difficulty_world(5, 40, np.random.default_rng(8))
    trials = trials_of(correct, ["a0", "a1", "a2", "b0", "b1"])
    comparisons = [("a", "b"), ("a", "a")]
    settings = {"n_matrices": 250, "seed": 3}
    both = difficulty_tests(trials, GROUPS, comparisons, **settings)
    alone = difficulty_tests(trials, GROUPS, comparisons[1:], **settings)
    shuffled = trials.sample(frac=1, random_state=1)
    again = difficulty_tests(shuffled, GROUPS, comparisons, **settings)
    for one, two, three in zip(both, alone, again, strict=True):
        of_a = one[one["comparison"] == "a-a"].reset_index(drop=True)
        pd.testing.assert_frame_equal(of_a, two, check_exact=True)
        pd.testing.assert_frame_equal(one, three, check_exact=True)


def test_a_comparison_without_a_pair_is_refused():
    trials = trials_of(TINY)
    with pytest.raises(InputError, match="no pair of observers between a0 and a0"):
        difficulty_tests(trials, GROUPS, [("a0", "a0")])


@pytest.fixture(scope="module")
def rejected():
    def measure(worlds):
        table = measure_difficulty_tests(worlds, 10, 160, seed=9, n_matrices=99)
        return table.set_index(["world", "test"])["rejected"]

    return measure


def check_size_and_power(rejected, worlds):
    margin = 3 * np.sqrt(0.05 * 0.95 / worlds)
    for world in ("Rasch", "two strategies, each by itself"):
        assert rejected[world].max() <= 0.05 + margin
        assert rejected[world, "overall"] >= 0.05 - margin
    assert rejected["two strategies", "overall"] > 0.7
    assert rejected["two strategies", "pairs within"] > 0.15
    assert rejected["two strategies", "pairs between"] < 0.03
    assert rejected["unequal discrimination", "overall"] > 0.5


def test_size_and_power_in_few_worlds(rejected):
    check_size_and_power(rejected(60), 60)


@pytest.mark.full
def test_size_and_power(rejected):
    check_size_and_power(rejected(300), 300)
