"""People simulated from a known learner and representation, found again."""

import numpy as np
import pandas as pd
import pytest
import yaml

from trialwise.choices.scores import score_learner, score_table
from trialwise.learners.protocol import learner_values
from trialwise.simulation.participants import simulate_people
from trialwise.simulation.recovery import recovery
from trialwise.simulation.representations import simulate_representations

BETA = 1.2


@pytest.fixture(scope="module")
def fits(pytestconfig):
    """Pooled scores and fitted models of the source and two decoys, reward task."""
    path = pytestconfig.rootpath.parent / "config" / "protocols.yaml"
    protocol = yaml.safe_load(path.read_text())["comparable"]
    rng = np.random.default_rng(1)
    world = simulate_representations(400, 20, 2, rng)
    trials = simulate_people("reward", world, 24, BETA, 0.4, "global", "main", rng)
    found = {}
    for model, features in world.features.items():
        values = learner_values(trials, features, world.images, "global", ["main"])
        scored, fitted = score_learner(trials, values["main"], "reward", protocol)
        found[model] = score_table(scored, "reward")[0], fitted.set_index("term")
    return found


def test_the_representation_people_used_ranks_first(fits):
    nll = {model: pooled["nll"] for model, (pooled, _) in fits.items()}
    gain = {model: pooled["gain_over_truth"] for model, (pooled, _) in fits.items()}
    assert min(nll, key=nll.get) == "source"
    assert max(gain, key=gain.get) == "source"


def test_recovery_says_so(fits):
    scores = pd.DataFrame(
        {"task": "reward", "model": model, **pooled}
        for model, (pooled, _) in fits.items()
    )
    tables = pd.concat(
        fitted.reset_index().assign(task="reward", model=model)
        for model, (_, fitted) in fits.items()
    )
    table = recovery(scores, tables, {"beta": BETA, "sigma": 0.4})
    assert table["ranked_first"].tolist() == ["source", "source"]
    assert table["estimate"][0] == fits["source"][1].loc["x", "estimate"]
    assert (table["nll_second"] > table["nll"]).all()
    assert table["estimate"][1] == fits["source"][1].loc["sd(x)", "estimate"]
    assert table["true"].tolist() == [BETA, 0.4]


def test_the_slope_is_recovered(fits):
    slope = fits["source"][1].loc["x"]
    assert abs(slope["estimate"] - BETA) < 2.5 * slope["standard_error"]
    assert fits["source"][1]["converged"].all()
