"""Speed of ranking 86 models by 91 people, and of kappa with one of them."""

import numpy as np
import pandas as pd

from trialwise.agreement.learning import learner_kappa
from trialwise.agreement.ranks import rank_sets
from trialwise.simulation.agreement_ranks import person_values


def test_rank_sets_of_86_models(benchmark):
    values = person_values(np.linspace(0, 1, 86), 91, np.random.default_rng(0))
    ranks, pairs = benchmark.pedantic(rank_sets, args=(values, 2000), rounds=3)
    assert len(ranks) == 86
    assert len(pairs) == 86 * 85 / 2


def test_kappa_of_a_learner_and_91_people(benchmark):
    rng = np.random.default_rng(0)
    correct = rng.random((2, 91 * 120)) < 0.8
    scored = pd.DataFrame(
        {
            "participant": np.repeat(np.arange(91), 120),
            "trial": np.tile(np.arange(120), 91),
            "correct": correct[0].astype(int),
            "learner_correct": correct[1].astype(int),
        }
    )
    assert len(benchmark(learner_kappa, scored, "category")) == 91
