import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from trialwise.agreement.planning import (
    COPY_MODEL,
    DIFFERENT_IMAGES,
    FIXED_ACCURACIES,
    SAME_IMAGES,
    copy_probability,
    difference_test,
    expected_width,
    fixed_accuracies,
    influence,
    joint_probabilities,
    n_trials_for_power,
    n_trials_for_width,
    planning_table,
    power_of_difference,
)
from trialwise.consistency.kappa import kappa, pair_counts, standard_error
from trialwise.consistency.null import exact_null
from trialwise.errors import InputError
from trialwise.simulation.agreement_models import (
    copying_models,
    planned_power,
    planned_widths,
)

MODELS = [COPY_MODEL, FIXED_ACCURACIES]
accuracy = st.floats(0.05, 0.95)


@st.composite
def designs(draw):
    pair = draw(accuracy), draw(accuracy)
    share = draw(st.floats(-0.95, 0.95))
    bound = max(0.0, sum(pair) - 1) if share < 0 else min(pair)
    return abs(share) * kappa(1.0, *pair, bound).item(), pair


@given(designs())
def test_probabilities_have_the_kappa_and_accuracies(design):
    value, pair = design
    cells = joint_probabilities(value, pair)
    assert cells.sum() == pytest.approx(1)
    assert (cells[1].sum(), cells[:, 1].sum()) == pytest.approx(pair)
    assert kappa(1.0, *pair, cells[1, 1]).item() == pytest.approx(value, abs=1e-12)


@given(designs())
def test_copying_gives_these_probabilities(design):
    value, (p_i, p_j) = design
    q, alone = copy_probability(value, (p_i, p_j))
    assert 0 <= alone <= 1 + 1e-9
    both = abs(q) * p_i * (q >= 0) + (1 - abs(q)) * p_i * alone
    neither = (1 - p_i) * (abs(q) * (q >= 0) + (1 - abs(q)) * (1 - alone))
    cells = joint_probabilities(value, (p_i, p_j))
    assert (both, neither) == pytest.approx((cells[1, 1], cells[0, 0]), abs=1e-9)


@given(st.floats(0, 0.95), accuracy)
def test_copy_probability_is_kappa_where_accuracies_are_equal(value, p):
    assert copy_probability(value, (p, p)) == pytest.approx((value, p))


@given(designs())
def test_influence_gives_the_standard_error(design):
    value, (p_i, p_j) = design
    cells = joint_probabilities(value, (p_i, p_j))
    by_cell = influence(cells)
    assert np.sum(cells * by_cell) == pytest.approx(0, abs=1e-12)
    assert np.sqrt(np.sum(cells * by_cell**2) / 50) == pytest.approx(
        standard_error(1.0, p_i, p_j, cells[1, 1]).item() / np.sqrt(50), abs=1e-7
    )


def test_fixed_accuracies_are_fishers_distribution():
    value, pair, n = 0.35, (0.7, 0.45), 60
    cells = joint_probabilities(value, pair)
    odds = cells[0, 0] * cells[1, 1] / (cells[0, 1] * cells[1, 0])
    counts, pmf = fixed_accuracies(value, pair, n)
    expected = stats.nchypergeom_fisher.pmf(counts[3], n, 42, 27, odds)
    assert np.allclose(pmf, expected, atol=1e-10)


def test_exact_width_without_agreement_is_that_of_the_null():
    low, high, _ = exact_null(160, 96, 128, 77)
    width = expected_width(0.0, (0.6, 0.8), 160, model=FIXED_ACCURACIES)
    assert width == pytest.approx((high - low).item())


def test_largest_kappa_is_certain_given_the_accuracies():
    largest = kappa(1.0, 0.5, 0.75, 0.5).item()
    assert expected_width(largest, (0.5, 0.75), 40, model=FIXED_ACCURACIES) == 0
    assert expected_width(largest, (0.5, 0.75), 40) > 0.1


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("pair", [(0.7, 0.7), (0.9, 0.4), (0.95, 0.9)])
@pytest.mark.parametrize("width", [0.05, 0.2])
def test_one_image_less_is_not_enough(model, pair, width):
    n = n_trials_for_width(0.1, pair, width, model=model)
    assert expected_width(0.1, pair, n, model=model) <= width
    assert expected_width(0.1, pair, n - 1, model=model) > width


def test_half_the_width_takes_four_times_the_images():
    wide, narrow = (n_trials_for_width(0.4, (0.8, 0.7), w) for w in (0.2, 0.1))
    assert narrow == pytest.approx(4 * wide, abs=4)


@pytest.mark.parametrize(
    ("images", "model"),
    [
        (SAME_IMAGES, COPY_MODEL),
        (DIFFERENT_IMAGES, COPY_MODEL),
        (DIFFERENT_IMAGES, FIXED_ACCURACIES),
    ],
)
def test_power_is_reached(images, model):
    options = {"images": images, "model": model}
    kappas, accuracies = (0.2, 0.45), (0.8, 0.7, 0.75)
    n = n_trials_for_power(kappas, accuracies, 0.9, **options)
    assert power_of_difference(kappas, accuracies, n, **options) >= 0.9
    assert power_of_difference(kappas, accuracies, n - 1, **options) < 0.9


