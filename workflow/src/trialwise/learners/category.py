"""Category learning: an image's category, predicted before it is told."""

from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np
from scipy.special import expit

from trialwise.learners.l1 import l1_optimum
from trialwise.learners.scaling import principal_components, rotate

C_BY_ACCURACY = (
    *(0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5),
    *(1, 1.5, 2, 3, 4, 5, 10, 15, 20),
)
C_BY_PREDICTION = tuple(float(10 ** (k / 2)) for k in range(-6, 9))
SEED = 0
GRADIENT = 1e-8
MAX_STEPS = 200


def in_place(features: np.ndarray, category: np.ndarray, learners: Mapping) -> dict:
    """Learn from rows that every trial standardises anew, for good: `published`.

    Parameters
    ----------
    features : ndarray, shape (n, D)
        One row per trial, in order.
    category : ndarray of int, shape (n,)
        True category, 0 or 1.
    learners : mapping of str to `trialwise.learners.protocol.Learner`

    Returns
    -------
    dict
        For each learner ``value_left`` and ``value_right``, shape (n,): P(0) and P(1)
        of each trial, predicted from the trials before; ``C``, shape (n,).

    Raises
    ------
    InputError
        If there are too few components for a learner.

    Notes
    -----
    One pass over the trials replaces, after each trial from the first at which both
    categories were seen, all rows so far by their z-scores. There is one pass per value
    of C_BY_ACCURACY, each scored on the rows it leaves, then one that predicts; all
    change the same array. Only the last fit of a pass is scored, so only that is made.
    """
    rows = np.array(features, dtype=float)
    first = _both_seen(category)
    left_behind = (_passed(rows, first) for _ in C_BY_ACCURACY)
    chosen = _most_accurate(left_behind, category, learners)
    return {
        name: _predict(
            _changing_trials(_reduced(rows, learner.components).copy("K"), first),
            category,
            learner.penalty,
            chosen[learner.penalty],
        )
        for name, learner in learners.items()
    }


def on_copies(
    features: np.ndarray, category: np.ndarray, learners: Mapping, scale: Callable
) -> dict:
    """Learn from copies of the rows: `seen-scaled` and `unscaled`.

    Parameters, returns and errors as in `in_place`. `scale` is `standardise` or
    `unchanged` of `trialwise.learners.scaling` and applies to the rows seen so far; C
    is scored on the rows of all trials, scaled alike.
    """
    features = np.asarray(features, dtype=float)
    whole, _ = scale(features, features[0])
    chosen = _most_accurate((whole for _ in C_BY_ACCURACY), category, learners)
    return {
        name: _predict(
            _copied_trials(
                _reduced(features, learner.components), _both_seen(category), scale
            ),
            category,
            learner.penalty,
            chosen[learner.penalty],
        )
        for name, learner in learners.items()
    }


def prequential(features: np.ndarray, category: np.ndarray, learners: Mapping) -> dict:
    """Learn with the C that has predicted best so far: `comparable`.

    Parameters and returns as in `in_place`; the features come scaled and reduced. At
    each trial C is the value of C_BY_PREDICTION with the least log loss summed over its
    own predictions for the trials before, the smaller of equal ones; 1 until both
    categories were seen.
    """
    results = {}
    for name, learner in learners.items():
        odds = log_odds(features, category, learner.penalty)
        loss = np.logaddexp(0, np.where(category == 1, -1, 1)[:, None] * odds)
        best = np.zeros(len(category), dtype=int)
        best[1:] = np.argmin(np.cumsum(loss, axis=0)[:-1], axis=1)
        best[: _both_seen(category) + 1] = C_BY_PREDICTION.index(1)
        odds = np.take_along_axis(odds, best[:, None], axis=1)[:, 0]
        results[name] = _values(odds, np.array(C_BY_PREDICTION)[best])
    return results


def every_penalty(
    features: np.ndarray, category: np.ndarray, learners: Mapping
) -> dict:
    """As `prequential`, for each C held fixed: all values of shape (n, 15)."""
    results = {}
    for name, learner in learners.items():
        odds = log_odds(features, category, learner.penalty)
        results[name] = _values(odds, np.broadcast_to(C_BY_PREDICTION, odds.shape))
    return results


