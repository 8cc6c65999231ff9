"""When two observers are both wrong, do they give the same wrong answer?

Error consistency asks whether two observers err on the same images. `kappa_w` asks what
comes next: of the images both got wrong, on how many they gave the same answer, beyond
what the wrong answers each of them gives to that category would make coincide anyway.
"""

from functools import lru_cache
from math import comb, factorial, log, perm

import numpy as np
import pandas as pd
from scipy import sparse, special

from trialwise.consistency.null import TIE
from trialwise.errors import InputError
from trialwise.trials import (
    NO_RESPONSE,
    clusters_of,
    correctness,
    members,
    pairs_between,
)

NO_ANSWER = -1
FEWEST_OF_CATEGORY = 2
FEWEST_OF_PAIR = 50
JACKKNIFE_GROUPS = 200

PAIR_COLUMNS = [
    *("comparison", "observer_i", "observer_j", "n_answered", "n_both_wrong", "n_na"),
    *("n", "observed", "expected", "kappa_w", "kappa_w_corrected", "log10_p"),
    *("cohen_kappa", "misclassification_agreement", "capa"),
]
POOLED_COLUMNS = [
    *("comparison", "n_pairs", "n_both_wrong", "n_na", "n", "observed", "expected"),
    *("kappa_w", "kappa_w_corrected", "ci_low", "ci_high"),
    *("cohen_kappa", "misclassification_agreement", "capa"),
]


def both_wrong(category, first, second):
    """Images that both observers answered, wrongly.

    Parameters
    ----------
    category, first, second : ndarray of int, shape (n,)
        True category, and the answers of two observers, `NO_ANSWER` where there is
        none.

    Returns
    -------
    ndarray of bool, shape (n,)
    """
    answered = (first != NO_ANSWER) & (second != NO_ANSWER)
    return answered & (first != category) & (second != category)


def agreement_counts(category, first, second, weights):
    """Observed and expected equal answers on the images that both got wrong.

    Parameters
    ----------
    category, first, second : ndarray of int, shape (n,)
        As in `both_wrong`.
    weights : array_like, shape (B, n)
        How often each image counts, in each of B samples.

    Returns
    -------
    observed, expected, n, expected_distinct : ndarray, shape (B,)
        O, E = sum over categories c and answers r of n_i(r, c) n_j(r, c) / n_c, and
        N = sum of n_c, over the categories with n_c of at least two. E is the mean of
        O if the answers of one observer are permuted within each category.
        `expected_distinct` is the sum of (n_c E_c - O_c) / (n_c - 1), which leaves out
        the pairing of an image with itself.

    Notes
    -----
    Sparse products, O(B (n + categories x answers)).
    """
    wrong = np.flatnonzero(both_wrong(category, first, second))
    weights = np.asarray(weights, dtype=float)[:, wrong].T
    category, first, second = category[wrong], first[wrong], second[wrong]
    n_c = _sums(category, weights)
    same = _sums(category, weights * (first == second)[:, None])
    labels = 1 + max(first.max(initial=0), second.max(initial=0))
    cells = len(n_c) * labels
    by_answer = [
        _sums(category * labels + answer, weights, cells) for answer in (first, second)
    ]
    products = (by_answer[0] * by_answer[1]).reshape(len(n_c), labels, -1).sum(axis=1)
    used = n_c >= FEWEST_OF_CATEGORY
    n_c, same, products = n_c * used, same * used, products * used
    expected = products / np.where(used, n_c, 1)
    distinct = (products - same) / np.where(used, n_c - 1, 1)
    return tuple(values.sum(axis=0) for values in (same, expected, n_c, distinct))


def chance_corrected(observed, expected, n):
    """Agreement beyond chance as a share of what is possible, (O - E) / (N - E).

    Parameters
    ----------
    observed, expected, n : array_like, broadcast against each other
        Images on which two observers agree, on which they would agree by chance, and
        all images.

    Returns
    -------
    ndarray
        NaN where N - E is 0.
    """
    observed, expected, n = np.broadcast_arrays(observed, expected, n)
    room = n - expected
    undefined = np.full(room.shape, np.nan)
    return np.divide(observed - expected, room, out=undefined, where=room > 1e-12 * n)


