import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from trialwise.consistency import percentiles
from trialwise.consistency.kappa import kappa


def simulated_band(n, break_point, draws, seed):
    """The authors' procedure: accuracies of the grid, binomial counts, bins of 1/99."""
    rng = np.random.default_rng(seed)
    t = break_point
    blocks = [np.linspace(a, b, 1400) for a, b in ((0, t), (t, 1 - t), (1 - t, 1))]
    grid = np.concatenate(blocks)
    k1, k2 = (rng.binomial(n, rng.choice(grid, draws)) for _ in range(2))
    n11 = rng.hypergeometric(k1, n - k1, k2)
    expected = (k1 * k2 + (n - k1) * (n - k2)) / n**2
    observed = (n - k1 - k2 + 2 * n11) / n
    bins = np.floor(expected * 99 + 1e-9).astype(int)
    return bins, expected, observed, kappa(n, k1, k2, n11)


@pytest.mark.parametrize("n", [160, 400])
def test_band_holds_its_share_of_simulated_pairs(n):
    band = percentiles.independence_band(n, 0.15)
    bins, expected, observed, value = simulated_band(n, 0.15, 4_000_000, seed=1)
    for b in (30, 49, 60, 75):
        inside, row = bins == b, band.loc[b]
        noise = 4 * np.sqrt(0.025 * 0.975 / inside.sum())
        assert row["expected"] == pytest.approx(expected[inside].mean(), abs=2e-4)
        for measure, name in ((value[inside], "kappa"), (observed[inside], "observed")):
            low, high = row[f"{name}_low"], row[f"{name}_high"]
            assert np.mean(measure < low - 1e-4) <= 0.025 + noise
            assert np.mean(measure <= low + 1e-4) >= 0.025 - noise
            assert np.mean(measure > high + 1e-4) <= 0.025 + noise
            assert np.mean(measure >= high - 1e-4) >= 0.025 - noise


def test_band_of_two_images_by_enumeration():
    # Every k1, k2 of {0, 1, 2} and every n11, weighted as the grid does.
    n, t = 2, 0.25
    grid = percentiles.accuracy_grid(t)
    weight = stats.binom.pmf(np.arange(3)[:, None], n, grid).mean(axis=1)
    outcomes = {}
    for k1 in range(3):
        for k2 in range(3):
            expected = (k1 * k2 + (n - k1) * (n - k2)) / 4
            for n11 in range(max(0, k1 + k2 - n), min(k1, k2) + 1):
                p = stats.hypergeom.pmf(n11, n, k1, k2) * weight[k1] * weight[k2]
                cell = outcomes.setdefault(int(expected * 99), [])
                cell.append((float(kappa(n, k1, k2, n11)), p))
    band = percentiles.independence_band(n, t)
    for b, cell in outcomes.items():
        if b == 99:
            assert np.isnan(band.loc[b, "kappa_low"])
            continue
        cell.sort()
        share = np.cumsum([p for _, p in cell]) / sum(p for _, p in cell)
        for column, tail in (("kappa_low", 0.025), ("kappa_high", 0.975)):
            exact = cell[int(np.searchsorted(share, tail))][0]
            assert band.loc[b, column] == pytest.approx(exact, abs=1e-4)


def test_band_depends_on_the_grid_as_documented():
    # Half widths at c_exp = .2576 of 1,280 images: .011 and .016 for t = .05 and .15.
    for t, half_width in ((0.05, 0.011), (0.15, 0.016)):
        row = percentiles.independence_band(1280, t).loc[25]
        assert (row["kappa_high"] - row["kappa_low"]) / 2 == pytest.approx(
            half_width, abs=1e-3
        )


def test_clopper_pearson_equals_statsmodels():
    k = np.array([0, 1, 57, 159, 160])
    theirs = proportion_confint(k, 160, alpha=0.05, method="beta")
    ours = percentiles.clopper_pearson(k / 160, 160)
    assert np.allclose(ours, theirs, atol=1e-12)


def test_textbook_band_by_hand():
    low, high = percentiles.textbook_kappa_band(0.5, 100)
    assert high == pytest.approx(0.1959964, abs=1e-7)
    assert low == -high


def test_count_outside_interpolates_between_bins():
    band = percentiles.independence_band(160, 0.15)
    middle = band.loc[[40, 41]].mean()
    edge = np.array([middle["kappa_high"], middle["kappa_low"]])
    expected = np.full(2, middle["expected"])
    inside, outside = edge * (1 - 1e-6), edge * (1 + 1e-6)
    assert percentiles.count_outside(expected, inside, band) == (0, 0)
    assert percentiles.count_outside(expected, outside, band) == (1, 1)
