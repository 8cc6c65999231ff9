"""Mixed-effects logistic regression by Laplace-approximated maximum likelihood.

The model and the approximation are those of lme4's `glmer` with ``nAGQ = 1`` (Bates,
Mächler, Bolker & Walker 2015, Journal of Statistical Software 67(1); Pinheiro & Chao
2006, Journal of Computational and Graphical Statistics 15(1)), with one grouping
factor.
"""

from copy import copy
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import optimize, special

from trialwise.choices.design import Design, root_mean_square
from trialwise.errors import InputError

# As lme4's isSingular has it.
SINGULAR_TOLERANCE = 1e-4

# Newton steps below these are the last ones: the next would be about their square.
MODE_TOLERANCE = 1e-7
NEWTON_TOLERANCE = 1e-7

# Relative to the largest; difference quotients cannot tell less from 0.
FLAT_CURVATURE = 1e-7
UNIDENTIFIED = 1e-9

DIFFERENCE = 1e-4
ROUNDING = 1e-12
SADDLE_STEP = 0.1
MAX_STEPS = 100
MAX_HALVINGS = 60


class Modes(NamedTuple):
    """Modes of the random effects, and the sums over rows that derivatives need.

    Axes: G groups, R values of the parameters, N rows, m columns, k random effects.
    """

    u: np.ndarray  # (G, R, k), spherical random effects
    slope: np.ndarray  # (G, R, k), gradient of half the joint deviance by u
    coefficients: np.ndarray  # (G, R, m), of the columns: eta = F' coefficients
    eta: np.ndarray  # (G, R, N), of the signed rows
    residual: np.ndarray  # (G, R, N), mu - 1
    weight: np.ndarray  # (G, R, N), mu (1 - mu)
    score: np.ndarray  # (G, R, m), F (mu - 1)
    information: np.ndarray  # (G, R, m, m), F W F'
    precision: np.ndarray  # (G, R, k, k), H
    loading: np.ndarray  # (G or 1, R, m, k), Z Lambda = F' loading
    fixed: np.ndarray  # (G or 1, R or 1, m, p), X = F' fixed
    random: np.ndarray  # (G or 1, R or 1, m, k), Z = F' random
    settled: bool = True  # whether u are the modes to within rounding error


