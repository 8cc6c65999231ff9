"""Probabilities of held-out choices: one trial at a time, or one participant.

Leaving out row r of participant i takes a row from the deviance of i and, if a
predictor is centred, shifts it by c_r for everybody. (Dividing it by another standard
deviation only rescales its fixed effect and its row of Lambda.) The parameters without
row r are where the gradient by psi of ::

    sum over groups g of d_g(psi, c_r)  -  d_i(psi, c_r)  +  d_i without r (psi, c_r)

vanishes. The last term is computed exactly. The others are needed only within a step of
order 1/n of the full fit, and come from their Taylor expansion about it, of third order
in the deviance: the infinitesimal jackknife (Giordano, Stephenson, Liu, Jordan &
Broderick 2019, AISTATS) with one more order, and exact where a row counts most.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import special

from trialwise.choices.design import column_of, rescale, rows_of
from trialwise.choices.glmm import FLAT_CURVATURE, Laplace, fit

NODES = 25

DIFFERENCE = 2e-3
STEP_TOLERANCE = 1e-8
PROBABILITY_TOLERANCE = 1e-7
MAX_STEPS = 30
MAX_MOVE = 1.0
SADDLE_MARGIN = 0.2
CHECKED_AT_ONCE = 32
CHUNK = 100_000


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Predictions of choices by fits that have not seen them.

    Attributes
    ----------
    log_odds : ndarray, shape (n,)
        Log-odds of choice 1.
    refitted : ndarray of bool, shape (n,)
        Rows whose prediction comes from a fit of its own, rather than from the full fit
        and its derivatives.
    """

    log_odds: np.ndarray
    refitted: np.ndarray

    @property
    def probability(self):
        """Probability of choice 1, shape (n,)."""
        return special.expit(self.log_odds)


def leave_one_trial_out(design, predictor=None, scaling="none"):
    """Predict every choice from a fit to all other rows.

    Without the row, the predictor is scaled, the parameters are estimated, and the
    random effects of its participant are found.

    Parameters
    ----------
    design : Design
    predictor : str, optional
        The column of X and Z that is scaled.
    scaling : {"none", "divide", "standardise"}
        Leave the predictor as it is, divide it by its standard deviation (ddof 1), or
        subtract its mean first.

    Returns
    -------
    HeldOut

    Raises
    ------
    InputError
        If the scaling is unknown, the predictor is constant, not in the design or part
        of another of its columns, or the design without a row is refused.

    Notes
    -----
    Probabilities are within 1e-6 of those of `refit_without_trial`. The expansion is
    checked against exact gradients where its second-order term is largest, and the rows
    for which it is not good enough (if any) are solved with exact gradients; rows that
    this does not settle, and those without which a variance leaves 0, are refitted.
    O(sum of squared rows per group), plus O(n q^2) for the expansion.
    """
    design = rescale(design, predictor, scaling)
    full = fit(design)
    if full.converged:
        centred = predictor if scaling == "standardise" else None
        log_odds, refitted = _solve_all(design, full, centred)
    else:
        log_odds, refitted = np.zeros(len(design.y)), np.ones(len(design.y), dtype=bool)
    rows = np.flatnonzero(refitted)
    log_odds[rows] = refit_without_trial(design, rows, predictor, scaling, full)
    return HeldOut(log_odds, refitted)


def refit_without_trial(design, rows, predictor=None, scaling="none", start=None):
    """Predict some choices, each from a fit of its own to all other rows.

    Parameters
    ----------
    design, predictor, scaling
        As in `leave_one_trial_out`.
    rows : array_like of int, shape (r,)
    start : Fit, optional
        Where to start; best the fit to all rows.

    Returns
    -------
    ndarray, shape (r,)
        Log-odds of choice 1.
    """
    log_odds = np.empty(len(rows))
    for at, row in enumerate(rows):
        others = np.arange(len(design.y)) != row
        scaled = rescale(design, predictor, scaling, others)
        fitted = fit(rows_of(scaled, others), start)
        # A participant without other trials has random effects of 0.
        own = fitted.modes[fitted.design.levels == design.groups[row]].sum(axis=0)
        log_odds[at] = scaled.X[row] @ fitted.fixed + scaled.Z[row] @ own
    return log_odds


