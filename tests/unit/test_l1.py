"""l1 logistic regression at its optimum: its conditions, and other solvers."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from trialwise.learners.l1 import l1_optimum

SHAPES = [(40, 6), (30, 200), (90, 384)]
PENALTIES = [0.01, 0.3, 3.0, 100.0, 10_000.0]


def problem(n, n_features, seed=0):
    rng = np.random.default_rng(seed)
    signal = rng.normal(size=(n, 5))
    rows = signal @ rng.normal(size=(5, n_features))
    rows += rng.normal(size=rows.shape)
    rows /= np.sqrt((rows**2).sum(axis=1).mean())
    return rows, (signal[:, 0] + 0.5 * rng.normal(size=n) > 0.3).astype(int)


def from_zero(rows, category, c):
    return l1_optimum(rows, category, c, np.zeros(rows.shape[1]), 0.0)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("c", PENALTIES)
def test_conditions_of_the_optimum_hold(shape, c):
    rows, category = problem(*shape)
    weights, intercept = from_zero(rows, category, c)
    residual = category - expit(rows @ weights + intercept)
    pull = c * rows.T @ residual
    used = weights != 0
    assert np.allclose(pull[used], np.sign(weights[used]), atol=1e-8)
    assert np.abs(pull).max() <= 1 + 1e-8
    assert c * residual.sum() == pytest.approx(0, abs=1e-8)


@pytest.mark.parametrize(
    ("shape", "c"), [((40, 6), 3.0), ((40, 6), 30.0), ((30, 60), 3.0)]
)
def test_predictions_equal_those_of_scikit_learn(shape, c):
    rows, category = problem(*shape)
    reference = LogisticRegression(
        C=c, l1_ratio=1.0, solver="saga", tol=1e-12, max_iter=1_000_000
    ).fit(rows, category)
    weights, intercept = from_zero(rows, category, c)
    new, _ = problem(20, shape[1], seed=1)
    expected = reference.predict_proba(new)[:, 1]
    assert expit(new @ weights + intercept) == pytest.approx(expected, abs=1e-6)


def test_nothing_is_learned_below_the_smallest_useful_c():
    rows, category = problem(30, 200)
    threshold = 1 / np.abs(rows.T @ (category - category.mean())).max()
    weights, intercept = from_zero(rows, category, 0.999 * threshold)
    assert not weights.any()
    assert expit(intercept) == pytest.approx(category.mean(), abs=1e-9)
    assert np.count_nonzero(from_zero(rows, category, 1.001 * threshold)[0]) == 1


@pytest.mark.parametrize("c", [3.0, 10_000.0])
def test_the_start_does_not_matter(c):
    rows, category = problem(30, 200)
    cold = from_zero(rows, category, c)
    other = from_zero(rows[:-5], category[:-5], 10 * c)
    warm = l1_optimum(rows, category, c, *other)
    assert warm[0] == pytest.approx(cold[0], abs=1e-7)
    assert warm[1] == pytest.approx(cold[1], abs=1e-7)


def test_intercept_is_free():
    rows, category = problem(40, 6)
    weights, intercept = from_zero(rows, category, 3.0)
    moved, lower = from_zero(rows + 2, category, 3.0)
    assert moved == pytest.approx(weights, abs=1e-7)
    assert lower == pytest.approx(intercept - 2 * weights.sum(), abs=1e-6)


def test_equal_rows_and_columns_are_no_obstacle():
    rows, category = problem(30, 50)
    twice = np.hstack([rows, rows])
    doubled = np.vstack([twice, twice[:5]]), np.append(category, category[:5])
    weights, intercept = from_zero(*doubled, 10.0)
    alone, level = from_zero(np.vstack([rows, rows[:5]]), doubled[1], 10.0)
    assert twice @ weights + intercept == pytest.approx(rows @ alone + level, abs=1e-6)