def log_odds(features: np.ndarray, category: np.ndarray, penalty: str) -> np.ndarray:
    """Log odds of category 1 before each trial, under each C of C_BY_PREDICTION.

    Parameters
    ----------
    features : ndarray, shape (n, D)
    category : ndarray of int, shape (n,)
    penalty : {"l1", "l2"}
        Either way the optimum itself, with an intercept that is not penalised.

    Returns
    -------
    ndarray, shape (n, 15)
        0 until both categories were seen.
    """
    grid = C_BY_PREDICTION
    rows = rotate(features) if penalty == "l2" else features
    odds = np.zeros((len(rows), len(grid)))
    weights, intercept = np.zeros((len(grid), rows.shape[1])), np.zeros(len(grid))
    for t in range(_both_seen(category) + 1, len(rows)):
        seen = rows[:t], category[:t]
        if penalty == "l2":
            weights, intercept = optimum(*seen, grid, weights, intercept)
        else:
            for k, c in enumerate(grid):
                weights[k], intercept[k] = l1_optimum(
                    *seen, c, weights[k], intercept[k]
                )
        odds[t] = weights @ rows[t] + intercept
    return odds


def optimum(rows, category, c, weights, intercept):
    """Minimise ||w||^2 / 2 + C sum log(1 + exp(-s (w x + b))) for several C at once.

    Parameters
    ----------
    rows : ndarray, shape (n, D)
        The x, one a row.
    category : ndarray of int, shape (n,)
        Both 0 and 1 occur; s = -1, 1.
    c : sequence of float, length k
    weights : ndarray, shape (k, D)
    intercept : ndarray, shape (k,)
        Where to start.

    Returns
    -------
    weights : ndarray, shape (k, D)
    intercept : ndarray, shape (k,)
        Where the gradient's norm is below GRADIENT.

    Raises
    ------
    RuntimeError
        If MAX_STEPS Newton steps do not get there.
    """
    weights, intercept = weights.copy(), intercept.copy()
    c = np.asarray(c, dtype=float)
    products = rows @ rows.T
    left = np.arange(len(c))
    for _ in range(MAX_STEPS):
        probability = expit(weights[left] @ rows.T + intercept[left, None])
        pull = c[left, None] * (category - probability)
        gradient = weights[left] - pull @ rows
        norm = np.hypot(np.linalg.norm(gradient, axis=1), pull.sum(axis=1))
        far = norm >= GRADIENT
        if not far.any():
            return weights, intercept
        left, gradient = left[far], gradient[far]
        curvature = c[left, None] * (probability * (1 - probability))[far]
        step = _newton_step(rows, products, curvature, gradient, pull[far])
        start = weights[left], intercept[left]
        size = _step_size(rows, category, c[left], start, step)
        weights[left] = start[0] + size[:, None] * step[0]
        intercept[left] = start[1] + size * step[1]
    raise RuntimeError(f"The logistic fit has not converged in {MAX_STEPS} steps.")


def _newton_step(rows, products, curvature, gradient, pull):
    """Newton step of k problems' weights, shape (k, D), and intercepts, shape (k,).

    With W = diag(curvature) and K = products, the (D, D) system of the weights is
    solved through B = I + W^1/2 K W^1/2, of shape (n, n) and with eigenvalues of at
    least 1 (Rasmussen & Williams 2006, section 3.4.3).
    """
    root = np.sqrt(curvature)
    system = np.eye(len(rows)) + root[:, :, None] * products * root[:, None, :]
    sides = np.stack([root * (gradient @ rows.T), root], axis=2)
    along, across = np.moveaxis(root[:, :, None] * np.linalg.solve(system, sides), 2, 0)
    rise = (pull + along).sum(axis=1) / across.sum(axis=1)
    return (along - across * rise[:, None]) @ rows - gradient, rise