def leave_one_participant_out(design, predictor=None, scaling="none"):
    """Predict the choices of every participant from a fit to all others.

    Parameters, errors and result as in `leave_one_trial_out`.

    Notes
    -----
    The random effects of the participant are unknown and integrated out, trial by
    trial. What they add to the log-odds is one normal variable however many they are,
    of variance z'Sigma z, so that one Gauss-Hermite rule of 25 nodes serves. It is not
    adaptive: the choice itself is what is predicted. The probability is off by at most
    1e-6, 1e-4, .003 and .05 where the standard deviation is 2, 3, 5 and 20.
    """
    log_odds = np.empty(len(design.y))
    start = fit(rescale(design, predictor, scaling))
    for code in range(len(design.levels)):
        held_out = design.codes == code
        scaled = rescale(design, predictor, scaling, ~held_out)
        fitted = fit(rows_of(scaled, ~held_out), start)
        deviation = np.linalg.norm(scaled.Z[held_out] @ fitted.factor, axis=1)
        log_odds[held_out] = _marginal_log_odds(
            scaled.X[held_out] @ fitted.fixed, deviation
        )
    return HeldOut(log_odds, np.ones(len(log_odds), dtype=bool))


def held_out_log_score(y, log_odds, certain=None):
    """Log probability of the choices that were made.

    Parameters
    ----------
    y : array_like, shape (n,)
        Choices, 0 or 1.
    log_odds : array_like, shape (n,)
        Log-odds of choice 1 (finite where a probability would be rounded to 0 or 1).
    certain : float, optional
        What counts instead of a probability of exactly 1.

    Returns
    -------
    ndarray, shape (n,)
        In nats; minus their sum is the negative log-likelihood of the paper.
    """
    y, log_odds = np.asarray(y), np.asarray(log_odds, dtype=float)
    score = special.log_expit(np.where(y == 1, log_odds, -log_odds))
    if certain is None:
        return score
    instead = np.where(y == 1, np.log(certain), np.log1p(-certain))
    return np.where(special.expit(log_odds) == 1, instead, score)


def _marginal_log_odds(mean, deviation):
    """Log-odds of a choice whose log-odds are normal."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    log_weights = np.log(weights / weights.sum())
    log_odds = mean[:, None] + deviation[:, None] * nodes
    log_p, log_q = (
        special.logsumexp(log_weights + special.log_expit(sign * log_odds), axis=1)
        for sign in (1, -1)
    )
    return log_p - log_q


def _solve_all(design, full, centred):
    """Log-odds (n,) of all held-out choices, and which need a fit of their own."""
    laplace = Laplace(design, shifted=centred)
    shift = None
    if centred is not None:
        # A mean without a value v among n values moves by (mean - v) / (n - 1).
        shift = np.zeros((len(laplace.columns), laplace.columns.shape[2]))
        values = column_of(design, centred)
        shift[laplace.group, laplace.slot] = -values / (len(values) - 1)
    psi = laplace.internal(full.fixed, full.factor)
    expansion = _expand(laplace, psi, shift is not None)
    solved = _solve(laplace, expansion, shift)
    _refine(laplace, expansion, solved, shift)
    at = laplace.group, laplace.slot
    log_odds = solved.log_odds[at] * np.where(design.y == 1, 1, -1)
    return log_odds, solved.unsettled[at] | solved.saddle[at]


class _Expansion(NamedTuple):
    """Taylor expansion of the gradient of every group's deviance about the full fit."""

    psi: np.ndarray  # (q,)
    u: np.ndarray  # (G, 1, k)
    gradient: np.ndarray  # (G, q)
    slope: np.ndarray  # (G, q, M), M = q, or q + 1 with a shift
    bend: np.ndarray  # (G, q, M, M)
    inverse: np.ndarray  # (q, q), of the Hessian of the sum over groups

    def others(self, groups):
        """Gradient, slope and bend summed over all but one group, for each given."""
        terms = (self.gradient, self.slope, self.bend)
        return (term.sum(axis=0) - term[groups] for term in terms)