@pytest.mark.parametrize("model", MODELS)
def test_power_of_no_difference_is_the_level(model):
    power = power_of_difference(
        (0.0, 0.0), (0.8, 0.7, 0.7), 600, images=DIFFERENT_IMAGES, model=model
    )
    assert power == pytest.approx(0.05, abs=0.006)


def test_exact_power_equals_simulation():
    n, kappas, accuracies = 120, (0.1, 0.5), (0.75, 0.6, 0.7)
    rng = np.random.default_rng(0)
    found = []
    for value, p in zip(kappas, accuracies[1:], strict=True):
        cells = joint_probabilities(value, (0.75, p))
        odds = cells[0, 0] * cells[1, 1] / (cells[0, 1] * cells[1, 0])
        law = stats.nchypergeom_fisher(n, 90, round(n * p), odds)
        counts = n, 90, round(n * p), law.rvs(size=20_000, random_state=rng)
        found.append((kappa(*counts), standard_error(*counts)))
    (first, error), (second, other) = found
    share = np.mean(np.abs(first - second) > 1.959964 * np.hypot(error, other))
    exact = power_of_difference(
        kappas, accuracies, n, images=DIFFERENT_IMAGES, model=FIXED_ACCURACIES
    )
    assert exact == pytest.approx(share, abs=4 * np.sqrt(0.25 / 20_000))


def test_same_images_tell_more():
    kappas, accuracies = (0.4, 0.5), (0.8, 0.8, 0.8)
    same, different = (
        power_of_difference(kappas, accuracies, 500, images=images)
        for images in (SAME_IMAGES, DIFFERENT_IMAGES)
    )
    assert same > different


def test_difference_test_agrees_with_the_bootstrap():
    rng = np.random.default_rng(1)
    correct = copying_models(1500, (0.3, 0.5), (0.8, 0.7, 0.75), rng)
    difference, error = difference_test(*correct)
    draws = rng.multinomial(1500, np.full(1500, 1 / 1500), size=1500)
    resampled = []
    for weights in draws:
        n, k, n11 = pair_counts(correct, weights)
        values = kappa(n, k[0], k[1:], n11[0, 1:])
        resampled.append(values[0] - values[1])
    assert np.std(resampled) == pytest.approx(error, rel=0.07)
    assert np.mean(resampled) == pytest.approx(difference, abs=0.003)


def test_impossible_plans_are_refused():
    with pytest.raises(InputError, match=r"one between -0.100 and 0.100"):
        joint_probabilities(0.3, (0.95, 0.5))
    with pytest.raises(InputError, match="accuracy is 1"):
        n_trials_for_width(0.3, (1.0, 0.5), 0.1)
    with pytest.raises(InputError, match="more than 0"):
        n_trials_for_width(0.3, (0.7, 0.7), 0)
    with pytest.raises(InputError, match="difference to be found"):
        n_trials_for_power((0.3, 0.3), (0.7, 0.7, 0.7))
    with pytest.raises(InputError, match="A power of 1"):
        n_trials_for_power((0.3, 0.4), (0.7, 0.7, 0.7), 1)
    with pytest.raises(InputError, match="no exact distribution"):
        n_trials_for_power((0.3, 0.4), (0.7, 0.7, 0.7), model=FIXED_ACCURACIES)


def test_table_leaves_out_what_is_impossible():
    table = planning_table([(0.7, 0.7), (0.9, 0.5)], kappas=(0.1, 0.4))
    width = table[table["question"] == "width"]
    impossible = (width["accuracy_i"] == 0.9) & (width["kappa"] == 0.4)
    assert width["n"].isna().tolist() == impossible.tolist()
    row = width[(width["kappa"] == 0.4) & (width["model"] == COPY_MODEL)].iloc[0]
    assert row["n"] == n_trials_for_width(0.4, (0.7, 0.7), row["target"])
    power = table[(table["question"] == "power") & (table["accuracy_i"] == 0.7)]
    row = power[power["images"] == DIFFERENT_IMAGES].iloc[0]
    assert row["n"] == n_trials_for_power(
        (0.1, row["kappa_other"]), (0.7, 0.7, 0.7), images=DIFFERENT_IMAGES
    )


def test_planned_width_and_power_are_attained():
    widths = planned_widths(40, 1, (0.3,), ((0.8, 0.7),), n_resamples=200)
    assert widths["mean_width"].item() == pytest.approx(0.2, abs=0.012)
    assert widths["coverage"].item() > 0.83
    power = planned_power(300, 2, ((0.2, 0.4),), ((0.8, 0.7, 0.7),))
    assert np.allclose(power["attained"], 0.8, atol=0.07)
    assert (power["size"] < 0.09).all()


@pytest.mark.full
def test_planned_widths_and_power_are_attained_in_simulated_worlds():
    widths = planned_widths(300, 1)
    assert np.allclose(widths["mean_width"], 0.2, atol=0.01)
    assert widths["coverage"].between(0.9, 0.98).all()
    power = planned_power(2000, 2)
    assert np.allclose(power["attained"], 0.8, atol=0.05)
    assert power["size"].between(0.03, 0.075).all()
