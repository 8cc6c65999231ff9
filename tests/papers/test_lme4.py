"""Mixed-effects logistic regressions against R's lme4, on the real and on made data."""

import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest
from scipy import special

from trialwise.choices.crossvalidation import (
    held_out_log_score,
    leave_one_trial_out,
    refit_without_trial,
)
from trialwise.choices.design import design
from trialwise.choices.glmm import fit

SLOPE = "choice ~ -1 + x + (-1 + x | participant)"
PUBLISHED = "choice ~ -1 + x + (-1 + x + C(dimension) | participant)"
COMPARABLE = "choice ~ 1 + x + (1 + x || participant)"
BIAS = "choice ~ 1 + (1 | participant)"
TRUTH = "choice ~ -1 + s + (-1 + s | participant)"
GAIN = "choice ~ 1 + s + s:trial + x + (1 + s + x || participant)"
GAIN_NULL = "choice ~ 1 + s + s:trial + (1 + s || participant)"
PEOPLE = {
    "category": "correct ~ 1 + trial + (1 + trial + C(dimension) | participant)",
    "reward": ("choice ~ -1 + trial*s + (-1 + trial + C(dimension) + s | participant)"),
}

# lme4 takes log det H from before the last step of its search for the modes, so that
# its deviance is off by up to .0003 here unless that search is made to go on (1e-13).
# Where that step has nothing left but rounding error, lme4 fails; then the usual 1e-10.
START = r"""
suppressMessages(library(lme4))
data <- read.csv("data.csv", stringsAsFactors = TRUE)
model <- as.formula(readLines("formula.txt"))
glmer_with <- function(tolerance, data, start, derivs) {
    control <- glmerControl(
        optimizer = "bobyqa", tolPwrss = tolerance, calc.derivs = derivs,
        optCtrl = list(rhobeg = 0.02, rhoend = 1e-8, maxfun = 1e5)
    )
    suppressMessages(suppressWarnings(
        glmer(model, data, binomial, start = start, control = control)
    ))
}
gradient <- function(fit) max(abs(fit@optinfo$derivs$gradient))
glmer_tight <- function(data, start = NULL, derivs = TRUE) {
    fit <- try(glmer_with(1e-13, data, start, derivs), silent = TRUE)
    failed <- inherits(fit, "try-error") || (derivs && gradient(fit) > 0.01)
    if (failed) glmer_with(1e-10, data, start, derivs) else fit
}
say <- function(name, x) cat(name, format(as.vector(x), digits = 17), "\n")
"""

FIT = r"""
fit <- glmer_tight(data)
say("log_likelihood", logLik(fit))
say("gradient", gradient(fit))
say("fixed", fixef(fit))
say("standard_errors", suppressWarnings(sqrt(diag(vcov(fit)))))
say("covariance", as.matrix(Matrix::bdiag(VarCorr(fit))))
say("probability", predict(fit, type = "response"))
"""

WITHOUT_TRIAL = r"""
scaled <- function(data, rows) {
    data$x <- (data$x - mean(data$x[rows])) / sd(data$x[rows])
    data
}
all <- seq_len(nrow(data))
full <- glmer_tight(scaled(data, all), derivs = FALSE)
start <- list(theta = getME(full, "theta"), fixef = fixef(full))
predicted <- sapply(as.integer(readLines("rows.txt")) + 1, function(row) {
    now <- scaled(data, all[-row])
    fit <- glmer_tight(now[-row, ], start, derivs = FALSE)
    predict(fit, newdata = now[row, ], type = "response")
})
say("probability", predicted)
"""

COLUMNS = r"""
random <- function(bar) {
    model.matrix(eval(substitute(~ terms, list(terms = bar[[2]]))), data)
}
say("X", model.matrix(nobars(model), data))
say("Z", do.call(cbind, lapply(findbars(model), random)))
"""


