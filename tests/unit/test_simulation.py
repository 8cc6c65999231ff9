import numpy as np
import pytest

from trialwise.consistency.kappa import kappa, pair_counts
from trialwise.errors import InputError
from trialwise.simulation.observers import (
    ObserverGroup,
    simulate_correctness,
    simulate_trials,
    write_trials,
)
from trialwise.trials import correctness, read_trials

PEOPLE = ObserverGroup("subject", 6, accuracy=0.8, consistency=0.3)
NETWORKS = ObserverGroup("network", 6, accuracy=0.3, consistency=0.6)


def test_observers_have_the_accuracy_and_consistency_asked_for():
    correct = simulate_correctness(
        PEOPLE, NETWORKS, 0.05, 100_000, np.random.default_rng(0)
    )
    n, k, n11 = pair_counts(correct)
    value = kappa(n, k[:, None], k[None, :], n11)
    within = np.triu_indices(6, k=1)
    assert k[:6] / n == pytest.approx(np.full(6, 0.8), abs=0.006)
    assert k[6:] / n == pytest.approx(np.full(6, 0.3), abs=0.006)
    assert value[:6, :6][within].mean() == pytest.approx(0.3, abs=0.01)
    assert value[6:, 6:][within].mean() == pytest.approx(0.6, abs=0.01)
    assert value[:6, 6:].mean() == pytest.approx(0.05, abs=0.01)


def test_more_consistency_than_the_accuracies_allow_is_refused():
    with pytest.raises(InputError, match=r"at most 0\.0"):
        simulate_correctness(PEOPLE, NETWORKS, 0.5, 10, np.random.default_rng(0))


def test_simulated_tables_pass_validation_and_keep_the_answers(tmp_path):
    tables = simulate_trials([PEOPLE, NETWORKS], 0.05, n=64, seed=4)
    write_trials(tables, tmp_path)
    trials = read_trials(tmp_path)
    observers, images, correct = correctness(trials)
    assert len(observers) == 12
    assert len(images) == 64
    for table in tables:
        right = (table["object_response"] == table["category"]).sum()
        assert correct[observers.index(table["subj"].iloc[0])].sum() == right