def matching_counts(first, second):
    """Among all pairings of two lists, how many have x equal pairs.

    Parameters
    ----------
    first, second : sequence of int, length R
        How often each of R answers occurs in the one and the other list of n.

    Returns
    -------
    tuple of int
        For x = 0, 1, ..., the number of the n! pairings with x equal pairs; exact.

    Notes
    -----
    Equal answers fill rectangles of a_r x b_r in the n x n board of all pairs. Their
    rook polynomials, sum over k of C(a, k) C(b, k) k! z^k, multiply, and the number of
    pairings with x hits follows by inclusion and exclusion (Riordan 1958, An
    Introduction to Combinatorial Analysis, chapter 7)::

        sum_x N_x z^x = sum_k r_k (n - k)! (z - 1)^k

    O(R n^2) operations on integers of n log n bits. Inclusion and exclusion cancels,
    so that nothing less than exact integers will do.
    """
    rectangles = ((min(a, b), max(a, b)) for a, b in zip(first, second, strict=True))
    return _hits(int(sum(first)), tuple(sorted(r for r in rectangles if r[0])))


@lru_cache(maxsize=100_000)
def _hits(n, rectangles):
    rooks = [1]
    for a, b in rectangles:
        product = [0] * (len(rooks) + a)
        for k in range(a + 1):
            placements = comb(a, k) * perm(b, k)
            for i, value in enumerate(rooks):
                product[i + k] += placements * value
        rooks = product
    hits = [value * factorial(n - k) for k, value in enumerate(rooks)]
    for start in range(len(hits) - 1):
        for i in range(len(hits) - 2, start - 1, -1):
            hits[i] -= hits[i + 1]
    return tuple(hits)


def permutation_logpmf(first, second):
    """Log probability of O equal answers if answers pair at random in each category.

    Parameters
    ----------
    first, second : ndarray of int, shape (C, R)
        How often each observer gave answer r to the images of category c that both
        got wrong.

    Returns
    -------
    ndarray
        For O = 0, 1, ... up to the largest possible number; -inf where impossible.

    Notes
    -----
    Exact within each category (`matching_counts`), and a convolution of logarithms of
    positive terms across them, so that no probability is lost however small.
    """
    total = np.zeros(1)
    for one, other in zip(first, second, strict=True):
        counts = matching_counts(one.tolist(), other.tolist())
        log_all = log(factorial(int(one.sum())))
        shorter = [log(x) - log_all if x else -np.inf for x in counts]
        longer = np.full(len(total) + len(shorter) - 1, -np.inf)
        for x, log_p in enumerate(shorter):
            part = longer[x : x + len(total)]
            np.logaddexp(part, total + log_p, out=part)
        total = longer
    return total


def permutation_test(category, first, second):
    """Exact test of the number of equal wrong answers against chance.

    The null: whatever answers each observer gives to the images of a category that
    both got wrong, they are unrelated between the images. Two-sided: the probability of
    all outcomes no more likely than the observed one, as in
    `trialwise.consistency.null.exact_null`.

    Parameters
    ----------
    category, first, second : ndarray of int, shape (n,)
        As in `both_wrong`.

    Returns
    -------
    float
        Decimal logarithm of p; finite however small p is.
    """
    wrong = both_wrong(category, first, second)
    category, first, second = category[wrong], first[wrong], second[wrong]
    shape = (
        category.max(initial=0) + 1,
        max(first.max(initial=0), second.max(initial=0)) + 1,
    )
    tables = np.zeros((2, *shape), dtype=int)
    for table, answer in zip(tables, (first, second), strict=True):
        np.add.at(table, (category, answer), 1)
    used = tables[0].sum(axis=1) >= FEWEST_OF_CATEGORY
    logpmf = permutation_logpmf(*tables[:, used])
    observed = logpmf[np.sum((first == second) & used[category])]
    unlikely = logpmf[logpmf <= observed + TIE]
    return (special.logsumexp(unlikely) - special.logsumexp(logpmf)) / np.log(10)


def jackknife_weights(clusters):
    """Weights of images: all of them, then with each group of clusters left out.

    Parameters
    ----------
    clusters : array_like, shape (n,)
        Images with one label are left out together.

    Returns
    -------
    ndarray, shape (1 + groups, n)
        A group is a single cluster, or every 200th where there are more than 200
        clusters (the delete-a-group jackknife, Kott 2001), so that it takes O(n).
    """
    _, code = np.unique(np.asarray(clusters), return_inverse=True)
    group = code % JACKKNIFE_GROUPS
    kept = np.arange(group.max() + 1)[:, None] != group
    return np.vstack([np.ones(len(group)), kept])


