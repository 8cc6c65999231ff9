"""Agreement of people beyond the difficulty of images, on the published trials.

z of the 45 pairs of people, and the variance over them, are those of R's vegan 2.6-4:
`simulate(nullmodel(m, "curveball"), burnin = 1000, thin = 50)`, 20,000 matrices (cue
conflict: 4,000).
"""

from math import comb

import numpy as np
import pytest

from trialwise.agreement.fixed_margins import difficulty_tests
from trialwise.agreement.individuation import individuation, individuation_power
from trialwise.trials import correctness, is_human, load_trials

GROUPS = {"human": ["subject-*"], "cornet": ["cornet-s"], "resnet50": ["resnet50"]}
N_MATRICES = 2000
VEGAN_Z = {
    "edges": [
        *(-0.78, -2.01, -0.95, 0.22, -1.27, 0.24, 0.21, -1.97, -1.47, 2.48, 0.61, 1.41),
        *(2.51, -1.40, 2.22, -0.89, -0.16, 2.65, 0.77, 1.91, -1.40, 0.89, 0.45, 0.15),
        *(1.87, 1.96, -0.13, 1.27, -1.01, -0.48, 0.05, -1.29, 1.90, -1.73, -0.22),
        *(-1.39, 0.89, -1.42, 0.16, -0.90, -1.86, 0.35, -0.37, -1.12, 0.61),
    ],
    "silhouettes": [
        *(1.27, 0.73, 1.38, -0.29, -1.00, 1.50, -3.30, 1.32, -1.35, 0.22, 0.93, -0.39),
        *(-0.79, 1.30, -2.59, 1.00, -0.49, 1.39, 0.20, 0.52, 1.98, -3.29, -0.16, 0.27),
        *(1.21, 0.40, 1.96, -1.96, 1.28, -0.95, 0.63, 1.27, -2.24, 1.51, -1.12, 0.87),
        *(-2.12, -0.81, 0.06, -1.03, 2.75, 0.86, -1.34, -1.97, -0.90),
    ],
    "cue-conflict": [
        *(0.07, -0.63, -3.50, -3.64, -2.53, -1.46, -2.03, -4.52, -3.60, 3.64, 1.50),
        *(2.24, 1.90, 1.67, 3.65, 0.20, 1.94, 1.69, 2.14, -0.23, -0.39, 1.78, 0.21),
        *(0.68, 1.55, -2.37, -2.61, 1.41, -2.35, -0.91, 0.73, 0.94, 2.71, 0.37, 0.75),
        *(-0.21, 0.15, -1.06, -0.31, 0.88, -1.18, 0.96, 0.42, 0.78, -0.61),
    ],
}
VEGAN_VARIANCE = {"edges": 1.807, "silhouettes": 2.143, "cue-conflict": 3.760}

per_experiment = pytest.mark.parametrize("experiment", VEGAN_Z)


@pytest.fixture(scope="module")
def trials(consistency):
    return {e: load_trials(consistency / e / "trials.csv") for e in VEGAN_Z}


@per_experiment
def test_pairs_of_people_equal_vegans(experiment, trials):
    pairs, overall = difficulty_tests(
        trials[experiment], GROUPS, [("human", "human")], n_matrices=N_MATRICES
    )
    # z of 2,000 matrices has a standard error of sqrt(1 + z^2 / 2) / sqrt(2,000), more
    # by a tenth as the matrices are correlated; vegan's own comes on top.
    error = 1.3 * np.sqrt((1 + pairs["z"] ** 2 / 2) / N_MATRICES)
    assert (np.abs(pairs["z"] - VEGAN_Z[experiment]) < 4 * error + 0.005).all()
    variance = overall["variance_of_z"].item()
    assert variance == pytest.approx(VEGAN_VARIANCE[experiment], rel=0.06)
    assert overall["p"].item() < 0.01


@per_experiment
def test_the_sum_over_pairs_is_that_of_the_margins(experiment, trials):
    pairs, _ = difficulty_tests(
        trials[experiment],
        GROUPS,
        [("human", "human"), ("cornet", "human"), ("cornet", "resnet50")],
        n_matrices=50,
    )
    sums = pairs.groupby("comparison")[["n11", "expected"]].sum()
    assert np.allclose(sums["n11"], sums["expected"], rtol=1e-12)
    people = trials[experiment][is_human(trials[experiment]["observer"])]
    _, _, correct = correctness(people)
    expected = sum(comb(int(k), 2) for k in correct.sum(axis=0))
    assert sums.loc["human-human", "n11"] == expected
    assert pairs["z"].isna().sum() == 1


def test_people_as_replicas_of_people(trials):
    result = individuation(
        trials["edges"], ["subject-*"], ["subject-*"], n_matrices=500, n_resamples=200
    )
    assert len(result) == 90
    assert (result["smallest_p"] == 1 / 9).all()
    assert (result["p_rank"] >= 1 / 9).all()
    assert set(result["fidelity_note"]) == {"no repeat session"}
    # Every person saw the images in an order of their own.
    assert (result["n_same_order"] == 0).all()
    both = result.set_index(["replica", "target"])["n11"]
    assert all(both[r, t] == both[t, r] for r, t in both.index)


def test_half_copied_replicas_are_told_from_people(trials):
    _, power = individuation_power(
        trials["cue-conflict"],
        ["subject-*"],
        copy_probabilities=(0, 0.3),
        n_replicas=20,
        n_matrices=500,
    )
    by_copying = power.set_index("copy_probability")
    assert by_copying["lowest_power"][0.3] > 0.9
    # The people are no Rasch model: one of them agrees with anybody's replica.
    assert by_copying["highest_power"][0] > 0.2