class Laplace:
    """Laplace-approximated deviance of every group, and its gradient.

    With u at its mode, the deviance of group i with rows j is::

        eta = X beta + Z Lambda u
        d_i = 2 sum_j log(1 + exp(-eta_j)) + u'u + log det H
        H   = I + Lambda' Z' W Z Lambda,   W = diag(mu (1 - mu)),   mu = 1/(1 + e^-eta)

    where the rows of X and Z whose choice is 0 have their signs reversed, which makes
    every choice a 1. The log-likelihood is minus half the sum over groups.

    Everything is batched: rows are padded with zeros to N per group, and parameters
    psi = (beta, theta), of length q, have axes (G or 1, R, q) for R values at a time.
    theta are the elements of the Cholesky factor Lambda, by rows (its diagonal alone if
    the random effects are independent). X and Z are both read off m columns F, and psi
    is of order 1: beta belongs to an orthonormalised X, Lambda to scaled columns of Z
    (`internal` and `external` translate).

    Parameters
    ----------
    design : Design
    shifted : str, optional
        A column of X or Z that `modes` can shift.

    Attributes
    ----------
    columns : ndarray, shape (G, m, N)
        The signed rows of F, its columns scaled to a root mean square of 1.
    group, slot : ndarray of int, shape (n,)
        Row r of the design is ``columns[group[r], :, slot[r]]``.
    """

    def __init__(self, design, shifted=None):
        F, in_X, in_Z = _distinct_columns(design)
        if shifted is not None:
            F, x, constant = _with_constant(design, shifted, F, in_X + in_Z)
        scale = root_mean_square(F)
        self._shift = None if shifted is None else (x, constant, scale[x])
        F = F / scale
        n, m = F.shape
        self.p, self.k = len(in_X), len(in_Z)
        self.theta = np.diag_indices(self.k)
        if design.correlated:
            self.theta = np.tril_indices(self.k)
        rotation = np.linalg.inv(np.linalg.qr(F[:, in_X] / np.sqrt(n), mode="r"))
        self._fixed = np.eye(m)[:, in_X] @ rotation
        self._random = np.eye(m)[:, in_Z]
        self._beta = rotation / scale[in_X][:, None]
        self._factor_scale = 1 / scale[in_Z]
        self._place(F * np.where(design.y == 1, 1, -1)[:, None], design.codes)

    def _place(self, F, codes):
        """Sort rows by group and pad; a row of zeros adds log 2 and nothing else."""
        counts = np.bincount(codes)
        order = np.argsort(codes, kind="stable")
        self.group, self.slot = codes, np.empty_like(codes)
        first = np.repeat(np.cumsum(counts) - counts, counts)
        self.slot[order] = np.arange(len(F)) - first
        self.columns = np.zeros((len(counts), F.shape[1], counts.max()))
        self.columns[self.group, :, self.slot] = F
        self.padding = self.columns.shape[2] - counts
        products = self.columns[:, :, None] * self.columns[:, None]
        self.products = products.reshape(len(counts), -1, counts.max())

    def take(self, groups):
        """The same for some of the groups, by a slice or by positions."""
        part = copy(self)
        for name in ("columns", "products", "padding"):
            setattr(part, name, getattr(self, name)[groups])
        return part

    def external(self, psi):
        """Fixed effects (p,) and Cholesky factor (k, k) of the design, of psi (q,)."""
        beta, factor = self.unpack(psi)
        return self._beta @ beta, self._factor_scale[:, None] * factor

    def internal(self, beta, factor):
        """Inverse of `external`."""
        factor = factor / self._factor_scale[:, None]
        return np.append(np.linalg.solve(self._beta, beta), factor[self.theta])

    def fixed_covariance(self, hessian):
        """Covariance of the fixed effects (p, p) from the Hessian of the deviance."""
        curvature, axes = np.linalg.eigh(hessian)
        used = curvature > FLAT_CURVATURE * curvature[-1]
        axes = self._beta @ axes[: self.p, used]
        return 2 * (axes / curvature[used]) @ axes.T

    def random_effects(self, psi, u):
        """Random effects of the design, shape (G, k), of spherical u (G, 1, k)."""
        return u[:, 0] @ self.external(psi)[1].T

    def random_products(self):
        """Z_i'Z_i of each group i, with scaled columns, shape (G, k, k)."""
        m = self.columns.shape[1]
        products = self.products.sum(axis=-1).reshape(-1, m, m)
        return self._random.T @ products @ self._random

    def zero_factor(self, psi):
        """Positions in psi (q,) of the columns of Lambda that are 0."""
        _, factor = self.unpack(psi)
        zero = np.abs(factor).max(axis=0) < SINGULAR_TOLERANCE
        return self.p + np.flatnonzero(zero[self.theta[1]])

    def unpack(self, psi):
        """beta (..., p) and Lambda (..., k, k) of psi (..., q)."""
        factor = np.zeros((*psi.shape[:-1], self.k, self.k))
        factor[..., *self.theta] = psi[..., self.p :]
        return psi[..., : self.p], factor

    def modes(self, psi, u=None, shift=None, left_out=None):
        """Modes of the random effects by Newton's method.

        Parameters
        ----------
        psi : ndarray, shape (G or 1, R, q)
        u : ndarray, shape (G, R, k), optional
            Where to start.
        shift : ndarray, shape (G or 1, R), optional
            What to subtract from the column `shifted`.
        left_out : ndarray of int, shape (G or 1, R), optional
            The row that each group is to do without.

        Returns
        -------
        Modes

        Notes
        -----
        The joint deviance is strictly convex in u, hence the norm of its gradient falls
        along the Newton direction. Steps are halved until it does: unlike the deviance
        itself, it has no rounding error near the mode, and nothing in it overflows.
        """
        maps, offset = self._maps(psi, shift)
        shape = np.broadcast_shapes(psi.shape[:2], (len(self.columns), 1))
        u = np.zeros((*shape, self.k)) if u is None else u
        at = partial(self._at, maps, offset, left_out)
        state = at(u)
        for _ in range(MAX_STEPS):
            step = -np.linalg.solve(state.precision, state.slope[..., None])[..., 0]
            if np.abs(step).max() < MODE_TOLERANCE:
                return at(state.u + step)
            state = _descend(at, state, step)
        return state._replace(settled=False)

    def _maps(self, psi, shift):
        """What turns parameters into coefficients of F, and those without u."""
        beta, factor = self.unpack(psi)
        fixed, random = self._fixed, self._random
        if shift is not None:
            fixed, random = self._move(fixed, shift), self._move(random, shift)
        offset = (fixed @ beta[..., None])[..., 0]
        return {"fixed": fixed, "random": random, "loading": random @ factor}, offset

    def _at(self, maps, offset, left_out, u):
        """State at random effects u."""
        loading = maps["loading"]
        across = loading.swapaxes(-1, -2)
        coefficients = offset + (loading @ u[..., None])[..., 0]
        eta = coefficients @ self.columns
        if left_out is not None:
            left_out = np.broadcast_to(left_out, eta.shape[:2])[..., None]
            np.put_along_axis(eta, left_out, np.inf, axis=-1)
        residual = -special.expit(-eta)
        weight = -residual * (1 + residual)
        score = residual @ self.columns.swapaxes(1, 2)
        information = weight @ self.products.swapaxes(1, 2)
        information = information.reshape(*score.shape, score.shape[-1])
        return Modes(
            u=u,
            slope=u + (across @ score[..., None])[..., 0],
            coefficients=coefficients,
            eta=eta,
            residual=residual,
            weight=weight,
            score=score,
            information=information,
            precision=np.eye(self.k) + across @ information @ loading,
            **maps,
        )

    def _move(self, coefficients, shift):
        """Coefficients of F for a column x that becomes x - shift."""
        moved = np.broadcast_to(coefficients, (*shift.shape, *coefficients.shape))
        moved = moved.copy()
        x, constant, scale = self._shift
        moved[..., constant, :] -= shift[..., None] / scale * coefficients[x]
        return moved

    def deviance(self, modes):
        """Laplace deviance of each group, shape (G, R)."""
        rows = np.logaddexp(0, -modes.eta).sum(axis=-1)
        rows -= np.log(2) * self.padding[:, None]
        _, log_determinant = np.linalg.slogdet(modes.precision)
        return 2 * rows + (modes.u**2).sum(axis=-1) + log_determinant

    def gradient(self, modes):
        """Gradient of `deviance` by psi, shape (G, R, q).

        Notes
        -----
        The mode moves with psi, by du = -H^-1 d(joint gradient); the joint deviance
        does not feel it, log det H does. With a_j the rows of A = Z Lambda, the weights
        w_j' derived by eta, q_j = w_j' a_j' H^-1 a_j and s = H^-1 A'q::

            t = 2 (mu - 1) + q - W A s
            d/dbeta   = X't
            d/dLambda = Z'[t u' + 2 W A H^-1 - (mu - 1) s']
        """
        loading, score = modes.loading, modes.score[..., None]
        across = loading.swapaxes(-1, -2)
        inverse = np.linalg.inv(modes.precision)
        spread = loading @ inverse @ across
        flat = spread.reshape(*spread.shape[:-2], -1)
        q = flat @ self.products
        q *= modes.weight * (-1 - 2 * modes.residual)
        leverage = (q @ self.columns.swapaxes(1, 2))[..., None]
        total = 2 * score + leverage - modes.information @ (spread @ leverage)
        s = inverse @ (across @ leverage)
        by_factor = total * modes.u[..., None, :]
        by_factor += 2 * modes.information @ loading @ inverse
        by_factor -= score * s.swapaxes(-1, -2)
        by_factor = modes.random.swapaxes(-1, -2) @ by_factor
        by_beta = (modes.fixed.swapaxes(-1, -2) @ total)[..., 0]
        return np.concatenate([by_beta, by_factor[..., *self.theta]], axis=-1)


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted mixed-effects logistic regression.

    Attributes
    ----------
    design : Design
    fixed : ndarray, shape (p,)
        Fixed effects.
    fixed_covariance : ndarray, shape (p, p)
        Their sampling covariance: the block of twice the inverse Hessian of the
        deviance in (beta, theta), so that it allows for the estimation of theta.
    factor : ndarray, shape (k, k)
        Lower Cholesky factor of the covariance of the random effects.
    modes : ndarray, shape (G, k)
        Conditional modes of the random effects of each of `design.levels`.
    log_likelihood : float
        The Laplace approximation of it.
    gradient_norm : float
        Largest element of the gradient of the deviance, in scaled parameters.
    converged : bool
        Whether the last Newton steps, of parameters and modes, were negligible. False
        also if the choices are separated by X, so that there is no finite maximum.
    singular : bool
        Whether the covariance is on its boundary: a variance of 0 or a perfect
        correlation. That is a result, not an error.
    """

    design: Design
    fixed: np.ndarray
    fixed_covariance: np.ndarray
    factor: np.ndarray
    modes: np.ndarray
    log_likelihood: float
    gradient_norm: float
    converged: bool
    singular: bool

    @property
    def covariance(self):
        """Covariance of the random effects, shape (k, k)."""
        return self.factor @ self.factor.T

    @cached_property
    def identified(self):
        """Which (co)variances are identified, shape (k, k); the others are arbitrary.

        The likelihood depends on the covariance Sigma through Z_i Sigma Z_i' of each
        group i. What this linear map sends to 0 is not identified, such as the
        covariance between effects of two conditions if every group was in one of them.
        """
        i, j = _elements(self.design)
        products = Laplace(self.design).random_products()
        k = products.shape[-1]
        basis = np.zeros((len(i), k, k))
        basis[range(len(i)), i, j] = basis[range(len(i)), j, i] = 1
        seen = products[:, None] @ basis
        gram = np.einsum("gaij,gbji->ab", seen, seen)
        length = np.sqrt(np.diagonal(gram))
        length[length == 0] = 1
        values, vectors = np.linalg.eigh(gram / np.outer(length, length))
        null = vectors[:, values < UNIDENTIFIED * values[-1]]
        identified = np.eye(k, dtype=bool) | self.design.correlated
        identified[i, j] = identified[j, i] = np.abs(null).max(axis=1, initial=0) < 1e-4
        return identified

    @property
    def standard_errors(self):
        """Standard errors of the fixed effects, shape (p,)."""
        return np.sqrt(np.diagonal(self.fixed_covariance))

    @property
    def z(self):
        """Wald statistics of the fixed effects, shape (p,)."""
        return self.fixed / self.standard_errors

    @property
    def p_values(self):
        """Two-sided p values of `z`, shape (p,)."""
        return 2 * special.ndtr(-np.abs(self.z))

    @property
    def n_parameters(self):
        """Fixed effects, and (co)variances of random effects, as `glmer` counts."""
        k = len(self.factor)
        return len(self.fixed) + (k * (k + 1) // 2 if self.design.correlated else k)

    @property
    def aic(self):
        """Akaike's information criterion."""
        return 2 * self.n_parameters - 2 * self.log_likelihood

    @property
    def bic(self):
        """Bayesian information criterion, with n rows as `glmer` has it."""
        n = len(self.design.y)
        return np.log(n) * self.n_parameters - 2 * self.log_likelihood

    @property
    def log_odds(self):
        """Log-odds of choice 1 given the modes of the random effects, shape (n,)."""
        own = self.modes[self.design.codes]
        return self.design.X @ self.fixed + (self.design.Z * own).sum(axis=1)

    @property
    def probability(self):
        """Probability of choice 1 (``predict(type = "response")``), shape (n,)."""
        return special.expit(self.log_odds)

    def summary(self):
        """Table of the fixed effects: estimate, standard error, z and p value."""
        columns = {
            "estimate": self.fixed,
            "standard_error": self.standard_errors,
            "z": self.z,
            "p_value": self.p_values,
        }
        return pd.DataFrame(
            columns, index=pd.Index(self.design.fixed_names, name="term")
        )

    def random_effects(self):
        """Table of the (co)variances of the random effects, one per row.

        Columns ``first, second, covariance, correlation, identified``; variances have
        ``first`` equal to ``second``.
        """
        names, covariance = self.design.random_names, self.covariance
        deviation = np.sqrt(np.diagonal(covariance))
        with np.errstate(invalid="ignore"):
            correlation = covariance / np.outer(deviation, deviation)
        i, j = _elements(self.design)
        return pd.DataFrame(
            {
                "first": [names[a] for a in j],
                "second": [names[a] for a in i],
                "covariance": covariance[i, j],
                "correlation": correlation[i, j],
                "identified": self.identified[i, j],
            }
        )