@pytest.fixture(scope="module")
def run_r(tmp_path_factory):
    """The function that runs a script on a table and returns the numbers it says."""
    if shutil.which("Rscript") is None:
        pytest.fail("Install R and lme4 (Debian: r-cran-lme4).")

    def run(script, formula, table, rows=()):
        folder = tmp_path_factory.mktemp("lme4")
        table.to_csv(folder / "data.csv", index=False, float_format="%.17g")
        in_r = formula.replace("C(dimension)", "factor(dimension)")
        (folder / "formula.txt").write_text(in_r + "\n")
        (folder / "rows.txt").write_text("".join(f"{row}\n" for row in rows))
        (folder / "script.R").write_text(START + script)
        ran = subprocess.run(
            ["Rscript", "script.R"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        lines = (line.split() for line in ran.stdout.splitlines())
        return {name: np.array(values, dtype=float) for name, *values in lines}

    return run


@pytest.fixture(scope="module")
def trials(mirror, reference):
    """The trial table of a task, with scaled columns trial, s (truth), x (learner)."""

    def table(task, learner="l2_original"):
        data = pd.read_csv(mirror / "learning-tasks" / f"{task}_learning.csv")
        name = f"authors_code_task_{task}_{learner}.csv.gz"
        values = pd.read_csv(reference / "learning-tasks" / name)
        keys = ["participant", "trial"]
        assert values[keys].equals(data[keys])
        if task == "category":
            s, x = 2 * data["true_category_binary"] - 1, values["right_value"]
        else:
            s = standardise(data["right_reward"] - data["left_reward"])
            x = values["right_value"] - values["left_value"]
        return data[["participant", "dimension", "choice", "correct"]].assign(
            trial=standardise(data["trial"]), s=s.astype(float), x=standardise(x)
        )

    return table


def standardise(values):
    return (values - values.mean()) / values.std()


def made(seed, correlation=0.3, sd=(0.5, 0.7)):
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(40), 30)
    x = rng.normal(size=len(person))
    factor = np.linalg.cholesky([[1, correlation], [correlation, 1 + 1e-12]])
    own = [0.2, 0.6] + sd * (rng.normal(size=(40, 2)) @ factor.T)
    log_odds = own[person, 0] + own[person, 1] * x
    choice = (rng.random(len(person)) < special.expit(log_odds)).astype(int)
    return pd.DataFrame({"participant": person, "choice": choice, "x": x})


def nll(fitted):
    return -held_out_log_score(fitted.design.y, fitted.log_odds).sum()


def assert_equals_lme4(ours, theirs):
    # Never worse; and where lme4 has got there, the same.
    assert ours.converged
    assert ours.log_likelihood > theirs["log_likelihood"][0] - 1e-3
    assert theirs["gradient"][0] < 0.01
    assert ours.log_likelihood == pytest.approx(theirs["log_likelihood"][0], abs=1e-3)
    assert np.abs(ours.fixed - theirs["fixed"]).max() < 1e-3
    assert np.allclose(ours.standard_errors, theirs["standard_errors"], rtol=2e-3)
    assert np.abs(ours.probability - theirs["probability"]).max() < 1e-3
    covariance = theirs["covariance"].reshape(ours.covariance.shape)
    difference = np.abs(ours.covariance - covariance)
    assert difference[ours.identified].max() < 1e-3


@pytest.mark.parametrize(
    "formula", [PUBLISHED, COMPARABLE, BIAS, GAIN, GAIN_NULL, *PEOPLE.values()]
)
def test_columns_are_those_of_r(formula, run_r, trials):
    table = trials("reward").iloc[::50]
    theirs = run_r(COLUMNS, formula, table)
    ours = design(formula, table)
    assert np.allclose(ours.X.ravel(order="F"), theirs["X"], atol=1e-12)
    assert np.allclose(ours.Z.ravel(order="F"), theirs["Z"], atol=1e-12)


@pytest.mark.parametrize("task", ["category", "reward"])
@pytest.mark.parametrize("formula", [PUBLISHED, COMPARABLE, BIAS, TRUTH, GAIN])
def test_real_choices(task, formula, run_r, trials):
    table = trials(task)
    assert_equals_lme4(fit(design(formula, table)), run_r(FIT, formula, table))


@pytest.mark.full
@pytest.mark.parametrize("task", ["category", "reward"])
@pytest.mark.parametrize("formula", [PUBLISHED, SLOPE, GAIN_NULL])
@pytest.mark.parametrize("learner", ["l2_pca", "l1_original"])
def test_real_choices_of_other_learners(task, formula, learner, run_r, trials):
    table = trials(task, learner)
    assert_equals_lme4(fit(design(formula, table)), run_r(FIT, formula, table))


@pytest.mark.parametrize("task", ["category", "reward"])
def test_models_of_people(task, run_r, trials):
    table = trials(task)
    assert_equals_lme4(
        fit(design(PEOPLE[task], table)), run_r(FIT, PEOPLE[task], table)
    )


def test_printed_statistics_of_people(trials):
    category = fit(design(PEOPLE["category"], trials("category"))).summary()
    assert category["estimate"].tolist() == pytest.approx([1.14, 0.32], abs=0.005)
    assert category["standard_error"].tolist() == pytest.approx([0.09, 0.05], abs=0.005)
    assert category["z"].tolist() == pytest.approx([13.1532, 6.8765], abs=1e-3)
    assert category["z"].tolist() == pytest.approx([13.18, 6.89], abs=0.1)
    reward = (
        fit(design(PEOPLE["reward"], trials("reward"))).summary().loc[["s", "trial:s"]]
    )
    assert reward["estimate"].tolist() == pytest.approx([0.89, 0.35], abs=0.005)
    assert reward["z"].tolist() == pytest.approx([12.5780, 9.3489], abs=1e-3)
    assert reward["z"].tolist() == pytest.approx([12.56, 9.30], abs=0.1)


@pytest.mark.parametrize(
    ("task", "learner", "log_likelihood", "expected", "printed"),
    [
        ("category", "l2_original", -7083.3364, 6976.1313, 6976.13),
        ("category", "l2_pca", -6990.1592, 6876.3833, 6876.38),
        ("reward", "l2_original", -3151.6109, 3025.5285, 3025.50),
        ("reward", "l2_pca", -3087.5586, 2968.4372, 2968.43),
    ],
)
def test_printed_likelihoods(task, learner, log_likelihood, expected, printed, trials):
    fitted = fit(design(PUBLISHED, trials(task, learner)))
    assert fitted.log_likelihood == pytest.approx(log_likelihood, abs=5e-4)
    assert nll(fitted) == pytest.approx(expected, abs=1e-3)
    assert nll(fitted) == pytest.approx(printed, abs=0.05)


def test_covariances_between_dimensions_are_not_identified(trials):
    effects = fit(design(PUBLISHED, trials("category"))).random_effects()
    unknown = effects[~effects["identified"]]
    assert len(unknown) == 3
    assert unknown["first"].str.startswith("C(dimension)").all()
    assert unknown["second"].str.startswith("C(dimension)").all()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "formula",
    [SLOPE, COMPARABLE, BIAS, "choice ~ 1 + x + (1 + x | participant)"],
)
def test_made_choices(formula, seed, run_r):
    table = made(seed)
    assert_equals_lme4(fit(design(formula, table)), run_r(FIT, formula, table))


