import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import integrate, optimize, special, stats

from trialwise.choices.design import Design, design
from trialwise.choices.glmm import Laplace, fit
from trialwise.errors import InputError

rng_of = np.random.default_rng


def world(rng, n_groups=15, n_rows=20, beta=(0.3, 0.8), sd=(0.5, 0.6), correlated=True):
    """A random-intercept-and-slope world, groups in no particular order."""
    groups = rng.permutation(np.repeat(np.arange(n_groups), n_rows))
    X = np.column_stack([np.ones(len(groups)), rng.normal(size=len(groups))])
    own = np.array(beta) + np.array(sd) * rng.normal(size=(n_groups, 2))
    y = rng.random(len(groups)) < special.expit((X * own[groups]).sum(axis=1))
    names = ("1", "x")
    return Design(y, X, X, groups, correlated, names, names)


def parts(data, columns=slice(None), **changes):
    """A design of some columns, and with other values of its fields."""
    fields = {
        "y": data.y,
        "X": data.X[:, columns],
        "Z": data.Z[:, columns],
        "groups": data.groups,
        "correlated": data.correlated,
        "fixed_names": data.fixed_names[columns],
        "random_names": data.random_names[columns],
    }
    return Design(**(fields | changes))


def textbook_deviance(data, beta, factor):
    """The Laplace deviance as the formulas have it, one group at a time."""
    total = 0
    for level in data.levels:
        rows = data.groups == level
        y, offset = data.y[rows], data.X[rows] @ beta
        A = data.Z[rows] @ factor

        def joint(u, y=y, offset=offset, A=A):
            eta = offset + A @ u
            return np.logaddexp(0, eta).sum() - y @ eta + u @ u / 2

        u = optimize.minimize(joint, np.zeros(A.shape[1]), tol=1e-12).x
        mu = special.expit(offset + A @ u)
        H = A.T @ ((mu * (1 - mu))[:, None] * A) + np.eye(A.shape[1])
        total += 2 * joint(u) + np.linalg.slogdet(H)[1]
    return total


def deviance(data, beta, factor):
    laplace = Laplace(data)
    psi = laplace.internal(np.asarray(beta, float), np.asarray(factor, float))
    return laplace.deviance(laplace.modes(psi[None, None])).sum()


@pytest.mark.parametrize("correlated", [True, False])
def test_deviance_is_the_textbooks(correlated):
    data = world(rng_of(0), correlated=correlated)
    factor = np.array([[0.5, 0.0], [0.3 * correlated, 0.7]])
    expected = textbook_deviance(data, [0.2, 0.9], factor)
    assert deviance(data, [0.2, 0.9], factor) == pytest.approx(expected, abs=1e-6)


def test_random_effects_need_no_fixed_ones():
    data = world(rng_of(1))
    data = parts(data, X=data.X[:, :1], fixed_names=("1",))
    factor = np.array([[0.5, 0.0], [-0.2, 0.7]])
    expected = textbook_deviance(data, [0.4], factor)
    assert deviance(data, [0.4], factor) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(("n_rows", "tolerance"), [(20, 0.05), (200, 0.005)])
def test_laplace_is_near_the_integral(n_rows, tolerance):
    data = parts(world(rng_of(2), 10, n_rows), columns=slice(0, 1))
    beta, sd = 0.3, 0.6
    exact = 0
    for level in data.levels:
        y = data.y[data.groups == level]

        def likelihood(u, signs=2 * y - 1):
            eta = signs * (beta + sd * u)
            return np.exp(special.log_expit(eta).sum()) * stats.norm.pdf(u)

        exact -= 2 * np.log(integrate.quad(likelihood, -8, 8, epsabs=0)[0])
    laplace = deviance(data, [beta], [[sd]])
    assert laplace == pytest.approx(exact, abs=tolerance * len(data.levels))


@pytest.mark.parametrize("correlated", [True, False])
@pytest.mark.parametrize("left_out", [False, True])
@pytest.mark.parametrize("shifted", [False, True])
def test_gradient_is_that_of_the_deviance(correlated, left_out, shifted):
    data = world(rng_of(3), correlated=correlated)
    laplace = Laplace(data, shifted="x" if shifted else None)
    n_groups, _, n_rows = laplace.columns.shape
    rows = np.arange(n_rows)[None] if left_out else None
    psi = rng_of(4).normal(size=(n_groups, n_rows, 5 if correlated else 4))
    shift = rng_of(5).normal(size=psi.shape[:2]) if shifted else None

    def value(psi):
        return laplace.deviance(laplace.modes(psi, None, shift, rows))

    gradient = laplace.gradient(laplace.modes(psi, None, shift, rows))
    for j in range(psi.shape[-1]):
        h = 1e-4 * (np.arange(psi.shape[-1]) == j)
        coarse = (value(psi + 2 * h) - value(psi - 2 * h)) / 4e-4
        fine = (value(psi + h) - value(psi - h)) / 2e-4
        assert np.allclose(gradient[..., j], (4 * fine - coarse) / 3, atol=1e-7)


