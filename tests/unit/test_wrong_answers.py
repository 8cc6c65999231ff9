from itertools import permutations, product
from math import factorial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from trialwise.agreement.wrong_answers import (
    NO_ANSWER,
    agreement_counts,
    both_wrong,
    capa,
    chance_corrected,
    cohen_kappa,
    jackknife_weights,
    matching_counts,
    misclassification_agreement,
    permutation_logpmf,
    permutation_test,
    wrong_answer_agreement,
)
from trialwise.consistency.comparisons import Comparison
from trialwise.errors import InputError
from trialwise.simulation.agreement_models import (
    wrong_answer_coverage,
    wrong_answer_power,
    wrong_answer_world,
)

rng_of = np.random.default_rng


def counts_of(answers, labels=4):
    return np.bincount(answers, minlength=labels).tolist()


def answers_of(n):
    return st.lists(st.integers(0, 3), min_size=n, max_size=n)


two_lists = st.integers(1, 6).flatmap(lambda n: st.tuples(answers_of(n), answers_of(n)))


@given(two_lists)
@settings(max_examples=60, deadline=None)
def test_matching_counts_equal_enumeration(lists):
    first, second = map(np.array, lists)
    equal = [np.sum(first == second[list(p)]) for p in permutations(range(len(first)))]
    ours = matching_counts(counts_of(first), counts_of(second))
    assert list(ours) == np.bincount(equal, minlength=len(ours)).tolist()


