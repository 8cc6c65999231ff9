"""How far observers agree with themselves when they see the same images again."""

import pandas as pd

from trialwise.consistency import bounds, kappa

COLUMNS = [
    *("observer", "n", "accuracy_first", "accuracy_again", "observed", "expected"),
    *("kappa", "kappa_max"),
]


def repeat_consistency(trials):
    """Kappa between an observer's first and second answer to the same images.

    Parameters
    ----------
    trials : pandas.DataFrame
        From `trialwise.observer_tables.read_observers`; sessions in order.

    Returns
    -------
    pandas.DataFrame
        One row per observer who answered images again: ``observer, n`` (images answered
        twice), ``accuracy_first, accuracy_again, observed, expected, kappa,
        kappa_max``. It is the ceiling of what anybody else can reach with an observer
        who is no more consistent than that.
    """
    turn = trials.groupby(["observer", "image"]).cumcount()
    first, again = (
        trials[turn == t].set_index(["observer", "image"])["correct"] for t in (0, 1)
    )
    rows = []
    for observer, second in again.groupby("observer"):
        answers = [first.loc[second.index].to_numpy(), second.to_numpy()]
        n, k, n11 = kappa.pair_counts(answers)
        counts = n, k[0], k[1], n11[0, 1]
        rows.append(
            [
                *(observer, int(n), k[0] / n, k[1] / n),
                kappa.observed_overlap(*counts),
                kappa.expected_overlap(*counts[:3]),
                float(kappa.kappa(*counts)),
                float(bounds.kappa_limits(*counts[:3])[1]),
            ]
        )
    return pd.DataFrame(rows, columns=COLUMNS)
