import numpy as np
import pandas as pd
import pytest

from trialwise.consistency.comparisons import Comparison, compare_observers
from trialwise.consistency.kappa import kappa
from trialwise.errors import InputError


def trials_of(correct):
    """Trials of observers given as {name: string of 1 and 0}, in file order."""
    rows = [
        {"observer": name, "image": f"i{r:02d}", "correct": int(c), "row": r + 1}
        for name, line in correct.items()
        for r, c in enumerate(line)
    ]
    return pd.DataFrame(rows)


OBSERVERS = {
    "a": "1100110011001010",
    "b": "1100100011011010",
    "c": "1000110111001110",
    "subject-01": "1111111100000000",
    "subject-02": "1111011100100000",
}
GROUPS = {"human": ["subject-*"], "net": ["a", "b", "c"]}


@pytest.fixture
def tables():
    comparisons = [
        Comparison("human", "human"),
        Comparison("net", "net", published_rows=(0, 1)),
        Comparison("net", "human"),
    ]
    trials = trials_of(OBSERVERS)
    return compare_observers(trials, GROUPS, comparisons, n_resamples=100)


def test_each_pair_stands_once_under_all_trials(tables):
    pairs = tables[0].query("variant == 'all-trials'")
    assert len(pairs) == 10
    assert pairs["group"].value_counts().to_dict() == {
        "net-human": 6,
        "net-net": 3,
        "human-human": 1,
    }


def test_published_rows_are_those_r_recycles(tables):
    # R keeps row r where element (r - 1) mod 4 of (name, color, pch, data.name) is the
    # observer's name: the first and the last, that is rows 1, 4, 5, 8, 9, ...
    kept = [r for r in range(1, 17) if (r - 1) % 4 in (0, 3)]
    a, b = (np.array([OBSERVERS[o][r - 1] == "1" for r in kept]) for o in "ab")
    row = tables[0].query("variant == 'published' and observer_i == 'a'").iloc[0]
    assert row["observer_j"] == "b"
    assert row["n"] == 8
    assert row["kappa"] == kappa(8, a.sum(), b.sum(), (a & b).sum())
    assert set(tables[0].query("variant == 'published'")["group"]) == {"net-net"}


def test_means_are_the_means_of_the_pairs(tables):
    pairs, groups, networks = tables
    for row in groups.itertuples():
        own = pairs[
            (pairs["variant"] == row.variant) & (pairs["group"] == row.comparison)
        ]
        assert row.n_pairs == len(own)
        assert row.mean == pytest.approx(own["kappa"].mean())
        assert row.h_mean == pytest.approx(own["h"].mean())
        best = own.loc[own["kappa"].idxmax()]
        assert row.maximum_pair == f"{best['observer_i']} {best['observer_j']}"
    with_a = pairs.query("variant == 'all-trials' and group == 'net-human'")
    with_a = with_a[with_a["observer_i"] == "a"]["kappa"]
    assert networks.set_index("observer").loc["a", "mean"] == pytest.approx(
        with_a.mean()
    )


def test_order_of_rows_and_of_observers_does_not_matter():
    comparisons = [Comparison("human", "human"), Comparison("net", "human")]
    trials = trials_of(OBSERVERS)
    shuffled = trials.sample(frac=1, random_state=1)
    one, two = (
        compare_observers(t, GROUPS, comparisons, n_resamples=100)
        for t in (trials, shuffled)
    )
    for first, second in zip(one, two, strict=True):
        pd.testing.assert_frame_equal(first, second)


def test_absent_observers_and_lonely_groups_are_refused():
    trials = trials_of(OBSERVERS)
    with pytest.raises(InputError, match=r"'alexnett'.*\n.*subject-01"):
        compare_observers(
            trials, {"net": ["alexnett"]}, [Comparison("net", "net")], n_resamples=100
        )
    with pytest.raises(InputError, match="two observers or more"):
        compare_observers(
            trials, {"net": ["a"]}, [Comparison("net", "net")], n_resamples=100
        )


def test_people_alone_have_no_network_table():
    people = trials_of({o: line for o, line in OBSERVERS.items() if "subject" in o})
    _, _, networks = compare_observers(
        people, GROUPS, [Comparison("human", "human")], n_resamples=100
    )
    assert networks.empty
    assert "mean" in networks.columns
