"""l1-penalised logistic regression with a free intercept, to the optimum itself."""

import numpy as np
from scipy.special import expit

TOLERANCE = 1e-9
MAX_STEPS = 2000
ADDED_AT_ONCE = 8
RIDGE = 1e-11
SUFFICIENT = 1e-4


def l1_optimum(rows, category, c, weights, intercept):
    """Minimise ||w||_1 + C sum log(1 + exp(-s (w x + b))).

    Parameters
    ----------
    rows : ndarray, shape (n, D)
        The x, one a row.
    category : ndarray of int, shape (n,)
        Both 0 and 1 occur; s = -1, 1.
    c : float
    weights : ndarray, shape (D,)
    intercept : float
        Where to start.

    Returns
    -------
    weights : ndarray, shape (D,)
    intercept : float
        Where the optimality conditions hold to TOLERANCE: with r = y - P(1), C x_j r is
        the sign of w_j where w_j is not 0, and at most 1 in size elsewhere; C sum r is
        0.

    Raises
    ------
    RuntimeError
        If MAX_STEPS Newton steps do not get there.

    Notes
    -----
    An active-set Newton method. Within an orthant of the weights that are not 0 the
    objective is smooth; steps end where a weight reaches 0, which then leaves the set,
    and the weights that violate their condition most enter it once the others meet
    theirs (as in the feature-sign search of Lee et al. 2007, for the logistic loss).
    O(n D + n k^2) a step for k active weights.
    """
    category = np.asarray(category, dtype=float)
    n, n_ones = len(category), category.sum()
    # Exactly the same for every C too small to learn, so that these tie.
    if c * np.abs(rows.T @ (category - n_ones / n)).max() <= 1:
        return np.zeros(len(weights)), np.log(n_ones) - np.log(n - n_ones)
    weights, sign = weights.copy(), np.sign(weights)
    active = np.flatnonzero(sign)
    for _ in range(MAX_STEPS):
        used = rows[:, active]
        odds = used @ weights[active] + intercept
        probability = expit(odds)
        pull = c * (category - probability)
        slope = np.append(used.T @ pull - sign[active], pull.sum())
        if np.abs(slope).max() <= TOLERANCE:
            excess = rows.T @ pull
            free = np.abs(excess) - 1
            free[active] = 0
            entering = np.argsort(-free, kind="stable")[:ADDED_AT_ONCE]
            entering = entering[free[entering] > TOLERANCE]
            if not entering.size:
                return weights, intercept
            sign[entering] = np.sign(excess[entering])
            active = np.sort(np.append(active, entering))
            continue
        curvature = c * probability * (1 - probability)
        step = _newton_step(used, curvature, slope)
        before = weights[active]
        # A weight at 0 may only move to the side of its sign.
        blocked = (before == 0) & (step[:-1] * sign[active] < 0)
        if blocked.any():
            sign[active[blocked]] = 0
            active = active[~blocked]
            continue
        size, reaching = _first_at_zero(before, step[:-1])
        taken = _step_size(
            used, category, c, sign[active], (before, intercept), step, slope, size
        )
        weights[active] = before + taken * step[:-1]
        intercept += taken * step[-1]
        if reaching is not None and taken == size:
            weights[active[reaching]] = sign[active[reaching]] = 0
            active = np.delete(active, reaching)
    raise RuntimeError(f"The l1 logistic fit has not converged in {MAX_STEPS} steps.")


def _newton_step(used, curvature, slope):
    """Newton step of the active weights and the intercept, shape (k + 1,)."""
    design = np.column_stack([used, np.ones(len(used))])
    hessian = (design * curvature[:, None]).T @ design
    scale = np.trace(hessian) / len(hessian)
    # More weights than rows leave directions without curvature; they end at a 0.
    hessian[np.diag_indices_from(hessian)] += RIDGE * scale
    return np.linalg.solve(hessian, slope)


def _first_at_zero(before, step):
    """How far the step can go until a weight is 0, at most 1, and which one it is."""
    towards = before * step < 0
    if not towards.any():
        return 1.0, None
    sizes = np.full(len(before), np.inf)
    sizes[towards] = -before[towards] / step[towards]
    reaching = int(sizes.argmin())
    return (1.0, None) if sizes[reaching] > 1 else (sizes[reaching], reaching)


def _step_size(used, category, c, sign, start, step, slope, largest):
    """Halve the step until the objective falls enough (Armijo)."""
    weights, intercept = start
    along = used @ step[:-1] + step[-1]
    odds = used @ weights + intercept
    linear = sign @ step[:-1]
    side = 1 - 2 * category

    def objective(size):
        return c * np.logaddexp(0, side * (odds + size * along)).sum() + size * linear

    at_start = objective(0)
    promised = SUFFICIENT * (slope @ step)
    rounding = 1e-13 * (abs(at_start) + np.abs(weights).sum())
    size = largest
    while objective(size) > at_start - size * promised + rounding and size > 1e-12:
        size /= 2
    return size