@pytest.mark.parametrize(
    ("correlation", "sd"), [(1, (0.5, 0.7)), (0, (0.5, 0)), (0, (0, 0))]
)
def test_made_choices_on_the_boundary(correlation, sd, run_r):
    formula = "choice ~ 1 + x + (1 + x | participant)"
    table = made(7, correlation, sd)
    ours = fit(design(formula, table))
    assert ours.singular
    assert_equals_lme4(ours, run_r(FIT, formula, table))


@pytest.fixture(scope="module")
def held_out(trials):
    """Leave-one-trial-out of a task, with the rows ordered by how far out they are."""
    made = {}

    def predict(task):
        if task not in made:
            table = trials(task)
            data = design(SLOPE, table)
            rng = np.random.default_rng(0)
            far = np.argsort(-np.abs(table["x"].to_numpy()))[:10]
            order = np.append(far, np.setdiff1d(rng.permutation(len(table)), far, True))
            made[task] = (
                table,
                data,
                leave_one_trial_out(data, "x", "standardise"),
                order,
            )
        return made[task]

    return predict


def assert_equals_refits_by_lme4(run_r, held_out, task, n_rows):
    table, _, ours, order = held_out(task)
    rows = order[:n_rows]
    theirs = run_r(WITHOUT_TRIAL, SLOPE, table, rows)["probability"]
    assert np.abs(ours.probability[rows] - theirs).max() < 1e-5


@pytest.mark.parametrize("task", ["category", "reward"])
def test_trials_left_out(task, run_r, held_out):
    assert_equals_refits_by_lme4(run_r, held_out, task, 30)


@pytest.mark.full
@pytest.mark.parametrize("task", ["category", "reward"])
def test_more_trials_left_out(task, run_r, held_out):
    assert_equals_refits_by_lme4(run_r, held_out, task, 200)


@pytest.mark.parametrize(
    ("task", "expected"), [("category", 7085.30), ("reward", 3238.63)]
)
def test_likelihood_of_trials_left_out(task, expected, held_out):
    _, data, ours, _ = held_out(task)
    total = -held_out_log_score(data.y, ours.log_odds).sum()
    assert total == pytest.approx(expected, abs=0.01)


def assert_equals_refits(data, ours, rows, predictor=None, scaling="none"):
    exact = refit_without_trial(data, rows, predictor, scaling, fit(data))
    assert np.abs(ours.probability[rows] - special.expit(exact)).max() < 1e-6


@pytest.mark.parametrize("task", ["category", "reward"])
def test_trials_left_out_equal_exact_refits(task, held_out):
    _, data, ours, order = held_out(task)
    assert_equals_refits(data, ours, order[:300], "x", "standardise")


@pytest.mark.full
@pytest.mark.parametrize("task", ["category", "reward"])
def test_every_trial_left_out_equals_an_exact_refit(task, held_out):
    _, data, ours, order = held_out(task)
    assert_equals_refits(data, ours, order, "x", "standardise")


@pytest.mark.full
@pytest.mark.parametrize("task", ["category", "reward"])
@pytest.mark.parametrize("formula", [COMPARABLE, BIAS, TRUTH, GAIN, GAIN_NULL])
def test_other_models_equal_exact_refits(task, formula, trials):
    data = design(formula, trials(task))
    rows = np.random.default_rng(1).choice(len(data.y), 1000, replace=False)
    assert_equals_refits(data, leave_one_trial_out(data), rows)
