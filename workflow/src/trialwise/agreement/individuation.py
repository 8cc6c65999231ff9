"""Does a replica agree with its target more than with people like the target?

A replica that is as accurate as its target and finds the same images hard agrees with
it well, and with everybody else no worse. The replica R is therefore held fixed, and
the answers of the people, among them the target T, are resampled with the margins they
have: T's accuracy and every image's difficulty stay, and all that makes T different
from people like T goes (see `trialwise.agreement.fixed_margins`). The test is exact if
the people follow a Rasch model. To a target whom difficulty matters more than to
others, anybody's replica is close, and to an erratic one nobody's: put z beside that of
other people with the same target, and see what size `individuation_power` finds for
every target.

As R and T keep their accuracies, kappa(R, T) rises with n11 in a straight line, so that
a test of one is a test of the other, and the null mean of kappa, k0, is the kappa at
the null mean of n11.
"""

import numpy as np
import pandas as pd
from scipy import stats

from trialwise.agreement.fixed_margins import sample_matrices
from trialwise.consistency.intervals import draw_clusters, percentile_interval
from trialwise.consistency.kappa import kappa
from trialwise.errors import InputError
from trialwise.trials import clusters_of, correctness, members

COPY_PROBABILITIES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0)

MEASURES = [
    *("kappa", "null_kappa", "excess", "excess_low", "excess_high"),
    *("fidelity", "fidelity_low", "fidelity_high", "fidelity_note", "n_undefined"),
]
COLUMNS = [
    *("replica", "target", "n", "n11", "expected", "z", "p_upper", "z_others"),
    *MEASURES,
    *("panel_kappa", "rank", "p_rank", "smallest_p", "n_same_order"),
]


def fixed_observer_null(people, fixed, n_matrices, rng):
    """Overlap of each person with fixed observers, and its null distribution.

    Parameters
    ----------
    people : ndarray of bool, shape (m, n)
        Resampled with both margins fixed.
    fixed : ndarray of bool, shape (m, r, n) or (1, r, n)
        Observers to compare with each person, or with all of them alike.
    n_matrices : int
    rng : numpy.random.Generator

    Returns
    -------
    dict of str to ndarray, shape (m, r)
        ``n11``; ``expected``, its null mean; ``z``, NaN where the margins leave n11 a
        single value; and ``p_upper``, (1 + number of sampled n11 >= n11) /
        (n_matrices + 1).
    probability : ndarray, shape (m, n)
        Share of the sampled matrices in which a person is right on an image.

    Notes
    -----
    O(n_matrices m n r).
    """
    vectors = fixed.astype(np.float32).transpose(0, 2, 1)
    n11 = (people[:, None].astype(np.float32) @ vectors)[:, 0]
    total, squares, reached = np.zeros((3, *n11.shape))
    probability = np.zeros(people.shape)
    for block in sample_matrices(people, n_matrices, rng):
        probability += block.sum(axis=0)
        sampled = block.transpose(1, 0, 2).astype(np.float32) @ vectors
        # About the observed value, so that squares stay small integers, which add up
        # without rounding.
        sampled -= n11[:, None]
        total += sampled.sum(axis=1, dtype=float)
        squares += np.square(sampled, dtype=float).sum(axis=1)
        reached += np.sum(sampled >= 0, axis=1)
    mean = total / n_matrices
    variance = (squares - n_matrices * mean**2) / (n_matrices - 1)
    z = np.full(n11.shape, np.nan)
    np.divide(-mean, np.sqrt(variance.clip(0)), out=z, where=variance > 1e-9)
    tests = {
        "n11": n11.astype(float),
        "expected": n11 + mean,
        "z": z,
        "p_upper": (1 + reached) / (n_matrices + 1),
    }
    return tests, probability / n_matrices