def test_shift_moves_the_column():
    data = world(rng_of(6))
    moved = data.X - np.array([0, 0.7])
    laplace = Laplace(data, shifted="x")
    psi = laplace.internal(np.array([0.3, 0.8]), np.array([[0.5, 0], [0.1, 0.6]]))
    modes = laplace.modes(psi[None, None], shift=np.array([[0.7]]))
    beta, factor = laplace.external(psi)
    expected = deviance(parts(data, X=moved, Z=moved), beta, factor)
    assert laplace.deviance(modes).sum() == pytest.approx(expected, abs=1e-9)


def test_leaving_out_a_row_is_not_having_it():
    data = world(rng_of(7))
    laplace = Laplace(data)
    beta, factor = np.array([0.3, 0.8]), np.array([[0.5, 0], [0.1, 0.6]])
    psi = laplace.internal(beta, factor)
    code, slot = laplace.group[11], laplace.slot[11]
    part = laplace.take([code])
    without = part.deviance(part.modes(psi[None, None], None, None, np.array([[slot]])))
    with_it = part.deviance(part.modes(psi[None, None]))
    keep = np.arange(len(data.y)) != 11
    fields = {name: getattr(data, name)[keep] for name in ("y", "X", "Z", "groups")}
    change = deviance(parts(data, **fields), beta, factor) - deviance(
        data, beta, factor
    )
    assert (without - with_it).item() == pytest.approx(change, abs=1e-9)


def test_no_variance_is_plain_logistic_regression():
    data = world(rng_of(8), sd=(0, 0))
    fitted = fit(data)
    plain = sm.Logit(data.y, data.X).fit(disp=0)
    assert fitted.singular
    assert fitted.converged
    assert np.allclose(fitted.covariance, 0, atol=1e-10)
    assert fitted.log_likelihood == pytest.approx(plain.llf, abs=1e-8)
    assert np.allclose(fitted.fixed, plain.params, atol=1e-7)
    assert np.allclose(fitted.standard_errors, plain.bse, rtol=1e-5)
    assert np.allclose(fitted.p_values, plain.pvalues, atol=1e-7)
    assert np.allclose(fitted.probability, plain.predict(), atol=1e-7)
    assert fitted.aic == pytest.approx(plain.aic + 2 * 3)
    assert fitted.bic == pytest.approx(plain.bic + 3 * np.log(len(data.y)))


def test_gradient_vanishes_at_the_fit_and_the_maximum_is_one():
    data = world(rng_of(9))
    fitted = fit(data)
    best = deviance(data, fitted.fixed, fitted.factor)
    assert fitted.converged
    assert fitted.gradient_norm < 1e-9
    assert fitted.log_likelihood == pytest.approx(-best / 2, abs=1e-9)
    for _ in range(20):
        rng = rng_of(_)
        beta = fitted.fixed + 0.05 * rng.normal(size=2)
        factor = fitted.factor + 0.05 * np.tril(rng.normal(size=(2, 2)))
        assert deviance(data, beta, factor) > best


def test_standard_errors_are_of_the_numerical_hessian():
    data = world(rng_of(10), n_groups=8, correlated=False)
    fitted = fit(data)
    at = np.append(fitted.fixed, np.diagonal(fitted.factor))

    def value(at):
        return deviance(data, at[:2], np.diag(at[2:]))

    steps = 1e-3 * np.eye(4)
    hessian = [
        [value(at + a + b) - value(at + a - b) - value(at - a + b) + value(at - a - b)]
        for a in steps
        for b in steps
    ]
    covariance = 2 * np.linalg.inv(np.reshape(hessian, (4, 4)) / 4e-6)
    expected = np.sqrt(np.diagonal(covariance))[:2]
    assert np.allclose(fitted.standard_errors, expected, rtol=1e-4)


