"""Do two observers agree beyond what is hard for everybody? A test with fixed margins.

Under a Rasch model, logit P(correct) = ability - difficulty, all matrices of right and
wrong (observers x images) with the same numbers of correct answers, by observer and by
image, are equally likely, whatever the abilities and difficulties (Rasch 1960; Ponocny
2001, Psychometrika 66, 437-460; Verhelst 2008, Psychometrika 73, 705-728). Comparing a
pair with such matrices therefore asks whether it agrees more than shared difficulty
makes it.

Summed over all pairs, n11 is the sum over images of C(correct answers, 2), which the
margins fix. Hence a group cannot exceed its own difficulty on average: a pair that
agrees more is matched by pairs that agree less. What can be tested is the single pair,
and whether pairs differ more than they should. They do so too where difficulty matters
more to some observers than to others (unequal discrimination, lapses), as in
`trialwise.simulation.agreement_worlds`: a small p says that one shared difficulty is
not all, and not yet that there are different strategies.

Matrices are sampled by global curveball trades (Strona et al. 2014, Nature
Communications 5, 4114; proved uniform by Carstens 2015, Physical Review E 91, 042812,
and for rows traded pairwise at once by Carstens et al. 2018, ESA 11).
"""

import numpy as np
import pandas as pd

from trialwise.trials import correctness, members, pairs_between

# In the published experiments the autocorrelation of n11 after three sweeps is about .1
# within groups of 10 people or 16 networks (.22 for the slowest pair) and .25 (.55)
# over all of them, so that 10,000 matrices are worth 8,000 and 6,000 independent ones.
# More sweeps cost more than they bring.
SWEEPS = 3

BLOCK = 200
TIE = 1e-9

PAIR_COLUMNS = [
    *("comparison", "observer_i", "observer_j", "n", "n11"),
    *("expected", "z", "p_upper", "p_two_sided"),
]
OVERALL_COLUMNS = ["comparison", "n_pairs", "mean_z", "variance_of_z", "p"]


def sample_matrices(correct, n_matrices, rng, labels=None, sweeps=SWEEPS):
    """Sample matrices of right and wrong with the margins of the observed one.

    Parameters
    ----------
    correct : array_like of bool, shape (m, n)
        Right or wrong of m observers on n images.
    n_matrices : int
    rng : numpy.random.Generator
    labels : array_like, shape (m,), optional
        Rows of one label trade with each other alone, so that the column sums of each
        label are fixed by themselves; default all rows are of one label. A row whose
        label is its own never changes.
    sweeps : int
        Sweeps between two sampled matrices. In a sweep every row trades with one other.

    Yields
    ------
    ndarray of bool, shape (at most 200, m, n)
        In blocks; `n_matrices` in all.

    Notes
    -----
    The serial method of Besag & Clifford (1989, Biometrika 76, 633-642): the observed
    matrix is put at a random place of a reversible chain that is run from it both ways.
    Observed and sampled matrices are then exchangeable under the null hypothesis, and p
    values exact, with no burn-in and however slowly the chain mixes; mixing only
    decides how many independent matrices the sample is worth.

    O(n_matrices sweeps m n).
    """
    observed = np.asarray(correct, dtype=bool)
    labels = np.zeros(len(observed)) if labels is None else np.asarray(labels)
    rows = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    turn = rng.integers(n_matrices + 1)
    matrix = observed.copy()
    for start in range(0, n_matrices, BLOCK):
        block = np.empty((min(BLOCK, n_matrices - start), *observed.shape), dtype=bool)
        for b in range(len(block)):
            if start + b == turn:
                matrix = observed.copy()
            for _ in range(sweeps):
                for together in rows:
                    _sweep(matrix, rng.permutation(together), rng)
            block[b] = matrix
        yield block


def _sweep(matrix, order, rng):
    for i, j in zip(order[0::2], order[1::2], strict=False):
        first, second = matrix[i], matrix[j]
        differ = np.flatnonzero(first != second)
        n_first = np.count_nonzero(first[differ])
        rng.shuffle(differ)
        first[differ[:n_first]] = True
        first[differ[n_first:]] = False
        second[differ] = ~first[differ]


def sample_overlaps(correct, i, j, n_matrices, rng, labels=None):
    """Images that both are right on, for pairs of rows of sampled matrices.

    Parameters
    ----------
    correct, n_matrices, rng, labels
        As in `sample_matrices`.
    i, j : array_like of int, shape (pairs,)
        Rows.

    Returns
    -------
    ndarray, shape (n_matrices, pairs)
        n11.
    """
    overlaps = []
    for block in sample_matrices(correct, n_matrices, rng, labels):
        block = block.astype(np.float32)
        overlaps.append((block @ block.transpose(0, 2, 1))[:, i, j])
    return np.concatenate(overlaps).astype(float)


