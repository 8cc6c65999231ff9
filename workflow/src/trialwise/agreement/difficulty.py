"""Latent correlation of difficulty: do two groups find the same images hard?

The mixed-effects logistic regression, in the notation of R's lme4,
``correct ~ -1 + group + (-1 + group | image) + (1 | observer)``. Every image has one
difficulty for each group, and the correlation of the two is what is asked for; unlike
a correlation of accuracies per image it is not lowered by how few observers there are.

The approximation is that of `glmer` with ``nAGQ = 1`` (Bates, Maechler, Bolker & Walker
2015, Journal of Statistical Software 67(1)), as in `trialwise.choices.glmm`, for two
crossed grouping factors.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import optimize, special

from trialwise.errors import InputError
from trialwise.trials import correctness, members

# As lme4's isSingular has it.
SINGULAR_TOLERANCE = 1e-4

# A Newton step below this is the last one: the next would be about its square.
MODE_TOLERANCE = 1e-7

# Of the deviance by parameters of order 1, beside a deviance in the thousands.
GRADIENT_TOLERANCE = 1e-4
PROFILE_TOLERANCE = 1e-3

DIFFERENCE = 1e-4
CORRELATION_TOLERANCE = 1e-4
SMALLEST_START = 1e-2
MAX_STEPS = 100
MAX_HALVINGS = 60


class Modes(NamedTuple):
    """Modes of the random effects, and what derivatives need: n images, m observers."""

    image: np.ndarray  # (n, 2), spherical effects v of the images
    observer: np.ndarray  # (m,), spherical effects w of the observers
    slope_image: np.ndarray  # (n, 2), gradient of half the joint deviance by v
    slope_observer: np.ndarray  # (m,), and by w
    eta: np.ndarray  # (n, m), log-odds of a correct answer
    residual: np.ndarray  # (n, m), mu - y
    weight: np.ndarray  # (n, m), mu (1 - mu)
    block: np.ndarray  # (n, 2, 2), D of each image
    inverse: np.ndarray  # (n, 2, 2), its inverse
    solved: np.ndarray  # (n, 2, m), D^-1 B
    schur: np.ndarray  # (m, m), S
    psi: np.ndarray  # (6,), the parameters
    settled: bool = True  # whether v and w are the modes to within rounding error

    def solve(self, image, observer):
        """Solve H (v, w) = (image, observer) by the Schur complement."""
        reduced = observer - np.tensordot(self.solved, image, ([0, 1], [0, 1]))
        w = np.linalg.solve(self.schur, reduced)
        v = (self.inverse @ image[..., None])[..., 0] - self.solved @ w
        return v, w


class CrossedLaplace:
    """Laplace-approximated deviance of the model, and its gradient.

    For image g and observer o of group a::

        eta_go = beta_a + (Lambda v_g)_a + tau w_o
        d = 2 sum_go [log(1 + exp(eta_go)) - y_go eta_go] + v'v + w'w + log det H

    with the spherical effects u = (v, w) at their mode. Lambda, of shape (2, 2), is the
    lower Cholesky factor of the covariance of an image's two difficulties, tau the
    standard deviation of the observers. H = I + A'WA, with A = d eta / du and
    W = diag(mu (1 - mu)), has one block D of shape (2, 2) per image, bordered by B of
    shape (2, m), and C for the observers::

        log det H = sum_g log det D_g + log det S,   S = C - sum_g B_g' D_g^-1 B_g

    The parameters psi are (beta_1, beta_2, Lambda_11, Lambda_21, Lambda_22, tau). One
    evaluation is O(n m^2) for n images and m observers.

    Parameters
    ----------
    correct : array_like of bool, shape (m, n)
        Right or wrong of m observers on n images.
    group : array_like of int, shape (m,)
        The group of each observer, 0 or 1.
    """

    def __init__(self, correct, group):
        self.y = np.asarray(correct, dtype=float).T
        self.group = np.asarray(group)
        self.member = np.eye(2)[self.group]

    def modes(self, psi, start=None):
        """Modes of the random effects by Newton's method.

        The joint deviance is strictly convex in u, hence the norm of its gradient falls
        along the Newton direction; steps are halved until it does.

        Parameters
        ----------
        psi : ndarray, shape (6,)
        start : Modes, optional
            Where to start, such as the modes at a psi nearby.

        Returns
        -------
        Modes
        """
        n, m = self.y.shape
        v, w = (
            (np.zeros((n, 2)), np.zeros(m)) if start is None else (start[0], start[1])
        )
        state = self._at(psi, v, w)
        for _ in range(MAX_STEPS):
            dv, dw = state.solve(state.slope_image, state.slope_observer)
            largest = max(np.abs(dv).max(), np.abs(dw).max())
            if largest < MODE_TOLERANCE:
                return self._at(psi, state.image - dv, state.observer - dw)
            before = _norm(state)
            for _ in range(MAX_HALVINGS):
                new = self._at(psi, state.image - dv, state.observer - dw)
                if _norm(new) <= before:
                    break
                dv, dw = dv / 2, dw / 2
            state = new
        return state._replace(settled=False)

    def _at(self, psi, v, w):
        """State at random effects v and w."""
        beta, factor, tau = unpack(psi)
        eta = (beta + v @ factor.T)[:, self.group] + tau * w
        mu = special.expit(eta)
        residual, weight = mu - self.y, mu * (1 - mu)
        block = np.eye(2) + factor.T @ ((weight @ self.member)[..., None] * factor)
        inverse = np.linalg.inv(block)
        border = tau * factor[self.group].T * weight[:, None]
        solved = inverse @ border
        schur = np.diag(1 + tau**2 * weight.sum(axis=0))
        schur -= np.tensordot(border, solved, ([0, 1], [0, 1]))
        return Modes(
            image=v,
            observer=w,
            slope_image=v + residual @ self.member @ factor,
            slope_observer=w + tau * residual.sum(axis=0),
            eta=eta,
            residual=residual,
            weight=weight,
            block=block,
            inverse=inverse,
            solved=solved,
            schur=schur,
            psi=psi,
        )

    def deviance(self, modes):
        """Laplace deviance, minus twice the log-likelihood."""
        rows = np.logaddexp(0, modes.eta) - self.y * modes.eta
        penalty = (modes.image**2).sum() + (modes.observer**2).sum()
        log_det = np.linalg.slogdet(modes.block)[1].sum()
        return 2 * rows.sum() + penalty + log_det + np.linalg.slogdet(modes.schur)[1]

    def gradient(self, modes):
        """Gradient of `deviance` by psi, shape (6,).

        Notes
        -----
        As in `trialwise.choices.glmm.Laplace.gradient`: with a_j the rows of A, the
        weights w_j' derived by eta, q_j = w_j' a_j' H^-1 a_j and s = H^-1 A'q::

            t = 2 (mu - y) + q - W A s
            d/dbeta   = X't
            d/dLambda = Z'[t u' + 2 W A H^-1 - (mu - y) s']

        and likewise for tau. The rows of A H^-1 come from the inverse of the bordered
        matrix; ``own`` is their element that belongs to the observer of the row.
        """
        _, factor, tau = unpack(modes.psi)
        v, w, residual, weight = (
            modes.image,
            modes.observer,
            modes.residual,
            modes.weight,
        )
        member, rows = self.member, np.arange(len(self.group))
        inverse_schur = np.linalg.inv(modes.schur)
        spread = modes.solved @ inverse_schur
        by_group = modes.inverse @ factor.T
        by_group += spread @ (factor @ modes.solved).swapaxes(1, 2)
        across = (factor @ spread)[:, self.group, rows]
        own = tau * np.diagonal(inverse_schur) - across
        leverage = np.einsum("ak,gka->ga", factor, by_group)[:, self.group]
        leverage += tau * (own - across)
        q = weight * (1 - 2 * special.expit(modes.eta)) * leverage
        s_v, s_w = modes.solve(q @ member @ factor, tau * q.sum(axis=0))
        t = 2 * residual + q
        t -= weight * ((s_v @ factor.T)[:, self.group] + tau * s_w)
        by_beta = (t @ member).sum(axis=0)
        by_tau = (t * w + 2 * weight * own - residual * s_w).sum()
        by_factor = (t @ member).T @ v - (residual @ member).T @ s_v
        by_factor += 2 * np.einsum("ga,gka->ak", weight @ member, by_group)
        by_factor -= 2 * tau * ((spread * weight[:, None]).sum(axis=0) @ member).T
        return np.array([*by_beta, *by_factor[np.tril_indices(2)], by_tau])


def unpack(psi):
    """beta (2,), Lambda (2, 2) and tau of psi (6,)."""
    factor = np.array([[psi[2], 0.0], [psi[3], psi[4]]])
    return psi[:2], factor, psi[5]


def _norm(state):
    return np.sqrt((state.slope_image**2).sum() + (state.slope_observer**2).sum())


class Fit(NamedTuple):
    """A fitted model.

    `singular` says that a standard deviation is 0 or the correlation is -1 or 1, as
    lme4 does; that is a result, not an error. `correlation` is NaN where a standard
    deviation of difficulty is 0.
    """

    beta: np.ndarray  # (2,), mean log-odds of a correct answer of each group
    sd: np.ndarray  # (2,), standard deviation of difficulty for each group
    correlation: float
    sd_observer: float
    deviance: float
    psi: np.ndarray  # (6,)
    converged: bool
    singular: bool


def fit(laplace):
    """Maximise the Laplace likelihood.

    Parameters
    ----------
    laplace : CrossedLaplace

    Returns
    -------
    Fit

    Notes
    -----
    BFGS, then Newton's method in a trust region with difference quotients of the
    analytic gradient for the Hessian. Lambda and tau need no bounds: reversing the sign
    of tau or of a column of Lambda changes nothing, so that the boundary is a
    stationary point like any other.
    """
    objective = _Objective(laplace)
    size = len(laplace.y) * laplace.member.sum(axis=0)
    share = (laplace.y.sum(axis=0) @ laplace.member + 0.5) / (size + 1)
    start = np.array([*special.logit(share), 1.0, 0.0, 1.0, 0.5])
    near = optimize.minimize(objective, start, jac=True, method="BFGS").x
    options = {"gtol": GRADIENT_TOLERANCE, "initial_trust_radius": 0.1}
    found = optimize.minimize(
        objective,
        near,
        jac=True,
        hess=objective.hessian,
        method="trust-exact",
        options=options,
    )
    beta, factor, tau = unpack(found.x)
    sd = np.sqrt((factor**2).sum(axis=1))
    correlation = np.nan
    if (sd > SINGULAR_TOLERANCE).all():
        correlation = np.clip((factor[0] @ factor[1]) / sd.prod(), -1, 1)
    return Fit(
        beta=beta,
        sd=sd,
        correlation=float(correlation),
        sd_observer=float(abs(tau)),
        deviance=float(found.fun),
        psi=found.x,
        converged=bool(found.success and objective.modes.settled),
        singular=bool((np.abs([*np.diagonal(factor), tau]) < SINGULAR_TOLERANCE).any()),
    )


def profile_interval(laplace, fitted, level=0.95):
    """Interval of the correlation from its profile likelihood.

    All correlations whose deviance, minimised over all other parameters, exceeds the
    smallest one by no more than the quantile of chi-squared with one degree of freedom
    (Venzon & Moolgavkar 1988). It needs no standard error, which the boundary would
    distort, never leaves [-1, 1], and ends there where the data do not rule out a
    perfect correlation. In simulated worlds of 160 images, 10 and 16 observers, 95 %
    intervals hold the truth in 93 % (`trialwise.simulation.agreement_models`).

    Parameters
    ----------
    laplace : CrossedLaplace
    fitted : Fit
        Of the same `laplace`.
    level : float

    Returns
    -------
    low, high : float
        NaN where the correlation is.
    """
    if np.isnan(fitted.correlation):
        return np.nan, np.nan
    start = fitted.correlation
    return tuple(
        _limit(_Profile(laplace, fitted, level), start, end) for end in (-1.0, 1.0)
    )


def _limit(profile, start, end):
    """Where the profile crosses 0 between the estimate and -1 or 1, or that end."""
    inside = start
    for share in (1 / 8, 1 / 4, 1 / 2, 1):
        outside = start + share * (end - start)
        if profile(outside) > 0:
            return optimize.brentq(profile, inside, outside, xtol=CORRELATION_TOLERANCE)
        inside = outside
    return end


def difficulty_correlation(trials, first_group, second_group, level=0.95):
    """Latent correlation of image difficulty between two groups of observers.

    Parameters
    ----------
    trials : pandas.DataFrame
        Columns ``observer, image, correct``, as from `trialwise.trials.read_trials`.
    first_group, second_group : sequence of str
        Patterns of observer names (``*`` allowed).
    level : float
        Of the profile-likelihood interval.

    Returns
    -------
    pandas.DataFrame
        One row: ``n_images, n_observers_first, n_observers_second, correlation, ci_low,
        ci_high, sd_first, sd_second, sd_observer, log_likelihood, converged,
        singular``. Standard deviations are of log-odds. The interval takes images and
        observers for drawn at random, and answers for independent given difficulty and
        ability: what observers of one group share beyond that narrows it unduly.

    Raises
    ------
    InputError
        If a pattern matches no observer, a group has fewer than two observers, the
        groups share one, observers did not see the same images, or a group is right,
        or wrong, on all of them.
    """
    known = sorted(trials["observer"].unique())
    first, second = members(first_group, known), members(second_group, known)
    shared = sorted({*first} & {*second})
    if shared:
        raise InputError(
            f"{shared[0]} is in both groups. Give every observer to one group."
        )
    for names, patterns in ((first, first_group), (second, second_group)):
        if len(names) < 2:
            raise InputError(
                f"There is one observer in {', '.join(patterns)}. Difficulty can be "
                "told from chance only by two observers or more."
            )
    _, images, correct = correctness(trials, [*first, *second])
    parts = (correct[: len(first)], first_group), (correct[len(first) :], second_group)
    for answers, patterns in parts:
        if answers.all() or not answers.any():
            raise InputError(
                f"{', '.join(patterns)} is {'right' if answers.all() else 'wrong'} on "
                "every image. Take images that differ in difficulty."
            )
    laplace = CrossedLaplace(correct, np.repeat([0, 1], [len(first), len(second)]))
    fitted = fit(laplace)
    low, high = profile_interval(laplace, fitted, level)
    return pd.DataFrame(
        {
            "n_images": [len(images)],
            "n_observers_first": len(first),
            "n_observers_second": len(second),
            "correlation": fitted.correlation,
            "ci_low": low,
            "ci_high": high,
            "sd_first": fitted.sd[0],
            "sd_second": fitted.sd[1],
            "sd_observer": fitted.sd_observer,
            "log_likelihood": -fitted.deviance / 2,
            "converged": fitted.converged,
            "singular": fitted.singular,
        }
    )


class _Objective:
    """Deviance and gradient as functions of psi; remembers the modes to start from."""

    def __init__(self, laplace):
        self.laplace, self.modes = laplace, None

    def __call__(self, psi):
        self.modes = self.laplace.modes(psi, self.modes)
        return self.laplace.deviance(self.modes), self.laplace.gradient(self.modes)

    def hessian(self, psi):
        """Symmetric difference quotients of the gradient, shape (6, 6)."""
        gradients = []
        for step in DIFFERENCE * np.eye(len(psi)):
            ends = [
                self.laplace.gradient(self.laplace.modes(psi + sign * step, self.modes))
                for sign in (1, -1)
            ]
            gradients.append((ends[0] - ends[1]) / (2 * DIFFERENCE))
        return (np.array(gradients) + np.transpose(gradients)) / 2


class _Profile:
    """Root of the profile deviance of the correlation, less its quantile.

    Nearly linear in the correlation, which spares the search for its zero evaluations.
    The other parameters are minimised over with the logarithms of the standard
    deviations, from where the last minimum was.
    """

    def __init__(self, laplace, fitted, level):
        self.objective, self.lowest = _Objective(laplace), fitted.deviance
        sd = np.maximum([*fitted.sd, fitted.sd_observer], SMALLEST_START)
        self.rest = np.array([*fitted.beta, *np.log(sd)])
        self.quantile = special.ndtri((1 + level) / 2)

    def __call__(self, correlation):
        lower = np.array([correlation, np.sqrt(1 - correlation**2)])

        def deviance(rest):
            first, second, tau = np.exp(rest[2:])
            psi = np.array([*rest[:2], first, *(second * lower), tau])
            value, slope = self.objective(psi)
            by_sd = np.array([slope[2], lower @ slope[3:5], slope[5]])
            return value, np.array([*slope[:2], *(by_sd * np.exp(rest[2:]))])

        options = {"gtol": PROFILE_TOLERANCE}
        found = optimize.minimize(
            deviance, self.rest, jac=True, method="BFGS", options=options
        )
        self.rest = found.x
        return np.sqrt(max(found.fun - self.lowest, 0)) - self.quantile
