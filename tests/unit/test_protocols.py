"""The way from one protocol to the next, on simulated people."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from trialwise.choices.scores import score_learner, score_table
from trialwise.choices.sensitivity import penalty_curve
from trialwise.learners.protocol import fixed_penalty_values, learner_values
from trialwise.simulation.participants import simulate_people
from trialwise.simulation.representations import simulate_representations
from trialwise.summary.protocols import measure_steps, protocols_between

ROOT = Path(__file__).parents[2]
PARTS = ["scaling", "choice_model", "predictor", "evaluation"]


@pytest.fixture(scope="module")
def protocols():
    return yaml.safe_load((ROOT / "config" / "protocols.yaml").read_text())


@pytest.fixture(scope="module")
def world():
    return simulate_representations(200, 6, 0, np.random.default_rng(3))


@pytest.fixture(scope="module")
def people(world):
    rng = np.random.default_rng(4)
    return {
        task: simulate_people(task, world, 6, 1.5, 0.3, "global", "main", rng)
        for task in ("category", "reward")
    }


@pytest.fixture(scope="module")
def values(world, people):
    def run(task, scaling):
        features = world.features["source"]
        given = people[task], features, world.images, scaling, ["main"]
        return learner_values(*given)["main"]

    return run


@pytest.mark.parametrize("task", ["category", "reward"])
def test_each_step_changes_one_part(task, protocols):
    steps = protocols_between(protocols, task)
    for before, after in pairwise(steps):
        old, new = before["protocol"], after["protocol"]
        assert [part for part in PARTS if old[part] != new[part]] == [after["part"]]
        assert new[after["part"]] == after["value"]
    ends = {step["end"]: step["protocol"] for step in steps}
    assert list(ends) == ["published", "seen-scaled", "unscaled", "comparable"]
    for name, protocol in ends.items():
        assert protocol["scaling"] == protocols[name]["scaling"][task]
        for part in ("choice_model", "predictor", "evaluation"):
            assert protocol[part] == protocols[name][part]


def test_steps_end_at_the_scores_of_the_protocols(protocols, people, values):
    some = {name: protocols[name] for name in ("published", "unscaled")}
    own = {scaling: values("reward", scaling) for scaling in ("in-place", "raw")}
    steps = measure_steps(people["reward"], own, "reward", some)
    assert steps["part"].tolist() == ["", "evaluation", "choice_model", "scaling"]
    ends = steps.drop_duplicates("end", keep="last").set_index("end")["nll"]
    for name, scaling in (("published", "in-place"), ("unscaled", "raw")):
        scored, _ = score_learner(
            people["reward"], own[scaling], "reward", protocols[name]
        )
        pooled, _ = score_table(scored, "reward")
        assert ends[name] == pytest.approx(pooled["nll"], rel=1e-12)
    assert steps["difference"].sum() == pytest.approx(ends.iloc[-1] - ends.iloc[0])


def test_penalty_curve(world, people, values, protocols):
    trials, protocol = people["category"], protocols["comparable"]
    features = world.features["source"]
    fixed = fixed_penalty_values(trials, features, world.images)["main"]
    chosen = values("category", "global")
    curve = penalty_curve(trials, fixed, chosen, protocol)
    assert np.allclose(curve["C"], np.logspace(-3, 4, 15))
    assert curve["share_ending"].sum() == pytest.approx(1)
    one = fixed[fixed["C"] == curve["C"][9]].drop(columns="C")
    scored, _ = score_learner(trials, one, "category", protocol)
    pooled, _ = score_table(scored, "category")
    assert curve["nll"][9] == pytest.approx(pooled["nll"], rel=1e-12)
    assert curve["learner_accuracy"][9] == pooled["learner_accuracy"]
    last = chosen[chosen["trial"] == 119]["C"]
    assert curve["share_ending"][0] == pytest.approx((last == 1e-3).mean())


def test_scaled_features_choose_alike(world, people, protocols):
    """`comparable` is unchanged by a shift, a rotation and a factor of the features."""
    rng = np.random.default_rng(0)
    rotation = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    changed = 1000 * world.features["source"] @ rotation + rng.normal(size=6)
    for task, trials in people.items():
        nll = []
        for features in (world.features["source"], changed):
            table = learner_values(trials, features, world.images, "global", ["main"])
            scored, _ = score_learner(
                trials, table["main"], task, protocols["comparable"]
            )
            nll.append(score_table(scored, task)[0]["nll"])
        assert nll[0] == pytest.approx(nll[1], rel=1e-8)


def test_fits_name_the_deviations_that_are_identified(people, values, protocols):
    _, fitted = score_learner(
        people["reward"], values("reward", "global"), "reward", protocols["comparable"]
    )
    assert fitted["term"].tolist() == ["Intercept", "x", "sd(Intercept)", "sd(x)"]
    assert pd.isna(fitted["standard_error"][2:]).all()