def copy_replicas(target, probability, copy_probability, n_replicas, rng):
    """Simulate replicas that copy a target on some images.

    Parameters
    ----------
    target : ndarray of bool, shape (n,)
        Right or wrong of the target.
    probability : ndarray, shape (n,)
        How probably a person with the accuracy of the target is right on each image, as
        from `fixed_observer_null`.
    copy_probability : float
        On each image, by itself, a replica is right or wrong as the target is with this
        probability, and otherwise right with `probability`. Replicas so have the
        expected accuracy of the target, and 0 makes them other people like it.
    n_replicas : int
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of bool, shape (n_replicas, n)
    """
    shape = n_replicas, len(target)
    own = rng.random(shape) < probability
    return np.where(rng.random(shape) < copy_probability, target, own)


def individuation(
    trials,
    people,
    replicas,
    *,
    panel=(),
    trained_on=(),
    cluster=None,
    n_matrices=10_000,
    n_resamples=2000,
    level=0.95,
    seed=0,
):
    """Test every replica against every person as its target.

    Parameters
    ----------
    trials : pandas.DataFrame
        Columns ``observer, image, correct`` and, for a warning, ``session, trial``. Who
        answered an image again has further rows for it, sessions in order: the first
        answer is used, and the second is the repeat session of a target.
    people : sequence of str
        Patterns of the observers who can be targets.
    replicas : sequence of str
        Patterns of observers. A replica who is one of the people is left out of the
        matrix that is resampled.
    panel : sequence of str
        Patterns of observers, such as machines, to compare each replica with.
    trained_on : collection of str
        Images that a replica was made from.
    cluster : str, optional
        Regular expression whose first group, searched in the image name, labels images
        to be resampled together; default the column ``cluster`` of the trials, or every
        image by itself.
    n_matrices, n_resamples : int
        Sampled matrices, and bootstrap samples of the images.
    level : float
        Of the bootstrap percentile intervals.
    seed : int

    Returns
    -------
    pandas.DataFrame
        One row per replica and target.

        ``n, n11, expected, z, p_upper``
            Images, images both got right, and their test; see `fixed_observer_null`.
        ``z_others``
            Mean z of the other replicas who are people with the same target; NaN
            without any. A target everybody is close to has a large one, and then z is
            no evidence.
        ``kappa, null_kappa``
            kappa(R, T) and k0.
        ``excess, excess_low, excess_high``
            kappa(R, T) - k0 with its interval.
        ``fidelity, fidelity_low, fidelity_high, fidelity_note, n_undefined``
            F = (kappa(R, T) - k0) / (kappa(T, T') - k0) with its interval, T' being the
            repeat session of T: 0 for a replica like anybody, 1 for one as close to T
            as T is. NaN with the reason in `fidelity_note`; resamples whose denominator
            is not positive are left out of the interval and counted.
        ``panel_kappa``
            Mean kappa of R with the panel but R.
        ``rank, p_rank, smallest_p``
            Rank of T by z among the targets of R, and its share: the p value of a rank
            test, which cannot be below `smallest_p` = 1 / targets.
        ``n_same_order``
            Others, R among them, who saw the images in the order of T. Where it is not
            0 they may agree because of the order; NaN where `trial` is not known.

    Raises
    ------
    InputError
        If a replica was trained on an image of the trials, an observer is absent, fewer
        than two people are left, or observers saw different images.
    """
    _refuse_trained(trials, trained_on)
    turn = trials.groupby(["observer", "image"]).cumcount()
    first, again = trials[turn == 0], trials[turn == 1]
    known = sorted(first["observer"].unique())
    people, replicas, panel = (members(p, known) for p in (people, replicas, panel))
    observers = list(dict.fromkeys([*people, *replicas, *panel]))
    _, images, correct = correctness(first, observers)
    answers = dict(zip(observers, correct, strict=True))
    repeats = {t: _repeat(again[again["observer"] == t], images) for t in people}
    places = _places(first)
    rng, draw = np.random.default_rng(seed).spawn(2)
    clusters = clusters_of(first, images, cluster)
    drawn = draw_clusters(clusters, n_resamples, draw)
    # The images as they are, then the bootstrap samples of them.
    weights = np.vstack([np.ones(len(images)), drawn])
    machines = [r for r in replicas if r not in people]
    cases = [(machines, people)] if machines else []
    cases += [([r], [p for p in people if p != r]) for r in replicas if r in people]
    rows = []
    for case, targets in cases:
        _require_two(targets)
        resampled = np.stack([answers[t] for t in targets])
        fixed = np.stack([answers[r] for r in case])
        tests, probability = fixed_observer_null(
            resampled, fixed[None], n_matrices, rng
        )
        for r, replica in enumerate(case):
            rank = stats.rankdata(-tests["z"][:, r], "max", nan_policy="omit")
            beside = [answers[o] for o in panel if o != replica]
            panel_kappa = _mean_kappa(fixed[r], beside)
            for t, target in enumerate(targets):
                rows.append(
                    {
                        "replica": replica,
                        "target": target,
                        "n": len(images),
                        **{name: values[t, r] for name, values in tests.items()},
                        **_excess_and_fidelity(
                            *(fixed[r], resampled[t], probability[t]),
                            *(*repeats[target], weights, level),
                        ),
                        "panel_kappa": panel_kappa,
                        "rank": rank[t],
                        "p_rank": rank[t] / len(targets),
                        "smallest_p": 1 / len(targets),
                        "n_same_order": _n_same_order(
                            places, target, [*targets, replica]
                        ),
                    }
                )
    table = pd.DataFrame(rows).astype({"n11": int})
    return table.assign(z_others=_z_of_other_people(table, people))[COLUMNS]