def test_probabilities_come_from_the_modes():
    data = world(rng_of(11))
    fitted = fit(data)
    own = fitted.fixed + fitted.modes[np.searchsorted(data.levels, data.groups)]
    expected = special.expit((data.X * own).sum(axis=1))
    assert np.allclose(fitted.probability, expected, atol=1e-14)
    # At the mode, Sigma^-1 b = Z'(y - mu) for each group.
    for level, modes in zip(data.levels, fitted.modes, strict=True):
        rows = data.groups == level
        pull = data.Z[rows].T @ (data.y[rows] - fitted.probability[rows])
        assert np.allclose(fitted.covariance @ pull, modes, atol=1e-9)


def test_recovers_the_parameters():
    fitted = fit(world(rng_of(12), n_groups=300, n_rows=60))
    assert np.all(np.abs(fitted.fixed - [0.3, 0.8]) < 3 * fitted.standard_errors)
    assert np.allclose(fitted.standard_errors * np.sqrt(300), [0.58, 0.68], atol=0.06)
    assert np.allclose(np.diagonal(fitted.covariance), [0.25, 0.36], atol=0.08)
    assert abs(fitted.covariance[0, 1]) < 0.06


@pytest.mark.full
def test_wald_intervals_cover():
    inside = np.zeros(2)
    for seed in range(200):
        fitted = fit(world(rng_of(1000 + seed), n_groups=40, n_rows=40))
        inside += np.abs(fitted.fixed - [0.3, 0.8]) < 1.96 * fitted.standard_errors
    # 95 %, give or take three standard errors of a share of 200.
    assert np.all(np.abs(inside / 200 - 0.95) < 0.046)


def test_order_of_rows_and_names_of_groups_do_not_matter():
    data = world(rng_of(13))
    order = rng_of(14).permutation(len(data.y))
    renamed = np.array([f"p{97 * g % 41}" for g in data.groups])
    other = Design(
        data.y[order], data.X[order], data.Z[order], renamed[order], data.correlated
    )
    first, second = fit(data), fit(other)
    assert second.log_likelihood == pytest.approx(first.log_likelihood, abs=1e-9)
    assert np.allclose(second.fixed, first.fixed, atol=1e-9)
    assert np.allclose(second.covariance, first.covariance, atol=1e-8)
    assert np.allclose(second.probability, first.probability[order], atol=1e-9)


def test_mirror_images_mirror_the_fit():
    data = world(rng_of(15))
    first = fit(data)
    second = fit(parts(data, y=1 - data.y, X=-data.X, Z=-data.Z))
    assert np.allclose(second.fixed, first.fixed, atol=1e-9)
    assert np.allclose(second.covariance, first.covariance, atol=1e-8)
    assert np.allclose(second.probability, 1 - first.probability, atol=1e-9)


def test_constant_added_to_a_predictor_beside_intercepts_changes_nothing():
    data = world(rng_of(16))
    moved = data.X + np.array([0, 3])
    first, second = fit(data), fit(parts(data, X=moved, Z=moved))
    assert second.log_likelihood == pytest.approx(first.log_likelihood, abs=1e-8)
    assert second.fixed[1] == pytest.approx(first.fixed[1], abs=1e-7)
    assert second.standard_errors[1] == pytest.approx(first.standard_errors[1], 1e-6)
    assert second.covariance[1, 1] == pytest.approx(first.covariance[1, 1], abs=1e-6)
    assert np.allclose(second.probability, first.probability, atol=1e-8)


@pytest.mark.parametrize("unit", [1e-6, 7e3, 1e8])
@pytest.mark.parametrize("correlated", [True, False])
def test_units_of_a_predictor_do_not_matter(unit, correlated):
    data = world(rng_of(17), correlated=correlated)
    scaled = data.X * [1, unit]
    first, second = fit(data), fit(parts(data, X=scaled, Z=scaled))
    assert second.converged
    assert second.log_likelihood == pytest.approx(first.log_likelihood, abs=1e-9)
    assert second.fixed[1] * unit == pytest.approx(first.fixed[1], abs=1e-7)
    assert np.allclose(second.z, first.z, rtol=1e-5)
    assert second.covariance[1, 1] * unit**2 == pytest.approx(first.covariance[1, 1])


def test_start_does_not_matter():
    data = world(rng_of(18))
    first = fit(data)
    second = fit(data, start=fit(world(rng_of(19))))
    assert second.log_likelihood == pytest.approx(first.log_likelihood, abs=1e-10)
    assert np.allclose(second.fixed, first.fixed, atol=1e-8)


