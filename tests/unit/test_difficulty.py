import numpy as np
import pandas as pd
import pytest
from scipy import special

from trialwise.agreement.difficulty import (
    CrossedLaplace,
    difficulty_correlation,
    fit,
    profile_interval,
    unpack,
)
from trialwise.choices.design import Design
from trialwise.choices.glmm import Laplace
from trialwise.errors import InputError
from trialwise.simulation.agreement_models import difficulty_coverage, difficulty_world

PSI = np.array([0.3, -0.2, 0.9, 0.5, 1.1, 0.6])


def small_world(seed=0, images=30, observers=(4, 5), correlation=0.5):
    return difficulty_world(images, observers, correlation, np.random.default_rng(seed))


def textbook_deviance(correct, group, psi):
    """The Laplace deviance with all of H written out."""
    beta, factor, tau = unpack(psi)
    m, n = correct.shape
    A = np.zeros((n, m, 2 * n + m))
    for g in range(n):
        for o in range(m):
            A[g, o, 2 * g : 2 * g + 2] = factor[group[o]]
            A[g, o, 2 * n + o] = tau
    A = A.reshape(n * m, -1)
    y, offset = correct.T.ravel().astype(float), np.tile(beta[group], n)
    u = np.zeros(A.shape[1])
    for _ in range(50):
        mu = special.expit(offset + A @ u)
        H = np.eye(len(u)) + A.T @ ((mu * (1 - mu))[:, None] * A)
        u -= np.linalg.solve(H, u + A.T @ (mu - y))
    eta = offset + A @ u
    log_likelihood = y @ eta - np.logaddexp(0, eta).sum()
    return -2 * log_likelihood + u @ u + np.linalg.slogdet(H)[1]


@pytest.mark.parametrize(
    "psi", [PSI, PSI * [1, 1, 1, -2, 1, 3], PSI * [1, 1, 1, 1, 0, 0]]
)
def test_deviance_is_the_textbooks(psi):
    correct, group = small_world()
    laplace = CrossedLaplace(correct, group)
    expected = textbook_deviance(correct, group, psi)
    assert laplace.deviance(laplace.modes(psi)) == pytest.approx(expected, abs=1e-8)


def test_without_observers_it_is_the_model_of_one_grouping_factor():
    correct, group = small_world(1)
    n = correct.shape[1]
    psi = PSI * [1, 1, 1, 1, 1, 0]
    beta, factor, _ = unpack(psi)
    columns = np.tile(np.eye(2)[group], (n, 1))
    images = np.repeat(np.arange(n), len(group))
    other = Laplace(Design(correct.T.ravel(), columns, columns, images))
    modes = other.modes(other.internal(beta, factor)[None, None])
    ours = CrossedLaplace(correct, group)
    assert ours.deviance(ours.modes(psi)) == pytest.approx(
        other.deviance(modes).sum(), abs=1e-8
    )


@pytest.mark.parametrize("seed", range(3))
def test_gradient_is_that_of_the_deviance(seed):
    rng = np.random.default_rng(seed)
    laplace = CrossedLaplace(*small_world(seed))
    psi = rng.normal(size=6)
    gradient = laplace.gradient(laplace.modes(psi))

    def value(psi):
        return laplace.deviance(laplace.modes(psi))

    for j, step in enumerate(1e-4 * np.eye(6)):
        coarse = (value(psi + 2 * step) - value(psi - 2 * step)) / 4e-4
        fine = (value(psi + step) - value(psi - step)) / 2e-4
        assert gradient[j] == pytest.approx((4 * fine - coarse) / 3, abs=1e-6)


def test_modes_are_found_from_anywhere():
    laplace = CrossedLaplace(*small_world(2))
    far = laplace.modes(PSI * 8)
    assert far.settled
    assert np.allclose(laplace.modes(PSI, far).image, laplace.modes(PSI).image)


def test_no_parameters_nearby_are_better():
    laplace = CrossedLaplace(*small_world(3, images=80))
    fitted = fit(laplace)
    assert fitted.converged
    for step in 0.02 * np.random.default_rng(0).normal(size=(20, 6)):
        modes = laplace.modes(fitted.psi + step)
        assert laplace.deviance(modes) > fitted.deviance