def jackknife_interval(values, level=0.95):
    """Normal interval with the jackknife's standard error (Tukey 1958).

    Parameters
    ----------
    values : ndarray, shape (1 + groups,)
        A statistic under each of `jackknife_weights`.

    Returns
    -------
    low, high : float
    """
    n = len(values) - 1
    error = np.sqrt((n - 1) * np.var(values[1:]))
    half = special.ndtri((1 + level) / 2) * error
    return values[0] - half, values[0] + half


def cohen_kappa(first, second):
    """Cohen's (1960) kappa of two sequences of labels.

    Parameters
    ----------
    first, second : array_like, shape (n,)
        Labels.

    Returns
    -------
    float
        NaN for no labels, or if both sequences hold one and the same label only.
    """
    if not len(first):
        return np.nan
    labels, codes = np.unique([first, second], return_inverse=True)
    one, other = np.eye(len(labels))[codes.reshape(2, -1)].sum(axis=1)
    n = len(first)
    return float(chance_corrected(np.sum(first == second), one @ other / n, n))


def misclassification_agreement(category, first, second):
    """Misclassification agreement (Xu et al. 2025, arXiv 2409.13919).

    Cohen's kappa of the two answers on the images that both got wrong. Unlike kappa_w
    it takes the margins over all categories together, so that agreement about which
    answers go with which category counts as agreement on the image.

    Parameters
    ----------
    category, first, second : ndarray of int, shape (n,)
        What each image shows, and what either observer answered.

    Returns
    -------
    float
        NaN as for `cohen_kappa`.
    """
    wrong = both_wrong(category, first, second)
    return cohen_kappa(first[wrong], second[wrong])


def capa(category, first, second, n_answers):
    """Chance-adjusted agreement (CAPA, Goel et al. 2025, arXiv 2502.04313).

    In its form for single answers: observed agreement, corrected by that of independent
    observers of the same accuracies p whose wrong answers spread evenly over all other
    categories, p_i p_j + (1 - p_i)(1 - p_j) / (n_answers - 1).

    Parameters
    ----------
    category, first, second : ndarray of int, shape (n,)
        What each image shows, and what either observer answered.
    n_answers : int
        Possible answers.

    Returns
    -------
    float
        NaN for no images.
    """
    n = len(category)
    if not n:
        return np.nan
    p_i, p_j = np.mean(first == category), np.mean(second == category)
    expected = p_i * p_j + (1 - p_i) * (1 - p_j) / (n_answers - 1)
    return float(chance_corrected(np.sum(first == second), n * expected, n))


def wrong_answer_agreement(trials, groups, comparisons, *, cluster=None, level=0.95):
    """Compare the wrong answers of all pairs of observers, and of groups.

    Parameters
    ----------
    trials : pandas.DataFrame
        From `trialwise.trials.read_trials`; a response ``na`` is no answer.
    groups : dict of str to sequence of str
        Patterns of observer names.
    comparisons : sequence of trialwise.consistency.comparisons.Comparison
    cluster : str, optional
        Regular expression whose first group, searched in the image name, labels images
        to be left out together; default the column ``cluster`` of the trials, or
        every image by itself.
    level : float
        Of the interval of a pooled value.

    Returns
    -------
    pairs : pandas.DataFrame
        Every pair that a comparison holds, once, with the first that does: images that
        both answered (`n_answered`); that both got wrong (`n_both_wrong`), of these
        left out because one gave no answer (`n_na`), and used, in categories with at
        least two (`n`); O and E; kappa_w, the same corrected for small categories, and
        the exact two-sided p of O, all NaN where n is below 50; and, on the images both
        answered, the measures of others.
    pooled : pandas.DataFrame
        One row per comparison: sums over pairs of the counts, kappa_w of the sums, and
        the means over pairs of the measures of others. E counts the pairing of every
        image with itself, which draws kappa_w towards 0 where categories have few
        images; `kappa_w_corrected` does without (`agreement_counts`) and has the
        interval. That is the jackknife's over images, with the observers as they are;
        drawing images with replacement would pair them with themselves again.

    Raises
    ------
    InputError
        If a group names an observer that is absent, a comparison holds no pair, images
        cannot be paired, or an image has two categories.

    Notes
    -----
    Nothing is drawn at random.
    """
    observers, images, category, answers, n_labels = _answers(trials)
    labels = clusters_of(trials, images, cluster)
    weights = jackknife_weights(labels)
    counts, rows, pooled = {}, {}, []
    for comparison in comparisons:
        first = members(groups[comparison.first], observers)
        second = members(groups[comparison.second], observers)
        held = list(zip(*pairs_between(observers, first, second), strict=True))
        for i, j in held:
            if (i, j) not in rows:
                counts[i, j] = agreement_counts(
                    category, answers[i], answers[j], weights
                )
                now = [count[0] for count in counts[i, j]]
                measures = _measures(category, answers[i], answers[j], n_labels, *now)
                names = {"observer_i": observers[i], "observer_j": observers[j]}
                rows[i, j] = {"comparison": comparison.name, **names, **measures}
        pooled.append(
            _pool(comparison.name, [(rows[p], counts[p]) for p in held], level)
        )
    pairs = pd.DataFrame(rows.values(), columns=PAIR_COLUMNS)
    return pairs, pd.DataFrame(pooled, columns=POOLED_COLUMNS)