def fit(design, start=None):
    """Fit a mixed-effects logistic regression.

    Parameters
    ----------
    design : Design
    start : Fit, optional
        A fit of the same columns to almost the same rows, to start from.

    Returns
    -------
    Fit

    Notes
    -----
    BFGS from beta = 0 and Lambda = I, unless there is a `start`; then Newton's method
    with difference quotients of the analytic gradient for the Hessian, which also gives
    the standard errors. Lambda needs no bounds: reversing the sign of one of its
    columns changes nothing, so that the boundary is a stationary point like any other.
    Afterwards its diagonal is made positive. O(n m^2) per evaluation.
    """
    laplace = Laplace(design)
    total = _Total(laplace)
    if start is None:
        psi = np.append(np.zeros(laplace.p), np.eye(laplace.k)[laplace.theta])
        psi = optimize.minimize(total, psi, jac=True, method="BFGS").x
    else:
        psi = laplace.internal(start.fixed, start.factor)
    psi, value, gradient, hessian, converged = _newton(total, psi)
    beta, factor = laplace.external(psi)
    factor = factor * np.where(np.diagonal(factor) < 0, -1, 1)
    diagonal = np.diagonal(laplace.unpack(psi)[1])
    return Fit(
        design=design,
        fixed=beta,
        fixed_covariance=laplace.fixed_covariance(hessian),
        factor=factor,
        modes=laplace.random_effects(psi, total.u),
        log_likelihood=-value / 2,
        gradient_norm=np.abs(gradient).max(),
        converged=converged and total.settled,
        singular=bool((np.abs(diagonal) < SINGULAR_TOLERANCE).any()),
    )


