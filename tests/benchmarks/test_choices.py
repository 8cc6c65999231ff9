"""Speed of predicting every one of 10,920 choices from a fit that has not seen it."""

import numpy as np
import pandas as pd
import pytest

from trialwise.choices.crossvalidation import leave_one_trial_out
from trialwise.choices.design import design


@pytest.fixture(scope="module")
def choices():
    rng = np.random.default_rng(0)
    participant = np.repeat(np.arange(91), 120)
    x = rng.normal(size=participant.size)
    slope = 0.5 + 0.4 * rng.normal(size=91)
    choice = rng.random(x.size) < 1 / (1 + np.exp(-slope[participant] * x))
    return pd.DataFrame(
        {"participant": participant, "x": x, "choice": choice.astype(int)}
    )


@pytest.mark.parametrize(
    ("model", "scaling"),
    [
        ("choice ~ -1 + x + (-1 + x | participant)", "standardise"),
        ("choice ~ 1 + x + (1 + x || participant)", "divide"),
    ],
    ids=["one effect", "two effects"],
)
def test_leave_one_trial_out(benchmark, choices, model, scaling):
    held_out = benchmark.pedantic(
        leave_one_trial_out, args=(design(model, choices), "x", scaling), rounds=3
    )
    assert held_out.log_odds.shape == (10_920,)