def test_start_at_no_variance_is_left():
    first = fit(world(rng_of(20), sd=(0, 0)))
    data = world(rng_of(20), sd=(1, 1))
    second = fit(data, start=first)
    assert second.log_likelihood == pytest.approx(fit(data).log_likelihood, abs=1e-8)
    assert not second.singular


@pytest.mark.parametrize("size", [60.0, 7000.0, 1e6])
def test_extreme_predictors_do_not_overflow(size):
    data = world(rng_of(21))
    x = data.X[:, 1].copy()
    x[rng_of(22).choice(len(x), 5, replace=False)] *= size
    X = np.column_stack([np.ones(len(x)), x])
    with np.errstate(all="raise", under="ignore"):
        fitted = fit(parts(data, X=X, Z=X))
    assert np.isfinite(fitted.log_likelihood)
    assert np.isfinite(fitted.fixed).all()
    assert np.all((fitted.probability >= 0) & (fitted.probability <= 1))
    assert fitted.log_likelihood == pytest.approx(
        -textbook_deviance(parts(data, X=X, Z=X), fitted.fixed, fitted.factor) / 2,
        abs=1e-3,
    )


@pytest.mark.parametrize("size", [10.0, 100.0])
def test_modes_are_found_where_newton_steps_overshoot(size):
    laplace = Laplace(world(rng_of(23)))
    psi = np.array([[[size, -size, size, size, size]]])
    modes = laplace.modes(psi)
    assert modes.settled
    assert np.abs(modes.slope).max() < 1e-9 * size
    assert np.isfinite(laplace.gradient(modes)).all()


def test_separated_participants_are_no_obstacle():
    data = world(rng_of(24))
    y = np.where(data.groups == 0, 1, np.where(data.groups == 1, 0, data.y))
    fitted = fit(parts(data, y=y))
    assert fitted.converged
    assert np.abs(fitted.modes).max() < 10


@pytest.mark.parametrize("choices", ["all 1", "separated"])
def test_no_finite_maximum_is_reported(choices):
    data = world(rng_of(25))
    y = np.ones(len(data.y)) if choices == "all 1" else data.X[:, 1] > 0
    fitted = fit(parts(data, y=y))
    assert not fitted.converged
    assert fitted.log_likelihood == pytest.approx(0, abs=1e-3)
    assert np.isfinite(fitted.fixed).all()


def test_perfect_correlation_is_singular():
    rng = rng_of(26)
    data = world(rng, n_groups=40)
    own = rng.normal(size=40)[data.groups]
    eta = data.X @ [0.2, 0.7] + own * (data.X @ [0.6, 0.9])
    fitted = fit(parts(data, y=rng.random(len(eta)) < special.expit(eta)))
    assert fitted.singular
    assert fitted.converged
    effects = fitted.random_effects().set_index(["first", "second"])
    assert effects.loc[("1", "x"), "correlation"] == pytest.approx(1)


def test_effects_of_conditions_between_groups_have_no_covariance():
    rng = rng_of(27)
    data = world(rng, n_groups=30)
    condition = (data.groups % 3)[:, None] == np.arange(3)
    Z = np.column_stack([condition, data.X[:, 1]]).astype(float)
    fitted = fit(parts(data, Z=Z, random_names=("a", "b", "c", "x")))
    expected = np.ones((4, 4), dtype=bool)
    expected[:3, :3] = np.eye(3)
    assert fitted.converged
    assert fitted.identified.tolist() == expected.tolist()
    table = fitted.random_effects().query("not identified")
    assert list(table["first"] + table["second"]) == ["ab", "ac", "bc"]

    # With a reference condition, even variances are identified in sums only.
    Z[:, 0] = 1
    other = fit(parts(data, Z=Z, random_names=("1", "b", "c", "x")))
    assert other.log_likelihood == pytest.approx(fitted.log_likelihood, abs=1e-6)
    assert other.identified[0, 0]
    assert not other.identified[1, 1]
    assert other.identified[3].all()


def test_summary_is_a_table_of_the_fixed_effects():
    fitted = fit(world(rng_of(28)))
    table = fitted.summary()
    assert list(table.index) == ["1", "x"]
    assert np.allclose(table["z"], table["estimate"] / table["standard_error"])
    assert np.allclose(table["p_value"], 2 * stats.norm.sf(np.abs(table["z"])))


@pytest.fixture
def table():
    rng = rng_of(29)
    n = 60
    return pd.DataFrame(
        {
            "participant": np.repeat(list("abcdef"), 10),
            "dimension": np.repeat([0, 1, 2, 0, 1, 2], 10),
            "trial": np.tile(np.arange(10.0), 6),
            "x": rng.normal(size=n),
            "s": rng.choice([-1, 1], size=n),
            "choice": rng.integers(0, 2, size=n),
        }
    )