@given(st.integers(2, 80), st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_matching_counts_have_the_known_total_mean_and_variance(n, seed):
    first, second = rng_of(seed).integers(0, 15, size=(2, n))
    a, b = counts_of(first, 15), counts_of(second, 15)
    counts = matching_counts(a, b)
    assert min(counts) >= 0
    assert sum(counts) == factorial(n)
    mean = sum(x * count for x, count in enumerate(counts))
    overlap = sum(p * q for p, q in zip(a, b, strict=True))
    assert mean * n == overlap * factorial(n)
    # E X (X - 1): ordered pairs of hits in different rows and columns.
    pairs = sum(p * (p - 1) * q * (q - 1) for p, q in zip(a, b, strict=True))
    pairs += overlap**2 - sum((p * q) ** 2 for p, q in zip(a, b, strict=True))
    square = sum(x * (x - 1) * count for x, count in enumerate(counts))
    assert square * n * (n - 1) == pairs * factorial(n)


def test_two_answers_are_the_hypergeometric_case():
    n, k_i, k_j = 70, 31, 45
    ours = matching_counts([k_i, n - k_i], [k_j, n - k_j])
    n11 = np.arange(n + 1)
    equal = n - k_i - k_j + 2 * n11
    expected = np.zeros(len(ours))
    possible = (equal >= 0) & (equal < len(ours))
    np.add.at(
        expected, equal[possible], stats.hypergeom.pmf(n11[possible], n, k_i, k_j)
    )
    assert np.allclose([x / factorial(n) for x in ours], expected, atol=1e-13)


def test_distribution_over_categories_equals_enumeration():
    first, second = [[0, 0, 1], [1, 2, 2, 3]], [[0, 1, 1], [2, 2, 1, 1]]
    equal = [
        sum(
            np.sum(np.array(one) == np.array(other)[list(order)])
            for one, other, order in zip(first, second, orders, strict=True)
        )
        for orders in product(permutations(range(3)), permutations(range(4)))
    ]
    tables = [
        np.array([counts_of(part) for part in lists]) for lists in (first, second)
    ]
    pmf = np.exp(permutation_logpmf(*tables))
    share = np.bincount(equal, minlength=len(pmf)) / len(equal)
    assert np.allclose(pmf, share, atol=1e-12)


def small_pair(seed, n=14):
    category = np.sort(rng_of(seed).integers(0, 3, size=n))
    return category, *rng_of(seed + 100).integers(0, 4, size=(2, n))


@pytest.mark.parametrize("seed", range(4))
def test_p_equals_that_of_enumeration(seed):
    category, first, second = small_pair(seed)
    wrong = both_wrong(category, first, second)
    blocks = [np.flatnonzero(wrong & (category == c)) for c in range(3)]
    blocks = [block for block in blocks if len(block) > 1]
    observed = sum(np.sum(first[block] == second[block]) for block in blocks)
    equal = [
        sum(
            np.sum(first[block] == second[list(order)])
            for block, order in zip(blocks, orders, strict=True)
        )
        for orders in product(*(list(permutations(block)) for block in blocks))
    ]
    share = np.bincount(equal, minlength=observed + 1) / len(equal)
    expected = share[share <= share[observed] * (1 + 1e-7)].sum()
    assert 10 ** permutation_test(category, first, second) == pytest.approx(expected)


def test_p_of_overwhelming_agreement_is_not_zero():
    # Ten different answers each, all equal, in 60 categories: one pairing in 10!^60.
    category = np.repeat(np.arange(100, 160), 10)
    answers = np.tile(np.arange(10), 60)
    expected = -60 * np.log10(float(factorial(10)))
    assert permutation_test(category, answers, answers) == pytest.approx(expected)


def test_counts_by_hand():
    category = np.array([0, 0, 0, 1, 1, 2, 0])
    first = np.array([1, 2, 1, 0, NO_ANSWER, 0, 0])
    second = np.array([1, 1, 2, 2, 0, 0, 1])
    # Category 0: three both wrong, one equal; 1: one left, 2: one only.
    observed, expected, n, distinct = agreement_counts(
        category, first, second, np.ones((1, 7))
    )
    assert (observed[0], n[0]) == (1, 3)
    assert expected[0] == pytest.approx((2 * 2 + 1 * 1) / 3)
    assert distinct[0] == pytest.approx((5 - 1) / 2)


@pytest.mark.parametrize("seed", range(3))
def test_expected_agreement_is_the_mean_under_permutation(seed):
    category, answers = wrong_answer_world(160, (0.3, 0.4), 0.3, rng_of(seed))
    first, second = answers
    one = np.ones((1, 160))
    _, expected, n, _ = agreement_counts(category, first, second, one)
    wrong = np.flatnonzero(both_wrong(category, first, second))
    table = np.zeros((2, 16, 16), dtype=int)
    np.add.at(table[0], (category[wrong], first[wrong]), 1)
    np.add.at(table[1], (category[wrong], second[wrong]), 1)
    used = table[0].sum(axis=1) > 1
    pmf = np.exp(permutation_logpmf(*table[:, used]))
    assert pmf @ np.arange(len(pmf)) == pytest.approx(expected[0], rel=1e-9)
    assert table[0][used].sum() == n[0]


def test_jackknife_weights_leave_images_out():
    category, answers = wrong_answer_world(160, (0.3, 0.4), 0.3, rng_of(0))
    cluster = np.arange(160) // 7
    weights = jackknife_weights(cluster)
    together = agreement_counts(category, *answers, weights)
    for k, label in enumerate(np.unique(cluster)):
        kept = cluster != label
        alone = agreement_counts(
            category[kept], *answers[:, kept], np.ones((1, kept.sum()))
        )
        assert np.allclose([x[1 + k] for x in together], [x[0] for x in alone])
    assert jackknife_weights(np.arange(5000)).shape == (201, 5000)


@given(st.integers(2, 40), st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_kappas_equal_those_of_scikit_learn(n, seed):
    rng = rng_of(seed)
    category, first, second = rng.integers(0, 4, size=(3, n))
    first[0] = second[1] = category[0] + 1
    assert cohen_kappa(first, second) == pytest.approx(
        cohen_kappa_score(first, second), nan_ok=True
    )
    wrong = (first != category) & (second != category)
    if wrong.any() and len({*first[wrong], *second[wrong]}) > 1:
        assert misclassification_agreement(category, first, second) == pytest.approx(
            cohen_kappa_score(first[wrong], second[wrong])
        )


def test_kappa_without_choice_is_undefined():
    assert np.isnan(cohen_kappa(np.array([]), np.array([])))
    assert np.isnan(cohen_kappa(np.array([3, 3]), np.array([3, 3])))
    assert np.isnan(chance_corrected(0.0, 0.0, 0.0))


def test_capa_equals_the_authors_package():
    # lm-sim 0.1.1, CAPA(prob=False).
    category = np.arange(12) % 4
    first = np.array([0, 1, 2, 0, 1, 1, 3, 3, 2, 2, 2, 1])
    second = np.array([0, 1, 1, 0, 1, 2, 3, 0, 0, 2, 2, 3])
    assert capa(category, first, second, 4) == pytest.approx(0.4, abs=1e-12)


@pytest.mark.parametrize("n_answers", [3, 16])
def test_capa_of_independent_observers_is_zero(n_answers):
    rng = rng_of(5)
    category = rng.integers(0, n_answers, 200_000)

    def answer(accuracy):
        other = (category + rng.integers(1, n_answers, category.size)) % n_answers
        return np.where(rng.random(category.size) < accuracy, category, other)

    assert capa(category, answer(0.6), answer(0.3), n_answers) == pytest.approx(
        0, abs=0.01
    )


def trial_table(images=640, accuracies=(0.4,) * 4, kappa_w=0.3, seed=1):
    category, answers = wrong_answer_world(images, accuracies, kappa_w, rng_of(seed))
    rows = [
        {
            "observer": f"{'ab'[i % 2]}-{i}",
            "image": f"shape{j // 4:03d}-{j:04d}",
            "category": f"c{category[j]:02d}",
            "response": f"c{answers[i, j]:02d}",
            "correct": int(answers[i, j] == category[j]),
        }
        for i, j in product(range(len(answers)), range(images))
    ]
    return pd.DataFrame(rows)


GROUPS = {"a": ["a-*"], "b": ["b-*"]}
COMPARISONS = [Comparison("a", "b"), Comparison("a", "a")]


def test_tables_add_up():
    trials = trial_table()
    pairs, pooled = wrong_answer_agreement(trials, GROUPS, COMPARISONS)
    assert pairs["comparison"].value_counts().to_dict() == {"a-b": 4, "a-a": 1}
    assert pooled["kappa_w"].dtype == pairs["kappa_w"].dtype == float
    for row in pooled.itertuples():
        held = pairs[pairs["comparison"] == row.comparison]
        assert row.n_pairs == len(held)
        assert row.n == held["n"].sum()
        observed, expected = held["observed"].sum(), held["expected"].sum()
        kappa_w = (observed - expected) / (held["n"].sum() - expected)
        assert row.kappa_w == pytest.approx(kappa_w)
        assert row.ci_low < row.kappa_w_corrected < row.ci_high
        assert row.capa == pytest.approx(held["capa"].mean())


def test_order_of_rows_does_not_matter():
    trials = trial_table()
    shuffled = trials.sample(frac=1, random_state=0)
    for one, other in zip(
        wrong_answer_agreement(trials, GROUPS, COMPARISONS),
        wrong_answer_agreement(shuffled, GROUPS, COMPARISONS),
        strict=True,
    ):
        pd.testing.assert_frame_equal(one, other, check_exact=True)


def test_clusters_of_identical_images_widen_the_interval():
    once = trial_table(320, (0.4, 0.4), 0.3, 2)
    again = once.assign(image=once["image"] + "x")
    trials = pd.concat([once, again])
    _, apart = wrong_answer_agreement(trials, GROUPS, COMPARISONS[:1])
    _, together = wrong_answer_agreement(
        trials, GROUPS, COMPARISONS[:1], cluster="-([0-9]+)"
    )
    width = [table["ci_high"] - table["ci_low"] for table in (apart, together)]
    assert (width[1] / width[0]).item() == pytest.approx(np.sqrt(2), abs=0.15)


def test_no_answer_is_left_out_and_counted():
    trials = trial_table()
    pairs, _ = wrong_answer_agreement(trials, GROUPS, COMPARISONS)
    wrong = trials.pivot(index="image", columns="observer", values="correct") == 0
    image = wrong.index[wrong["a-0"] & wrong["b-1"]][0]
    at = (trials["observer"] == "a-0") & (trials["image"] == image)
    silent = trials.assign(response=trials["response"].mask(at, "na"))
    others, _ = wrong_answer_agreement(silent, GROUPS, COMPARISONS)
    before, after = (table.iloc[0] for table in (pairs, others))
    assert (before["observer_i"], before["observer_j"]) == ("a-0", "b-1")
    assert (before["n_na"], after["n_na"]) == (0, 1)
    assert after["n_both_wrong"] == before["n_both_wrong"]
    assert after["n"] == before["n"] - 1
    assert after["n_answered"] == before["n_answered"] - 1 == 639


def test_few_images_have_no_kappa_of_their_own():
    pairs, pooled = wrong_answer_agreement(
        trial_table(80, (0.5,) * 4), GROUPS, COMPARISONS
    )
    assert (pairs["n"] < 50).all()
    assert pairs[["kappa_w", "kappa_w_corrected", "log10_p"]].isna().all(axis=None)
    assert pooled["kappa_w"].notna().all()


def test_bad_tables_are_refused():
    trials = trial_table(80)
    mixed = trials.assign(category=["c15", *trials["category"][1:]])
    with pytest.raises(InputError, match="shape000-0000 has more than one category"):
        wrong_answer_agreement(mixed, GROUPS, COMPARISONS)
    with pytest.raises(InputError, match="no pair of observers"):
        wrong_answer_agreement(trials, {"a": ["a-0"]}, [Comparison("a", "a")])


def test_exact_test_holds_its_level_and_finds_copies():
    table = wrong_answer_power(250, 3, kappas=(0.0, 0.3), images=(320,))
    size, power = table["rejected"]
    assert size <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 250)
    assert power > 0.9


def test_correction_is_right_where_categories_are_small():
    table = wrong_answer_coverage(60, 4, kappas=(0.5,), images=(160,))
    row = table.iloc[0]
    assert row["per_category"] < 4
    assert row["mean"] < 0.45
    assert row["mean_corrected"] == pytest.approx(0.5, abs=0.02)
    assert row["coverage"] > 0.85


@pytest.mark.full
def test_size_power_and_coverage_in_simulated_worlds():
    power = wrong_answer_power(1000, 30).set_index(["images", "kappa_w"])["rejected"]
    assert power[160, 0.0] <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 1000)
    assert power[1280, 0.0] <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 1000)
    assert power[1280, 0.1] > 0.95
    coverage = wrong_answer_coverage(150, 4)
    assert coverage["coverage"].between(0.9, 1).all()
    assert np.allclose(coverage["mean_corrected"], coverage["kappa_w"], atol=0.01)