@pytest.mark.parametrize("correlation", [-0.5, 0.0, 0.8])
def test_recovers_a_known_correlation(correlation):
    laplace = CrossedLaplace(*small_world(4, 800, (12, 12), correlation))
    fitted = fit(laplace)
    low, high = profile_interval(laplace, fitted)
    assert fitted.converged
    assert fitted.correlation == pytest.approx(correlation, abs=0.09)
    assert fitted.sd == pytest.approx([2, 2], abs=0.2)
    assert fitted.beta == pytest.approx([1, -1], abs=0.4)
    assert low < correlation < high


def test_interval_ends_where_the_likelihood_ratio_says():
    laplace = CrossedLaplace(*small_world(5, 60, (6, 6)))
    fitted = fit(laplace)
    ends = profile_interval(laplace, fitted, level=0.9)
    from scipy import optimize, stats

    for end in ends:

        def constrained(rest, end=end):
            first, second, tau = np.exp(rest[2:])
            across = second * np.sqrt(1 - end**2)
            psi = np.array([*rest[:2], first, second * end, across, tau])
            return laplace.deviance(laplace.modes(psi))

        start = [*fitted.beta, *np.log(fitted.sd), np.log(fitted.sd_observer)]
        lowest = optimize.minimize(constrained, start, method="Powell").fun
        ratio = lowest - fitted.deviance
        assert ratio == pytest.approx(stats.chi2.ppf(0.9, 1), abs=5e-3)


def test_perfect_correlation_is_on_the_boundary_and_in_the_interval():
    laplace = CrossedLaplace(*small_world(6, 40, (4, 4), 1.0))
    fitted = fit(laplace)
    assert fitted.correlation > 0.8
    assert profile_interval(laplace, fitted)[1] == 1


def test_no_difficulty_has_no_correlation():
    rng = np.random.default_rng(7)
    correct = np.array([rng.permutation(np.arange(60) % 2) for _ in range(8)])
    correct[1::2] = 1 - correct[::2]
    laplace = CrossedLaplace(correct, np.repeat([0, 1], 4))
    fitted = fit(laplace)
    assert fitted.singular
    assert np.isnan(fitted.correlation)
    assert np.isnan(profile_interval(laplace, fitted)).all()


def trial_table(seed=8, observers=(4, 5)):
    correct, group = small_world(seed, 60, observers)
    names = [f"{'ab'[g]}-{i}" for i, g in enumerate(group)]
    wide = pd.DataFrame(correct.astype(int), index=names)
    table = wide.rename_axis("observer").reset_index()
    return table.melt("observer", var_name="image", value_name="correct")


def test_groups_can_be_swapped_and_rows_shuffled():
    trials = trial_table()
    one = difficulty_correlation(trials, ["a-*"], ["b-*"]).iloc[0]
    shuffled = trials.sample(frac=1, random_state=0)
    other = difficulty_correlation(shuffled, ["b-*"], ["a-*"]).iloc[0]
    for name in ("correlation", "ci_low", "ci_high"):
        assert one[name] == pytest.approx(other[name], abs=1e-3)
    assert one["log_likelihood"] == pytest.approx(other["log_likelihood"], abs=1e-6)
    assert one["sd_first"] == pytest.approx(other["sd_second"], abs=1e-3)
    assert (one["n_images"], one["n_observers_first"]) == (60, 4)


def test_impossible_groups_are_refused():
    trials = trial_table()
    with pytest.raises(InputError, match="a-0 is in both groups"):
        difficulty_correlation(trials, ["a-*"], ["*"])
    with pytest.raises(InputError, match="one observer in a-0"):
        difficulty_correlation(trials, ["a-0"], ["b-*"])
    with pytest.raises(InputError, match="a-0 has no trial for image 0"):
        difficulty_correlation(trials.iloc[1:], ["a-*"], ["b-*"])
    perfect = trials.assign(
        correct=trials["correct"] | trials["observer"].str[0].eq("a")
    )
    with pytest.raises(InputError, match=r"a-\* is right on every image"):
        difficulty_correlation(perfect, ["a-*"], ["b-*"])


def test_coverage_of_a_few_worlds():
    table = difficulty_coverage(25, 3, correlations=(0.5,), images=60, observers=(6, 6))
    row = table.iloc[0]
    assert row["coverage"] >= 0.8
    assert row["mean"] == pytest.approx(0.5, abs=0.15)


@pytest.mark.full
def test_coverage_in_simulated_worlds():
    table = difficulty_coverage(120, 5, correlations=(0.5, 0.9, 0.0))
    assert table["coverage"].between(0.9, 0.99).all()
    assert np.allclose(table["mean"], table["correlation"], atol=0.03)
    assert np.allclose(table[["sd_first", "sd_second"]], 2, atol=0.1)