class _Total:
    """Sum of the deviance over groups; remembers the modes to start from."""

    def __init__(self, laplace):
        self.laplace, self.u, self.settled = laplace, None, True

    def __call__(self, psi):
        """Deviance and its gradient (q,) at psi (q,)."""
        modes = self.laplace.modes(psi[None, None], self.u)
        self.u, self.settled = modes.u, modes.settled
        gradient = self.laplace.gradient(modes).sum(axis=(0, 1))
        return self.laplace.deviance(modes).sum(), gradient

    def hessian(self, psi):
        """Symmetric difference quotients of the gradient, shape (q, q)."""
        q = len(psi)
        steps = DIFFERENCE * np.concatenate([np.eye(q), -np.eye(q)])
        u = np.repeat(self.u, 2 * q, axis=1)
        modes = self.laplace.modes((psi + steps)[None], u)
        gradients = self.laplace.gradient(modes).sum(axis=0)
        hessian = (gradients[:q] - gradients[q:]) / (2 * DIFFERENCE)
        return (hessian + hessian.T) / 2


def _newton(total, psi):
    """Minimise from psi: where, value, gradient, Hessian and whether it converged."""
    p = total.laplace.p
    value, gradient = total(psi)
    converged = False
    for _ in range(MAX_STEPS):
        hessian = total.hessian(psi)
        curvature, axes = np.linalg.eigh(hessian)
        # A direction that nothing depends on holds no fixed effect. One that does is
        # flat only where the choices are separated, and the steps do not end there.
        flat = np.abs(curvature) < FLAT_CURVATURE * curvature[-1]
        flat &= np.abs(axes[:p]).max(axis=0) < 0.1
        size = axes.T @ gradient / np.where(flat, np.inf, np.abs(curvature))
        if np.abs(size).max() < NEWTON_TOLERANCE:
            converged = curvature[0] > -FLAT_CURVATURE * curvature[-1]
            # At a saddle, either side will do.
            size[0] += 0 if converged else SADDLE_STEP
        step = -axes @ size
        for _ in range(MAX_HALVINGS):
            new_value, new_gradient = total(psi + step)
            if new_value <= value + ROUNDING * abs(value):
                break
            step /= 2
        psi, value, gradient = psi + step, new_value, new_gradient
        if converged:
            break
    return psi, value, gradient, hessian, bool(converged)


