import numpy as np
import pandas as pd
import pytest
from scipy import integrate, special, stats

from trialwise.choices.crossvalidation import (
    HeldOut,
    held_out_log_score,
    leave_one_participant_out,
    leave_one_trial_out,
    refit_without_trial,
)
from trialwise.choices.design import Design, design
from trialwise.choices.glmm import fit
from trialwise.errors import InputError

MODELS = {
    "slope": "choice ~ -1 + x + (-1 + x | participant)",
    "intercept-and-slope": "choice ~ 1 + x + (1 + x || participant)",
    "correlated": "choice ~ 1 + x + (1 + x | participant)",
    "bias": "choice ~ 1 + (1 | participant)",
    "gain": "choice ~ 1 + s + s:trial + x + (1 + s + x || participant)",
    "truth-trial": "choice ~ 1 + s + s:trial + (1 + s || participant)",
}

every_model = pytest.mark.parametrize("formula", MODELS.values(), ids=MODELS)


def world(seed, n_people=12, n_trials=20, sd=0.6):
    """People who choose by the truth s, a noisy predictor x of it, and a bias."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(n_people), n_trials)
    s = rng.choice([-1.0, 1.0], size=len(person))
    x = s + rng.normal(size=len(person)) + 0.5
    trial = np.tile(np.linspace(-1.5, 1.5, n_trials), n_people)
    own = np.array([0.2, 0.5, 0.6]) + sd * rng.normal(size=(n_people, 3))
    log_odds = (
        own[person, 0] + own[person, 1] * s + own[person, 2] * x + 0.2 * s * trial
    )
    choice = (rng.random(len(person)) < special.expit(log_odds)).astype(int)
    names = [f"p{code:02d}" for code in person]
    columns = {"participant": names, "choice": choice, "s": s, "trial": trial, "x": x}
    return pd.DataFrame(columns)


def scaling_of(formula):
    return ("x", "standardise") if "+ x" in formula else (None, "none")


def probabilities_of_refits(data, predictor, scaling, rows=None):
    rows = np.arange(len(data.y)) if rows is None else rows
    return special.expit(refit_without_trial(data, rows, predictor, scaling, fit(data)))


@every_model
def test_equals_refits(formula):
    data = design(formula, world(0, n_people=20, n_trials=16))
    predictor, scaling = scaling_of(formula)
    held_out = leave_one_trial_out(data, predictor, scaling)
    rows = np.random.default_rng(0).choice(len(data.y), 60, replace=False)
    exact = probabilities_of_refits(data, predictor, scaling, rows)
    assert np.abs(held_out.probability[rows] - exact).max() < 1e-6


def test_a_refit_is_a_fit_to_scaled_rows_from_scratch():
    table = world(2)
    formula = MODELS["slope"]
    log_odds = refit_without_trial(design(formula, table), [7, 100], "x", "standardise")
    for row, found in zip([7, 100], log_odds, strict=True):
        x = table["x"].drop(row)
        scaled = table.assign(x=(table["x"] - x.mean()) / x.std())
        fitted = fit(design(formula, scaled.drop(row)))
        person = fitted.design.levels.tolist().index(scaled["participant"][row])
        slope = fitted.fixed[0] + fitted.modes[person, 0]
        assert found == pytest.approx(scaled["x"][row] * slope, abs=1e-8)


def test_most_rows_need_no_fit_of_their_own():
    data = design(MODELS["slope"], world(3, n_people=40))
    held_out = leave_one_trial_out(data, "x", "standardise")
    assert not held_out.refitted.any()


def test_rows_that_count_too_much_are_found():
    table = world(4)
    table.loc[[3, 50], "x"] = [40, -60]
    table.loc[[3, 50], "choice"] = [0, 1]
    data = design(MODELS["slope"], table)
    held_out = leave_one_trial_out(data, "x", "standardise")
    rows = np.append([3, 50], np.arange(0, len(table), 7))
    exact = probabilities_of_refits(data, "x", "standardise", rows)
    assert np.abs(held_out.probability[rows] - exact).max() < 1e-6


@pytest.mark.parametrize("seed", [30, 34])
def test_variances_that_leave_or_reach_zero(seed):
    # Worlds of which some fits without a trial have a variance of 0 and some have not.
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(15), 12)
    X = np.column_stack([np.ones(180), rng.normal(size=180)])
    own = 0.25 * rng.normal(size=15)[groups]
    y = rng.random(180) < special.expit(0.3 + own + 0.7 * X[:, 1])
    data = Design(y, X, X[:, :1], groups, True, ("1", "x"), ("1",))
    held_out = leave_one_trial_out(data, "x", "standardise")
    rows = np.flatnonzero(~held_out.refitted)
    exact = probabilities_of_refits(data, "x", "standardise", rows)
    assert 0 < len(rows) < len(y)
    assert np.abs(held_out.probability[rows] - exact).max() < 1e-6


def test_people_with_few_trials():
    table = world(5)
    keep = np.random.default_rng(5).random(len(table)) < 0.5
    keep &= (table["participant"] != "p03") | (table.index == 60)
    keep[60] = True
    data = design(MODELS["intercept-and-slope"], table[keep])
    held_out = leave_one_trial_out(data, "x", "standardise")
    alone = np.flatnonzero(data.groups == "p03")
    rows = np.append(alone, np.arange(0, len(data.y), 5))
    exact = probabilities_of_refits(data, "x", "standardise", rows)
    assert len(alone) == 1
    assert np.abs(held_out.probability[rows] - exact).max() < 1e-6


def test_separated_choices_are_refitted():
    table = world(6, n_people=3, n_trials=4)
    table["choice"] = (table["x"] > 0.5).astype(int)
    held_out = leave_one_trial_out(design(MODELS["intercept-and-slope"], table), "x")
    assert held_out.refitted.all()
    assert np.isfinite(held_out.log_odds).all()


@pytest.mark.parametrize("scaling", ["none", "divide", "standardise"])
def test_units_do_not_matter(scaling):
    table = world(7)
    other = table.assign(x=300 * table["x"])
    for model in ("slope", "intercept-and-slope"):
        first, second = (
            leave_one_trial_out(design(MODELS[model], t), "x", scaling)
            for t in (table, other)
        )
        assert np.allclose(first.probability, second.probability, atol=1e-7)


def test_constant_added_to_a_centred_predictor_changes_nothing():
    table = world(8)
    other = table.assign(x=table["x"] + 100)
    for model in ("slope", "intercept-and-slope"):
        for leave_out in (leave_one_trial_out, leave_one_participant_out):
            first, second = (
                leave_out(design(MODELS[model], t), "x", "standardise")
                for t in (table, other)
            )
            assert np.allclose(first.probability, second.probability, atol=1e-7)


def test_centring_matters_where_there_is_no_intercept():
    data = design(MODELS["slope"], world(8))
    first, second = (
        leave_one_trial_out(data, "x", s) for s in ("divide", "standardise")
    )
    assert np.abs(first.probability - second.probability).max() > 0.01


@pytest.mark.parametrize("leave_out", [leave_one_trial_out, leave_one_participant_out])
def test_mirror_images_mirror_the_probabilities(leave_out):
    table = world(9)
    mirrored = table.assign(choice=1 - table["choice"], x=-table["x"])
    for model in ("slope", "intercept-and-slope"):
        first, second = (
            leave_out(design(MODELS[model], t), "x", "standardise")
            for t in (table, mirrored)
        )
        assert np.allclose(second.probability, 1 - first.probability, atol=1e-7)


@pytest.mark.parametrize("leave_out", [leave_one_trial_out, leave_one_participant_out])
def test_order_of_participants_does_not_matter(leave_out):
    table = world(10)
    order = np.random.default_rng(10).permutation(len(table))
    first = leave_out(design(MODELS["slope"], table), "x", "standardise")
    second = leave_out(design(MODELS["slope"], table.iloc[order]), "x", "standardise")
    assert np.allclose(second.probability, first.probability[order], atol=1e-7)


def test_a_held_out_choice_is_not_seen():
    # Its own choice moves the fit towards it, but not the fit without it.
    table = world(11)
    other = table.copy()
    other.loc[17, "choice"] = 1 - table.loc[17, "choice"]
    first, second = (
        leave_one_trial_out(design(MODELS["slope"], t), "x", "standardise")
        for t in (table, other)
    )
    assert first.probability[17] == pytest.approx(second.probability[17], abs=1e-7)
    assert abs(first.probability[18] - second.probability[18]) > 1e-4


@every_model
def test_leaving_out_participants_integrates_over_their_effects(formula):
    table = world(12)
    data = design(formula, table)
    held_out = leave_one_participant_out(data, *scaling_of(formula))
    row = 45
    others = table["participant"] != table["participant"][row]
    x = table["x"][others]
    scaled = design(formula, table.assign(x=(table["x"] - x.mean()) / x.std()))
    keep = others.to_numpy()
    fields = {name: getattr(scaled, name)[keep] for name in ("y", "X", "Z", "groups")}
    fitted = fit(Design(correlated=scaled.correlated, **fields))
    mean = scaled.X[row] @ fitted.fixed
    deviation = np.sqrt(scaled.Z[row] @ fitted.covariance @ scaled.Z[row])

    def density(value):
        return special.expit(value) * stats.norm.pdf(value, mean, deviation)

    expected = integrate.quad(density, mean - 10, mean + 10, epsabs=1e-12)[0]
    assert held_out.probability[row] == pytest.approx(expected, abs=1e-6)
    assert held_out.refitted.all()


def test_without_variance_left_out_participants_are_like_the_others():
    table = world(13, sd=0)
    data = design("choice ~ 1 + (1 | participant)", table)
    held_out = leave_one_participant_out(data)
    for person in ("p00", "p07"):
        rows = (table["participant"] == person).to_numpy()
        share = table["choice"][~rows].mean()
        assert np.allclose(held_out.probability[rows], share, atol=1e-3)


def test_log_scores():
    y, log_odds = np.array([1, 0, 1, 0]), np.array([0.3, 0.3, 800, 800])
    score = held_out_log_score(y, log_odds)
    p = special.expit(0.3)
    assert np.allclose(score, [np.log(p), np.log(1 - p), 0, -800])
    score = held_out_log_score(y, log_odds, certain=0.99999)
    expected = [np.log(p), np.log(1 - p), np.log(0.99999), np.log(0.00001)]
    assert np.allclose(score, expected, rtol=1e-9)


def test_probability_of_log_odds():
    held_out = HeldOut(np.array([0.0, -800, 800]), np.zeros(3, dtype=bool))
    assert held_out.probability.tolist() == [0.5, 0, 1]


@pytest.mark.parametrize(
    ("predictor", "scaling", "message"),
    [
        ("x", "halve", "none, divide, standardise"),
        ("w", "divide", "no column 'w'"),
        (None, "standardise", "no column None"),
        ("s", "divide", "s:trial cannot be scaled with s"),
        ("Intercept", "divide", "Intercept is constant"),
    ],
)
@pytest.mark.parametrize("leave_out", [leave_one_trial_out, leave_one_participant_out])
def test_scalings_that_are_refused(leave_out, predictor, scaling, message):
    data = design(MODELS["gain"], world(14))
    with pytest.raises(InputError, match=message):
        leave_out(data, predictor, scaling)