@pytest.mark.parametrize(
    ("formula", "fixed", "random", "correlated"),
    [
        ("choice ~ -1 + x + (-1 + x | participant)", "x", "x", True),
        (
            "choice ~ 1 + x + (1 + x || participant)",
            "Intercept x",
            "Intercept x",
            False,
        ),
        ("choice ~ (1 | participant)", "Intercept", "Intercept", True),
        ("choice ~ (1 | participant) + x", "Intercept x", "Intercept", True),
        ("choice~s*trial+(0+s|participant)", "Intercept s trial s:trial", "s", True),
        (
            "choice ~ C(dimension) + (-1 + x + C(dimension) | participant)",
            "Intercept C(dimension)[T.1] C(dimension)[T.2]",
            "x C(dimension)[0] C(dimension)[1] C(dimension)[2]",
            True,
        ),
    ],
)
def test_formulas(table, formula, fixed, random, correlated):
    parsed = design(formula, table)
    assert parsed.fixed_names == tuple(fixed.split())
    assert parsed.random_names == tuple(random.split())
    assert parsed.correlated is correlated
    assert parsed.y.tolist() == table["choice"].tolist()
    assert parsed.levels.tolist() == list("abcdef")
    for name in ("x", "trial"):
        for names, matrix in (
            (parsed.fixed_names, parsed.X),
            (parsed.random_names, parsed.Z),
        ):
            if name in names:
                assert matrix[:, names.index(name)].tolist() == table[name].tolist()


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("choice ~ x", "exactly one random term"),
        ("choice ~ (1 | participant) + (x | participant)", "exactly one random term"),
        ("choice ~ (1 ||| participant)", "exactly one random term"),
        ("choice ~ x + 1 | participant", "parentheses"),
        ("chosen ~ x + (1 | participant)", "'chosen'"),
        ("choice ~ x + (1 | person)", "'person'"),
        ("choice ~ w + (1 | participant)", "'w'"),
        ("choice ~ x + (1 + w | participant)", "'w'"),
        ("choice ~ x + ) (1 | participant)", "no formula"),
        ("choice ~ x + (1 + C(dimension) || participant)", "independent"),
        ("choice ~ x + C(dimension) + C(participant) + (1|participant)", "combination"),
    ],
)
def test_formulas_that_are_refused(table, formula, message):
    with pytest.raises(InputError, match=message):
        design(formula, table)


@pytest.mark.parametrize("column", ["x", "dimension", "choice", "participant"])
def test_missing_values_are_refused(table, column):
    table[column] = table[column].astype(object)
    table.loc[3, column] = None
    with pytest.raises(InputError, match=r"missing|0 or 1|must hold"):
        design("choice ~ x + (x + C(dimension) | participant)", table)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"y": []}, "no choices"),
        ({"y": [0, 1, 1]}, "one row per choice"),
        ({"y": [0, 1, 2, 1]}, "0 or 1"),
        ({"y": [0, 1, np.nan, 1]}, "0 or 1"),
        ({"y": ["0", "1", "1", "x"]}, "y must hold numbers"),
        ({"X": np.ones(4)}, "two dimensions"),
        ({"X": np.ones((4, 0))}, "a column"),
        ({"X": [[1], [np.nan], [1], [1]]}, "a has missing"),
        ({"Z": [[1], [np.inf], [1], [1]]}, "b has missing or infinite"),
        ({"Z": np.zeros((4, 1))}, "b is 0"),
        ({"X": np.zeros((4, 1))}, "a is 0"),
        ({"X": np.eye(4)[:, [0, 1, 0]], "fixed_names": ("a", "b", "c")}, "Column c is"),
        ({"X": np.eye(4)[:, [0, 1]]}, "one name per column"),
        ({"groups": [1, 1, 1, 1]}, "two groups"),
        ({"groups": [1, 1, None, 2]}, "group of some rows is missing"),
    ],
)
def test_designs_that_are_refused(changes, message):
    fields = {
        "y": [0, 1, 0, 1],
        "X": np.ones((4, 1)),
        "Z": np.ones((4, 1)),
        "groups": [1, 1, 2, 2],
        "fixed_names": ("a",),
        "random_names": ("b",),
    }
    with pytest.raises(InputError, match=message):
        Design(**(fields | changes))