def _elements(design):
    """Row and column of each (co)variance that is a parameter."""
    k = design.Z.shape[1]
    return np.tril_indices(k) if design.correlated else np.diag_indices(k)


def _descend(at, state, step):
    """Step, half as far where the gradient would not become smaller, and so on."""
    before = np.linalg.norm(state.slope, axis=-1, keepdims=True)
    length = np.ones_like(before)
    for _ in range(MAX_HALVINGS):
        new = at(state.u + length * step)
        longer = np.linalg.norm(new.slope, axis=-1, keepdims=True) > before
        longer &= np.abs(length * step).max(axis=-1, keepdims=True) > MODE_TOLERANCE
        if not longer.any():
            break
        length[longer] /= 2
    return new


def _distinct_columns(design):
    """The different columns of X and Z, and the positions of X and Z in them."""
    columns = list(design.X.T)
    positions = []
    for column in design.Z.T:
        same = (j for j, other in enumerate(columns) if np.array_equal(column, other))
        position = next(same, len(columns))
        if position == len(columns):
            columns.append(column)
        positions.append(position)
    return np.column_stack(columns), list(range(design.X.shape[1])), positions


def _with_constant(design, name, F, positions):
    """F with a column of ones, and the positions of column `name` and of the ones."""
    names = (*design.fixed_names, *design.random_names)
    moved = {at for at, other in zip(positions, names, strict=True) if other == name}
    if len(moved) != 1:
        raise InputError(f"There must be one column {name} in the design.")
    ones = np.flatnonzero((F == 1).all(axis=0))
    if not ones.size:
        ones = [F.shape[1]]
        F = np.column_stack([F, np.ones(len(F))])
    return F, moved.pop(), ones[0]