def _answers(trials):
    """Observers, images, true categories (n,), answers (m, n), possible answers."""
    observers, images, _ = correctness(trials)
    by_image = trials.groupby("image")["category"]
    if (by_image.nunique() > 1).any():
        image = by_image.nunique().idxmax()
        raise InputError(
            f"Image {image} has more than one category. Correct its `category`."
        )
    category = by_image.first().loc[images]
    response = trials.pivot(index="observer", columns="image", values="response")
    response = response.loc[observers, images].to_numpy(dtype=str)
    names = sorted({*category, *np.unique(response)} - {NO_RESPONSE})
    # The indexer has -1, our NO_ANSWER, for what is not among the names.
    category = pd.Index(names).get_indexer(category)
    answers = pd.Index(names).get_indexer(response.ravel()).reshape(response.shape)
    return observers, images, category, answers, len(names)


def _measures(category, first, second, n_labels, observed, expected, n, distinct):
    """All measures of one pair; what is not for so few images is absent."""
    answered = (first != NO_ANSWER) & (second != NO_ANSWER)
    wrong = (first != category) & (second != category)
    category, first, second = category[answered], first[answered], second[answered]
    measures = {
        "n_answered": int(answered.sum()),
        "n_both_wrong": int(wrong.sum()),
        "n_na": int((wrong & ~answered).sum()),
        "n": int(n),
        "observed": int(observed),
        "expected": expected,
        "cohen_kappa": cohen_kappa(first, second),
        "misclassification_agreement": misclassification_agreement(
            category, first, second
        ),
        "capa": capa(category, first, second, n_labels),
    }
    if n >= FEWEST_OF_PAIR:
        measures["kappa_w"] = float(chance_corrected(observed, expected, n))
        measures["kappa_w_corrected"] = float(chance_corrected(observed, distinct, n))
        measures["log10_p"] = permutation_test(category, first, second)
    return measures


def _pool(name, pairs, level):
    """One comparison: sums of counts, kappa_w of sums, means of other measures."""
    rows = pd.DataFrame([row for row, _ in pairs])
    observed, expected, n, distinct = np.sum([counts for _, counts in pairs], axis=0)
    corrected = chance_corrected(observed, distinct, n)
    low, high = jackknife_interval(corrected, level)
    means = rows[["cohen_kappa", "misclassification_agreement", "capa"]].mean()
    return {
        "comparison": name,
        "n_pairs": len(rows),
        **rows[["n_both_wrong", "n_na"]].sum(),
        "n": int(n[0]),
        "observed": int(observed[0]),
        "expected": expected[0],
        "kappa_w": float(chance_corrected(observed[0], expected[0], n[0])),
        "kappa_w_corrected": corrected[0],
        "ci_low": low,
        "ci_high": high,
        **means,
    }


def _sums(code, weights, size=None):
    """Sums of weights (n, B) over equal codes (n,), shape (codes, B)."""
    size = 1 + code.max(initial=0) if size is None else size
    rows = sparse.csr_array(
        (np.ones(len(code)), (code, np.arange(len(code)))), shape=(size, len(code))
    )
    return rows @ weights
