"""Odd-one-out judgements of triplets of objects, predicted from a representation."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import optimize, sparse, special
from threadpoolctl import threadpool_limits

from trialwise.errors import InputError
from trialwise.representations.rows import unit_rows

FOLDS = 3
# From strong to weak, the order in which they are tried.
PENALTIES = (3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5)
# Weaker penalties take longest; past the best one they are not worth it.
RISE_THAT_STOPS = 1.01
MAX_STEPS = 500
TOLERANCE = 1e-5
# Members of a triplet: the pair that people kept, then those with the odd one.
PAIRS = ((0, 1), (0, 2), (1, 2))


class ZeroShot(NamedTuple):
    """Accuracy with each of two measures of similarity."""

    cosine: float
    dot: float


class Probe(NamedTuple):
    """Accuracy on objects a transform was not learned from.

    Attributes
    ----------
    accuracy : float
        Over the held-out triplets of all folds.
    n_triplets : int
        Number of these.
    penalties : tuple of float
        Strength of regularisation chosen in each fold.
    """

    accuracy: float
    n_triplets: int
    penalties: tuple[float, ...]


def read_triplets(path: str | Path, n_objects: int) -> np.ndarray:
    """Read triplets of objects, the odd one last.

    Parameters
    ----------
    path : path
        Three whole numbers a line, from 0 on.
    n_objects : int

    Returns
    -------
    ndarray of int, shape (n, 3)

    Raises
    ------
    InputError
        If the file cannot be read, or a line does not name three different objects.
    """
    try:
        triplets = np.loadtxt(path, dtype=np.int64, ndmin=2)
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path} cannot be read: {error}. Supply three whole numbers a line."
        ) from error
    if triplets.shape[1:] != (3,) or not len(triplets):
        raise InputError(
            f"{path} holds a table of shape {triplets.shape}. Supply three whole "
            "numbers a line, the odd one last."
        )
    inside = ((triplets >= 0) & (triplets < n_objects)).all(axis=1)
    different = (np.diff(np.sort(triplets, axis=1), axis=1) > 0).all(axis=1)
    wrong = np.flatnonzero(~(inside & different))
    if len(wrong):
        raise InputError(
            f"{path}, row {wrong[0] + 1}: {triplets[wrong[0]].tolist()} are not three "
            f"different objects from 0 to {n_objects - 1}. Mend the row."
        )
    return triplets


def zero_shot(embedding: np.ndarray, triplets: np.ndarray) -> ZeroShot:
    """How often the most similar two of three objects are those that people kept.

    Parameters
    ----------
    embedding : ndarray, shape (n_objects, D)
    triplets : ndarray of int, shape (n, 3)
        Objects by row of the embedding, the odd one last.

    Returns
    -------
    ZeroShot
        Shares of triplets. Where two pairs are the most similar, the answer is wrong.
        Chance is 1/3.

    References
    ----------
    Cosine: Muttenthaler et al. (2023), Human alignment of neural network
    representations, ICLR. Dot product: Hebart, Zheng, Pereira & Baker (2020), for the
    generative features.
    """
    embedding = np.asarray(embedding, dtype=np.float64)
    with threadpool_limits(1):
        return ZeroShot(
            _accuracy(unit_rows(embedding), triplets), _accuracy(embedding, triplets)
        )


def probe(
    embedding: np.ndarray, triplets: np.ndarray, seed: int, n_jobs: int = 1
) -> Probe:
    """Accuracy after a linear transform learned from triplets of other objects.

    Objects are dealt into three folds. For each fold, features are centred by the other
    objects and divided by the root mean squared norm of these; W minimises the mean of
    -log p over the triplets whose objects are all among them, plus penalty |W|^2
    (Frobenius), where p is the softmax, over the three pairs, of the dot product of the
    rows times W. Triplets of three held-out objects are then answered by the largest
    dot product. The penalty is that of `PENALTIES` with the smallest mean of -log p in
    one split of the other objects, two thirds to learn from and one third to predict,
    so that held-out objects play no part in it; from strong to weak, it stops where the
    mean is 1 % above the smallest.

    Parameters
    ----------
    embedding : ndarray, shape (n_objects, D)
    triplets : ndarray of int, shape (n, 3)
        The odd one last. About 8/27 of them are learned from in each fold, and 1/27
        predicted; those with objects on both sides are not used.
    seed : int
        Of the folds.
    n_jobs : int
        Processes, each with BLAS on one thread; the result is the same for any number.

    Returns
    -------
    Probe

    Raises
    ------
    InputError
        If a fold has no triplet to learn from or to predict, or no features that
        differ.

    Notes
    -----
    Muttenthaler et al. (2023) learn from the 4.7 million triplets that are published
    for training, by stochastic gradients, and report the accuracy of the best penalty
    on the folds that it was chosen by. The loss is convex in W W', and W has full rank,
    so L-BFGS from the identity has no other minimum to end in. Rows enter on their
    principal axes, so that W has at most as many dimensions as there are objects.

    References
    ----------
    Muttenthaler et al. (2023), Human alignment of neural network representations, ICLR.
    """
    from joblib import Parallel, delayed

    embedding = np.asarray(embedding, dtype=np.float64)
    everything = np.arange(len(embedding))
    done = Parallel(n_jobs=n_jobs)(
        delayed(_one_fold)(embedding, triplets, learned, held_out, seed)
        for learned, held_out in _splits(everything, seed)
    )
    right, penalties = zip(*done, strict=True)
    right = np.concatenate(right)
    return Probe(float(right.mean()), len(right), penalties)


def _one_fold(embedding, triplets, learned, held_out, seed):
    with threadpool_limits(1):
        penalty = _choose_penalty(embedding, triplets, learned, seed)
        rows = _rows(embedding, learned)
        transformed = _transform(rows, triplets, learned, penalty)
        return _right(transformed, _among(triplets, held_out)), penalty


def _choose_penalty(embedding, triplets, objects, seed):
    learned, held_out = _splits(objects, seed)[0]
    rows, test = _rows(embedding, learned), _among(triplets, held_out)
    losses = {}
    for penalty in PENALTIES:
        transformed = _transform(rows, triplets, learned, penalty)
        losses[penalty] = _loss(_similarities(transformed, test))
        if losses[penalty] > RISE_THAT_STOPS * min(losses.values()):
            break
    return min(losses, key=losses.get)


def _splits(objects, seed):
    from sklearn.model_selection import KFold

    folds = KFold(FOLDS, shuffle=True, random_state=seed).split(objects)
    return [(objects[most], objects[rest]) for most, rest in folds]


def _among(triplets, objects):
    """Triplets all of whose objects are among these."""
    chosen = triplets[np.isin(triplets, objects).all(axis=1)]
    if not len(chosen):
        raise InputError(
            f"No triplet lies within the {len(objects)} objects of a fold. "
            "Supply more triplets."
        )
    return chosen


def _rows(embedding, learned):
    """Centred and scaled rows of all objects on the principal axes of some of them."""
    centred = embedding - embedding[learned].mean(axis=0)
    own = centred[learned]
    _, sizes, axes = np.linalg.svd(own, full_matrices=False)
    present = sizes > max(own.shape) * np.finfo(float).eps * sizes[0]
    if not present.any():
        raise InputError(
            f"The features of {len(own)} objects are the same, so nothing can be "
            "learned from them. Extract the features again, or leave the model out."
        )
    scale = np.sqrt(np.sum(sizes**2) / len(own))
    return centred @ (axes[present].T / scale)


def _transform(rows, triplets, learned, penalty):
    """Rows of all objects times the W that is learned from some of them."""
    number = np.empty(len(rows), dtype=int)
    number[learned] = np.arange(len(learned))
    k = rows.shape[1]
    found = optimize.minimize(
        _objective,
        np.eye(k).ravel(),
        (rows[learned], number[_among(triplets, learned)], penalty),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": MAX_STEPS, "ftol": TOLERANCE, "gtol": 0},
    )
    return rows @ found.x.reshape(k, k)


def _objective(weights, rows, triplets, penalty):
    """Penalised loss of W and its gradient."""
    k = rows.shape[1]
    mapped = rows @ weights.reshape(k, k)
    similar = _similarities(mapped, triplets)
    change = special.softmax(similar, axis=0)
    change[0] -= 1
    cells = [triplets[:, list(side)].T.ravel() for side in zip(*PAIRS, strict=True)]
    by_pair = sparse.csr_array(
        (change.ravel() / len(triplets), cells), shape=(len(rows), len(rows))
    )
    gradient = rows.T @ ((by_pair + by_pair.T) @ mapped)
    loss = _loss(similar) + penalty * (weights @ weights)
    return loss, gradient.ravel() + 2 * penalty * weights


def _loss(similar):
    return np.mean(special.logsumexp(similar, axis=0) - similar[0])


def _similarities(embedding, triplets):
    """Dot products of the three pairs of each triplet, shape (3, n)."""
    gram = embedding @ embedding.T
    return np.stack([gram[triplets[:, a], triplets[:, b]] for a, b in PAIRS])


def _right(embedding, triplets):
    similar = _similarities(embedding, triplets)
    return similar[0] > similar[1:].max(axis=0)


def _accuracy(embedding, triplets):
    return float(_right(embedding, triplets).mean())