def individuation_power(
    trials,
    people,
    *,
    copy_probabilities=COPY_PROBABILITIES,
    n_replicas=100,
    alpha=0.05,
    n_matrices=10_000,
    seed=0,
):
    """How much of a target a replica must copy to be told from people like the target.

    Parameters
    ----------
    trials : pandas.DataFrame
        Columns ``observer, image, correct``; of repeated answers the first is used.
    people : sequence of str
        Patterns of observer names; each person is a target.
    copy_probabilities : sequence of float
        See `copy_replicas`; 0 gives the size of the test.
    n_replicas : int
        Simulated replicas per target and copy probability.
    alpha : float
        Level of the test.
    n_matrices, seed : int

    Returns
    -------
    replicas : pandas.DataFrame
        One row per target, copy probability and replica: ``target, copy_probability,
        replica, n11, expected, kappa, null_kappa, z, p_upper``.
    power : pandas.DataFrame
        One row per copy probability: ``copy_probability, n_targets, n_replicas`` (per
        target), means of ``kappa, null_kappa``, ``power`` (share of p_upper <= alpha)
        and its ``lowest_power, highest_power`` among the targets. At copy probability
        0 that is the size, which is above `alpha` for a target whom difficulty matters
        more than to others.

    Raises
    ------
    InputError
        As `individuation`.
    """
    first = trials[~trials.duplicated(["observer", "image"])]
    targets = members(people, sorted(first["observer"].unique()))
    _require_two(targets)
    _, images, correct = correctness(first, targets)
    rng = np.random.default_rng(seed)
    _, probability = fixed_observer_null(correct, correct[None, :1], n_matrices, rng)
    simulated = np.stack(
        [
            np.concatenate(
                [copy_replicas(*case, q, n_replicas, rng) for q in copy_probabilities]
            )
            for case in zip(correct, probability, strict=True)
        ]
    )
    tests, _ = fixed_observer_null(correct, simulated, n_matrices, rng)
    margins = len(images), simulated.sum(axis=2), correct.sum(axis=1)[:, None]
    tests["kappa"] = kappa(*margins, tests["n11"])
    tests["null_kappa"] = kappa(*margins, tests["expected"])
    index = pd.MultiIndex.from_product(
        [targets, copy_probabilities, range(n_replicas)],
        names=["target", "copy_probability", "replica"],
    )
    columns = ["n11", "expected", "kappa", "null_kappa", "z", "p_upper"]
    values = {name: tests[name].ravel() for name in columns}
    replicas = pd.DataFrame(values, index=index).reset_index().astype({"n11": int})
    found = replicas.assign(power=replicas["p_upper"] <= alpha)
    by_target = found.groupby(["copy_probability", "target"])[
        ["kappa", "null_kappa", "power"]
    ].mean()
    by_copying = by_target.groupby("copy_probability")
    power = by_copying.mean()
    power.insert(0, "n_targets", len(targets))
    power.insert(1, "n_replicas", n_replicas)
    power["lowest_power"] = by_copying["power"].min()
    power["highest_power"] = by_copying["power"].max()
    return replicas, power.reset_index()


