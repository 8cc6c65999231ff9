"""Difficulty and wrong answers on the real trials, and the mixed model against lme4."""

import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest
import yaml

from trialwise.agreement.difficulty import CrossedLaplace, difficulty_correlation, fit
from trialwise.agreement.wrong_answers import wrong_answer_agreement
from trialwise.consistency.comparisons import Comparison
from trialwise.simulation.agreement_models import difficulty_world
from trialwise.trials import correctness, members, read_trials

# As in test_lme4: without 1e-13, lme4's log det H is from before its last step; where
# that fails for rounding error alone, the usual 1e-10.
GLMER = r"""
suppressMessages(library(lme4))
data <- read.csv("data.csv", stringsAsFactors = TRUE)
model <- correct ~ -1 + group + (-1 + group | image) + (1 | observer)
glmer_with <- function(tolerance) {
    control <- glmerControl(
        optimizer = "bobyqa", tolPwrss = tolerance, calc.derivs = FALSE,
        optCtrl = list(rhobeg = 0.02, rhoend = 1e-8, maxfun = 1e5)
    )
    suppressMessages(suppressWarnings(glmer(model, data, binomial, control = control)))
}
fit <- try(glmer_with(1e-13), silent = TRUE)
if (inherits(fit, "try-error")) fit <- glmer_with(1e-10)
groups <- as.data.frame(VarCorr(fit))
say <- function(name, x) cat(name, format(as.vector(x), digits = 17), "\n")
say("deviance", -2 * logLik(fit))
say("beta", fixef(fit))
say("sd", groups$sdcor[groups$grp == "image" & is.na(groups$var2)])
say("correlation", groups$sdcor[!is.na(groups$var2)])
say("sd_observer", groups$sdcor[groups$grp == "observer"])
"""

COMPARISONS = [
    Comparison("human", "human"),
    Comparison("cnn16", "human"),
    Comparison("cnn16", "cnn16"),
]


@pytest.fixture(scope="module")
def groups(request):
    config = request.config.rootpath.parent / "config" / "config.yaml"
    return yaml.safe_load(config.read_text())["groups"]


@pytest.fixture(scope="module")
def trials(mirror):
    read = {}

    def table(experiment):
        if experiment not in read:
            folder = mirror / "error-consistency" / "raw-data"
            read[experiment] = read_trials(folder / f"texture-shape_{experiment}")
        return read[experiment]

    return table


def lme4(folder, correct, group):
    if shutil.which("Rscript") is None:
        pytest.fail("Install R and lme4 (Debian: r-cran-lme4).")
    observer, image = np.indices(correct.shape)
    table = pd.DataFrame(
        {
            "observer": [f"o{o}" for o in observer.ravel()],
            "image": [f"i{i}" for i in image.ravel()],
            "group": [f"g{group[o]}" for o in observer.ravel()],
            "correct": correct.ravel().astype(int),
        }
    )
    table.to_csv(folder / "data.csv", index=False)
    (folder / "script.R").write_text(GLMER)
    ran = subprocess.run(
        ["Rscript", "script.R"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    lines = (line.split() for line in ran.stdout.splitlines())
    return {name: np.array(values, dtype=float) for name, *values in lines}


def assert_equals_lme4(folder, correct, group):
    fitted, theirs = fit(CrossedLaplace(correct, group)), lme4(folder, correct, group)
    assert fitted.converged
    assert fitted.deviance == pytest.approx(theirs["deviance"][0], abs=1e-3)
    assert fitted.beta == pytest.approx(theirs["beta"], abs=2e-3)
    assert fitted.sd == pytest.approx(theirs["sd"], abs=2e-3)
    assert fitted.sd_observer == pytest.approx(theirs["sd_observer"][0], abs=2e-3)
    assert fitted.correlation == pytest.approx(theirs["correlation"][0], abs=1e-3)


@pytest.mark.parametrize("correlation", [-0.3, 0.6])
def test_difficulty_of_made_trials_is_that_of_lme4(correlation, tmp_path):
    rng = np.random.default_rng(0)
    assert_equals_lme4(tmp_path, *difficulty_world(60, (6, 8), correlation, rng))


def test_perfectly_correlated_difficulty_is_that_of_lme4(tmp_path):
    rng = np.random.default_rng(1)
    assert_equals_lme4(tmp_path, *difficulty_world(40, (4, 4), 1.0, rng))


@pytest.mark.parametrize(
    "experiment", ["edges", pytest.param("silhouettes", marks=pytest.mark.full)]
)
def test_difficulty_of_real_trials_is_that_of_lme4(
    experiment, tmp_path, trials, groups
):
    table = trials(experiment)
    known = sorted(table["observer"].unique())
    people, networks = (members(groups[name], known) for name in ("human", "cnn16"))
    _, _, correct = correctness(table, [*people, *networks])
    assert_equals_lme4(tmp_path, correct, np.repeat([0, 1], [10, 16]))


@pytest.mark.parametrize(
    ("experiment", "expected"),
    [("edges", 0.49), ("cue-conflict", 0.47), ("silhouettes", 0.85)],
)
def test_difficulty_of_people_and_networks(experiment, expected, trials, groups):
    row = difficulty_correlation(trials(experiment), groups["human"], groups["cnn16"])
    row = row.iloc[0]
    assert row["converged"]
    assert row["correlation"] == pytest.approx(expected, abs=0.005)
    assert row["ci_low"] < expected < row["ci_high"] < 1


def test_wrong_answers_of_people_and_networks(trials, groups):
    pairs, pooled = wrong_answer_agreement(
        trials("cue-conflict"), groups, COMPARISONS, cluster="^([a-z]+[0-9]+)-"
    )
    kappa_w = pooled.set_index("comparison")["kappa_w"]
    assert kappa_w["human-human"] == pytest.approx(0.11, abs=0.005)
    assert kappa_w["cnn16-human"] == pytest.approx(0.07, abs=0.005)
    assert kappa_w["cnn16-cnn16"] == pytest.approx(0.57, abs=0.005)
    assert (pairs["n"] >= 50).all()
    assert np.isfinite(pairs["log10_p"]).all()