def _expand(laplace, psi, shifted):
    """Expand by difference quotients of the analytic gradient.

    With steps e_a of length h, and f(e) the sum of the gradients at +e and -e, the bend
    is (f(e_a) - f(0)) / h^2 along an axis and [f(e_a + e_b) - f(e_a) - f(e_b) + f(0)]
    / 2 h^2 across two. The slope is extrapolated from two lengths (Richardson).
    """
    q, h = len(psi), DIFFERENCE
    M = q + shifted
    a, b = np.triu_indices(M, k=1)
    axes = h * np.eye(M)
    steps = np.concatenate([np.zeros((1, M)), axes, axes[a] + axes[b], axes / 2])
    u = laplace.modes(psi[None, None]).u
    ahead, back = (_gradients(laplace, psi, u, sign * steps) for sign in (1, -1))
    odd, even = ahead - back, ahead + back
    along, across, half = (slice(1, M + 1), slice(M + 1, -M), slice(-M, None))
    slope = (8 * odd[:, half] - odd[:, along]) / (6 * h)
    bend = np.empty((len(u), M, M, q))
    pure = even[:, along] - even[:, :1]
    bend[:, range(M), range(M)] = pure / h**2
    mixed = even[:, across] - even[:, :1] - pure[:, a] - pure[:, b]
    bend[:, a, b] = bend[:, b, a] = mixed / (2 * h**2)
    return _Expansion(
        psi=psi,
        u=u,
        gradient=ahead[:, 0],
        slope=slope.swapaxes(1, 2),
        bend=np.moveaxis(bend, -1, 1),
        inverse=_inverse(slope[:, :q].sum(axis=0)),
    )