def pair_tests(n11, sampled):
    """Compare the overlap of each pair with its sampled overlaps.

    Parameters
    ----------
    n11 : array_like, shape (pairs,)
    sampled : ndarray, shape (n_matrices, pairs)

    Returns
    -------
    expected : ndarray, shape (pairs,)
        Mean of the sampled overlaps.
    z : ndarray, shape (pairs,)
        n11 less the mean, by the standard deviation; NaN where the margins leave n11 a
        single value.
    p_upper : ndarray, shape (pairs,)
        (1 + number of sampled overlaps >= n11) / (n_matrices + 1).
    p_two_sided : ndarray, shape (pairs,)
        Twice the smaller of `p_upper` and its mirror image, at most 1.
    """
    n11 = np.asarray(n11, dtype=float)
    upper = 1 + np.sum(sampled >= n11, axis=0)
    lower = 1 + np.sum(sampled <= n11, axis=0)
    z = leave_one_out_z(np.vstack([n11, sampled]))[0]
    p_two_sided = np.minimum(1, 2 * np.minimum(upper, lower) / (len(sampled) + 1))
    return sampled.mean(axis=0), z, upper / (len(sampled) + 1), p_two_sided


def leave_one_out_z(values):
    """Standardise each row by mean and standard deviation of all other rows.

    Observed and sampled matrices are so treated alike, which keeps a test that is built
    on z exact.

    Parameters
    ----------
    values : ndarray, shape (n_matrices + 1, pairs)

    Returns
    -------
    ndarray, shape (n_matrices + 1, pairs)
        NaN in columns that hold a single value but for one row at most.
    """
    others = len(values) - 1
    centred = values - values.mean(axis=0)
    lift = 1 + 1 / others
    squares = (centred**2).sum(axis=0) - lift * centred**2
    settled = (squares < TIE).any(axis=0)
    squares[:, settled] = np.nan
    return lift * centred / np.sqrt(squares / (others - 1))


def overall_test(n11, sampled):
    """Do pairs differ more than shared difficulty lets them?

    Parameters
    ----------
    n11 : array_like, shape (pairs,)
    sampled : ndarray, shape (n_matrices, pairs)

    Returns
    -------
    variance_of_z : float
        Variance over pairs of z from `pair_tests`; about 1 under the null hypothesis.
        Pairs without z are left out; NaN if fewer than two are left.
    p : float
        (1 + number of sampled matrices whose pairs vary as much) / (n_matrices + 1),
        the z of every sampled matrix taken against all other matrices.
    """
    z = leave_one_out_z(np.vstack([np.asarray(n11, dtype=float), sampled]))
    z = z[:, ~np.isnan(z[0])]
    if z.shape[1] < 2:
        return np.nan, np.nan
    variance = z.var(axis=1, ddof=1)
    as_much = np.sum(variance[1:] >= variance[0] * (1 - TIE))
    return variance[0], (1 + as_much) / len(variance)


def difficulty_tests(trials, groups, comparisons, *, n_matrices=10_000, seed=0):
    """Test all pairs of observers for agreement beyond the difficulty of images.

    Which matrix is resampled depends on the two groups of a comparison. If they share
    an observer, as a group compared with itself, it is one matrix of all their
    observers: every image has one difficulty. If not, each group is resampled by
    itself: every image has a difficulty for each group, and a pair is tested against
    what the two difficulties, however related, make it agree on. A group of a single
    observer is then held fixed. To test people and machines against one common
    difficulty, compare a group of all of them with itself.

    Parameters
    ----------
    trials : pandas.DataFrame
        Columns ``observer, image, correct``; each observer saw each image once.
    groups : dict of str to sequence of str
        Patterns of observer names.
    comparisons : sequence of (str, str)
        Names of two groups each.
    n_matrices, seed : int
        Sampled matrices, and the seed they are drawn from.

    Returns
    -------
    pairs : pandas.DataFrame
        One row per comparison and pair: ``comparison, observer_i, observer_j, n, n11,
        expected, z, p_upper, p_two_sided``; see `pair_tests`.
    overall : pandas.DataFrame
        One row per comparison: ``comparison, n_pairs, mean_z, variance_of_z, p``; see
        `overall_test`. `n_pairs` counts the pairs that have a z.

    Raises
    ------
    InputError
        If a group names an observer that is absent, a comparison holds no pair, or
        observers saw different images.
    """
    known = sorted(trials["observer"].unique())
    pairs, overall = [], []
    for first, second in comparisons:
        name = f"{first}-{second}"
        one, other = (members(groups[group], known) for group in (first, second))
        observers = [o for o in known if o in {*one, *other}]
        _, images, correct = correctness(trials, observers)
        labels = None if set(one) & set(other) else np.isin(observers, one)
        i, j = pairs_between(observers, one, other)
        n11 = np.sum(correct[i] & correct[j], axis=1)
        rng = np.random.default_rng(seed)
        sampled = sample_overlaps(correct, i, j, n_matrices, rng, labels)
        expected, z, p_upper, p_two_sided = pair_tests(n11, sampled)
        pairs.append(
            pd.DataFrame(
                {
                    "comparison": name,
                    "observer_i": np.take(observers, i),
                    "observer_j": np.take(observers, j),
                    "n": len(images),
                    "n11": n11,
                    "expected": expected,
                    "z": z,
                    "p_upper": p_upper,
                    "p_two_sided": p_two_sided,
                }
            )
        )
        defined = z[~np.isnan(z)]
        mean_z = defined.mean() if defined.size else np.nan
        overall.append([name, defined.size, mean_z, *overall_test(n11, sampled)])
    return (
        pd.concat(pairs, ignore_index=True)[PAIR_COLUMNS],
        pd.DataFrame(overall, columns=OVERALL_COLUMNS),
    )