def _excess_and_fidelity(replica, target, probability, again, note, weights, level):
    """Excess and fidelity, on the images as they are and in bootstrap samples of them.

    A person like T is right with `probability`, so that k0 is the kappa of R with the
    expected counts of such a person, in a sample as on all images.
    """
    n, k_replica, k_target = weights.sum(axis=1), weights @ replica, weights @ target
    null_kappa = kappa(
        n, k_replica, weights @ probability, weights @ (probability * replica)
    )
    value = kappa(n, k_replica, k_target, weights @ (replica & target))
    excess = value - null_kappa
    fidelity = np.full(excess.shape, np.nan)
    if again is not None:
        itself = kappa(n, k_target, weights @ again, weights @ (target & again))
        room = itself - null_kappa
        if room[0] > 0:
            np.divide(excess, room, out=fidelity, where=room > 0)
        else:
            note = "the target agrees with itself no better than people like it"
    n_undefined, fidelity_interval = 0, (np.nan, np.nan)
    if not np.isnan(fidelity[0]):
        n_undefined = int(np.isnan(fidelity[1:]).sum())
        fidelity_interval = percentile_interval(fidelity[1:], level)
    values = [
        *(value[0], null_kappa[0]),
        *(excess[0], *percentile_interval(excess[1:], level)),
        *(fidelity[0], *fidelity_interval, note, n_undefined),
    ]
    return dict(zip(MEASURES, values, strict=True))


def _z_of_other_people(table, people):
    known = table["replica"].isin(people) & table["z"].notna()
    z = table["z"].where(known, 0)
    by_target = table["target"]
    total = z.groupby(by_target).transform("sum") - z
    count = known.groupby(by_target).transform("sum") - known
    return total / count.where(count > 0)


def _repeat(trials, images):
    """Right or wrong of a repeat session, or None; and why there is none."""
    if trials.empty:
        return None, "no repeat session"
    again = trials.set_index("image")["correct"].reindex(images)
    if again.isna().any():
        return None, f"the repeat session lacks {again.isna().sum()} of the images"
    return again.to_numpy(dtype=bool), ""


def _mean_kappa(replica, others):
    if not others:
        return np.nan
    others = np.stack(others)
    n11 = (others & replica).sum(axis=1)
    return kappa(len(replica), replica.sum(), others.sum(axis=1), n11).mean()


def _places(trials):
    """Session and number of the trial of every image, by observer; None if unknown."""
    if "trial" not in trials or (trials["trial"].astype(str) == "").any():
        return None
    place = trials["trial"].astype(str)
    if "session" in trials:
        place = trials["session"].astype(str) + " " + place
    placed = trials.assign(place=place).sort_values("image")
    return {o: rows.tolist() for o, rows in placed.groupby("observer")["place"]}


def _n_same_order(places, target, others):
    if places is None:
        return np.nan
    return sum(places[o] == places[target] for o in others if o != target)


def _refuse_trained(trials, trained_on):
    used = trials["image"].isin(set(trained_on))
    if used.any():
        image = trials.loc[used, "image"].iloc[0]
        raise InputError(
            f"A replica was made from answers to image {image}, which is among the "
            "trials. Compare on images that no replica was made from."
        )


def _require_two(people):
    if len(people) < 2:
        raise InputError(
            f"There is no person but {', '.join(people)} to resample answers of. "
            "A replica needs two people or more besides itself."
        )
