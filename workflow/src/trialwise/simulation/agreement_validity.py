"""Size, power and coverage of the methods of agreement, in worlds of known truth."""

from importlib import import_module

# By method: a module beside this one, its function, and the size of each world, which
# is that of the real experiments and tasks.
METHODS = {
    "difficulty-tests": (
        "agreement_worlds",
        "measure_difficulty_tests",
        {"observers": 10, "images": 160},
    ),
    "individuation": (
        "agreement_worlds",
        "measure_individuation",
        {
            "observers": 10,
            "images": 160,
            "copy_probabilities": [0.0, 0.1, 0.2, 0.3, 0.5],
        },
    ),
    "difficulty-correlation": ("agreement_models", "difficulty_coverage", {}),
    "wrong-answers-power": ("agreement_models", "wrong_answer_power", {}),
    "wrong-answers-coverage": ("agreement_models", "wrong_answer_coverage", {}),
    "planned-widths": ("agreement_models", "planned_widths", {}),
    "planned-power": ("agreement_models", "planned_power", {}),
    "ranks-of-models": (
        "agreement_ranks",
        "measure_rank_sets",
        {"participants": 90, "models": 10},
    ),
    "ranks-of-observers": (
        "agreement_ranks",
        "measure_observer_ranks",
        {"people": 10, "images": 160, "models": 6},
    ),
    "learner-kappa": (
        "agreement_ranks",
        "measure_learner_kappa",
        {"participants": 90, "trials": 120},
    ),
}


def measure_validity(method, worlds, seed):
    """Apply a method to simulated worlds.

    Parameters
    ----------
    method : str
        A key of `METHODS`.
    worlds, seed : int

    Returns
    -------
    pandas.DataFrame
        See the method's function.
    """
    module, function, sizes = METHODS[method]
    found = getattr(import_module(f"trialwise.simulation.{module}"), function)
    return found(worlds=worlds, seed=seed, **sizes)