def _step_size(rows, category, c, start, step):
    """Halve each problem's step until its objective does not rise."""
    sign = 2.0 * category - 1

    def objective(size):
        w, b = (x + (size * d.T).T for x, d in zip(start, step, strict=True))
        loss = np.logaddexp(0, -sign * (w @ rows.T + b[:, None])).sum(axis=1)
        return (w**2).sum(axis=1) / 2 + c * loss

    size = np.ones(len(c))
    # Close to the optimum the objective changes by less than its rounding.
    highest = objective(0 * size) * (1 + 1e-12)
    while (worse := objective(size) > highest).any():
        size[worse] /= 2
    return size


def fit_logistic(rows, category, penalty, c):
    """Fit scikit-learn's liblinear logistic regression.

    Parameters
    ----------
    rows : ndarray, shape (n, D)
    category : ndarray of int, shape (n,)
    penalty : {"l1", "l2"}
        Both also penalise the intercept.
    c : float

    Returns
    -------
    weights : ndarray, shape (D,)
    intercept : float
    """
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(
        C=c,
        l1_ratio=float(penalty == "l1"),
        solver="liblinear",
        max_iter=5000,
        random_state=SEED,
    ).fit(rows, category)
    return model.coef_[0], model.intercept_[0]


def _reduced(features, components):
    return (
        features if components is None else principal_components(features, components)
    )


def _both_seen(category: np.ndarray) -> int:
    """First trial after which both categories were seen; if none, their number."""
    changed = category != category[0]
    return int(np.argmax(changed)) if changed.any() else len(category)


def _standardise_in_place(rows: np.ndarray, first: int) -> Iterator[tuple]:
    """Make one pass, yielding the number of rows seen, their mean and SD each time."""
    for n in range(first + 1, len(rows) + 1):
        seen = rows[:n]
        # The authors' operations in their order: rows that later, larger ones squeeze
        # together differ by rounding alone, and the next pass blows that up.
        mean = seen.sum(axis=0) / n
        seen -= mean
        sd = np.sqrt(np.square(seen).sum(axis=0) / n)
        sd[sd == 0] = 1
        seen /= sd
        yield n, mean, sd


def _passed(rows, first):
    for _ in _standardise_in_place(rows, first):
        pass
    return rows


def _changing_trials(rows, first):
    for n, mean, sd in _standardise_in_place(rows, first):
        if n < len(rows):
            yield n, rows[:n], (rows[n] - mean) / sd


def _copied_trials(rows, first, scale):
    for n in range(first + 1, len(rows)):
        yield n, *scale(rows[:n], rows[n])


def _most_accurate(matrices: Iterable, category, learners) -> dict[str, float]:
    """First C of the highest training accuracy, by penalty; 1 if none is above 0."""
    penalties = sorted({learner.penalty for learner in learners.values()})
    scores = {penalty: [] for penalty in penalties}
    for c, rows in zip(C_BY_ACCURACY, matrices, strict=True):
        for penalty in penalties:
            scores[penalty].append(_accuracy(rows, category, penalty, c))
    return {
        penalty: C_BY_ACCURACY[int(np.argmax(score))] if max(score) > 0 else 1
        for penalty, score in scores.items()
    }


def _accuracy(rows, category, penalty, c):
    if _both_seen(category) == len(category):
        return 0
    rows = rotate(rows) if penalty == "l2" else rows
    weights, intercept = fit_logistic(rows, category, penalty, c)
    return np.mean((rows @ weights + intercept > 0) == category)


def _predict(trials: Iterable, category, penalty, c) -> dict:
    """Fit on the rows seen before each trial (their number, they, the new one)."""
    odds = np.zeros(len(category))
    for n, seen, new in trials:
        if penalty == "l2":
            rotated = rotate(np.vstack([seen, new]))
            seen, new = rotated[:n], rotated[n]
        weights, intercept = fit_logistic(seen, category[:n], penalty, c)
        odds[n] = new @ weights + intercept
    return _values(odds, np.full(len(odds), float(c)))


def _values(odds, c):
    return {"value_left": expit(-odds), "value_right": expit(odds), "C": c}