def _gradients(laplace, psi, u, steps):
    """Gradient of every group (G, R, q) at R steps from psi and from no shift."""
    q = len(psi)
    size = max(1, CHUNK // laplace.columns[:, 0].size)
    gradients = []
    for part in (steps[at : at + size] for at in range(0, len(steps), size)):
        shift = part[None, :, q] if part.shape[1] > q else None
        start = np.repeat(u, len(part), axis=1)
        modes = laplace.modes((psi + part[:, :q])[None], start, shift)
        gradients.append(laplace.gradient(modes))
    return np.concatenate(gradients, axis=1)


class _Solved(NamedTuple):
    """Fits without each row of each group."""

    psi: np.ndarray  # (G, N, q)
    u: np.ndarray  # (G, N, k), of the group without the row
    bend: np.ndarray  # (G, N), length of the second-order term of the step
    log_odds: np.ndarray  # (G, N), of the choice that was made
    unsettled: np.ndarray  # (G, N), bool: no solution near the full fit
    saddle: np.ndarray  # (G, N), bool: a variance of 0 is no longer the best


def _solve(laplace, expansion, shift):
    """Fits without each row, with all groups but its own expanded."""
    n_groups, _, n_rows = laplace.columns.shape
    size = max(1, CHUNK // n_rows**2)
    parts = [
        _solve_groups(laplace, expansion, shift, slice(at, at + size))
        for at in range(0, n_groups, size)
    ]
    return _Solved(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def _solve_groups(laplace, expansion, shift, groups):
    """Newton's method with the Hessian of the full fit, for all rows of some groups."""
    part = laplace.take(groups)
    rows = np.arange(part.columns.shape[2])[None]
    u = np.repeat(expansion.u[groups], rows.size, axis=1)
    psi = np.tile(expansion.psi, (*u.shape[:2], 1))
    shift = None if shift is None else shift[groups]
    gradient, slope, bend = expansion.others(groups)
    unsettled = np.zeros(u.shape[:2], dtype=bool)
    for _ in range(MAX_STEPS):
        modes = part.modes(psi, u, shift, rows)
        moved = psi - expansion.psi
        if shift is not None:
            moved = np.concatenate([moved, shift[..., None]], axis=-1)
        curve = np.einsum("gqab,gra,grb->grq", bend, moved, moved, optimize=True) / 2
        others = gradient[:, None] + moved @ slope.swapaxes(1, 2) + curve
        step = -(others + part.gradient(modes)) @ expansion.inverse
        # Far from the full fit its expansion is worth nothing.
        unsettled |= ~(np.abs(psi + step - expansion.psi).max(axis=-1) < MAX_MOVE)
        step[unsettled] = 0
        psi, u = psi + step, modes.u
        if np.abs(step).max() < STEP_TOLERANCE:
            break
    unsettled |= np.abs(step).max(axis=-1) > STEP_TOLERANCE
    saddle = np.zeros_like(unsettled)
    for at in laplace.zero_factor(expansion.psi):
        nudged = psi.copy()
        nudged[..., at] += DIFFERENCE
        own = part.gradient(part.modes(nudged, u, shift, rows))
        own = (own - part.gradient(modes))[..., at] / DIFFERENCE
        bent = (moved @ bend[:, at, at, :, None])[..., 0]
        curvature = own + slope[:, at, at][:, None] + bent
        before = expansion.slope[:, at, at].sum()
        saddle |= curvature < SADDLE_MARGIN * np.abs(curvature - before)
    log_odds = np.einsum("grm,gmr->gr", modes.coefficients, part.columns)
    bend = np.linalg.norm(curve @ expansion.inverse, axis=-1)
    return psi, u, bend, log_odds, unsettled, saddle


def _refine(laplace, expansion, solved, shift):
    """Replace the expansion by exact gradients of all groups where it falls short.

    Rows are taken in order of the second-order term of their step, until those of a
    whole batch keep their probabilities. Changes `solved`.
    """
    order = np.argsort(-np.where(solved.unsettled, np.inf, solved.bend), axis=None)
    for start in range(0, len(order), CHECKED_AT_ONCE):
        batch = order[start : start + CHECKED_AT_ONCE]
        batch = np.unravel_index(batch, solved.bend.shape)
        before = special.expit(solved.log_odds[batch])
        _refine_batch(laplace, expansion, solved, shift, batch)
        change = np.abs(special.expit(solved.log_odds[batch]) - before)
        if change.max() < PROBABILITY_TOLERANCE and not solved.unsettled[batch].any():
            break


def _refine_batch(laplace, expansion, solved, shift, batch):
    group, slot = batch
    rows = np.arange(len(group))
    part = laplace.take(group)
    psi, u = solved.psi[batch][:, None], solved.u[batch][:, None]
    own_shift = all_shift = None
    if shift is not None:
        own_shift, all_shift = shift[batch][:, None], shift[batch][None]
    all_u = np.repeat(expansion.u, len(group), axis=1)
    unsettled = np.zeros(len(group), dtype=bool)
    for _ in range(MAX_STEPS):
        own = part.modes(psi, u, own_shift, slot[:, None])
        everybody = laplace.modes(psi.swapaxes(0, 1), all_u, all_shift)
        gradients = laplace.gradient(everybody)
        others = gradients.sum(axis=0) - gradients[group, rows]
        step = -(others[:, None] + part.gradient(own)) @ expansion.inverse
        unsettled |= ~(np.abs(psi + step - expansion.psi).max(axis=(1, 2)) < MAX_MOVE)
        step[unsettled] = 0
        psi, u, all_u = psi + step, own.u, everybody.u
        if np.abs(step).max() < STEP_TOLERANCE:
            break
    unsettled |= np.abs(step).max(axis=(1, 2)) > STEP_TOLERANCE
    columns = part.columns[rows, :, slot]
    solved.log_odds[batch] = (own.coefficients[:, 0] * columns).sum(axis=-1)
    solved.unsettled[batch] = unsettled


def _inverse(hessian):
    """Inverse on the directions that the likelihood depends on."""
    hessian = (hessian + hessian.T) / 2
    return np.linalg.pinv(hessian, rcond=FLAT_CURVATURE, hermitian=True)
