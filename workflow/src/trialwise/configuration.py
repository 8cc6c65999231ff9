"""Configuration checked before anything runs, in two readable lines."""

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from trialwise.errors import InputError
from trialwise.models.registry import Model, select_models
from trialwise.simulation.representations import representation_names


def check_schema(instance: Any, schema: str | Path, what: str) -> None:
    """Check `instance` against a JSON schema and fill in its defaults.

    Parameters
    ----------
    instance : dict
        Changed in place: missing keys get the defaults of the schema.
    schema : path
        JSON schema, written in YAML.
    what : str
        Name of the thing that is checked, for the message.

    Raises
    ------
    InputError
        One line saying what is wrong, one saying what is allowed.
    """
    import yaml
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match
    from snakemake.utils import validate

    rules = yaml.safe_load(Path(schema).read_text())
    error = best_match(Draft202012Validator(rules).iter_errors(instance))
    if error is not None:
        place = "".join(
            f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.path
        )
        raise InputError(f"{what}: {_explain(error, place.lstrip('.'))}")
    validate(instance, str(Path(schema).resolve()))


def check_study(
    config: dict,
    source_groups: Iterable[str],
    protocols: Iterable[str],
    models: Mapping[str, Model],
) -> None:
    """Check that the names in a valid configuration refer to something.

    Parameters
    ----------
    config : dict
        That fits the schema.
    source_groups, protocols : iterable of str
        Names of groups of external files, and of protocols.
    models : mapping of str to Model

    Raises
    ------
    InputError
        For an unknown group of observers or of external files, an unknown protocol or
        model, or a name given twice.
    """
    entries = config["experiments"] + config["noise_experiments"]
    repeated = [
        name for name, n in Counter(e["name"] for e in entries).items() if n > 1
    ]
    if repeated:
        raise InputError(
            f"configuration: two experiments are called {repeated[0]!r}.\n"
            "Each experiment needs a name of its own."
        )
    for entry in entries:
        if isinstance(entry.get("trials"), str):
            _check_name(
                entry["trials"], source_groups, f"{entry['name']}: no external files"
            )
    lists = [config["comparisons"]]
    lists += [e["comparisons"] for e in config["experiments"] if "comparisons" in e]
    for comparison in (c for comparisons in lists for c in comparisons):
        for side in ("first", "second"):
            _check_name(comparison[side], config["groups"], "comparisons: no group")
    for regression in config["regressions"]:
        _check_name(regression["networks"], config["groups"], "regressions: no group")
    table = config.get("accuracy_table", {"experiments": [], "groups": []})
    for name in table["experiments"]:
        known = [entry["name"] for entry in config["experiments"]]
        _check_name(name, known, "accuracy_table: no experiment")
    for name in table["groups"]:
        _check_name(name, config["groups"], "accuracy_table: no group")
    for entry in entries:
        _check_entry(entry, config)
    for entry in config["experiments"]:
        for key in {"networks", "texture_trained"} & set(entry):
            _check_name(entry[key], config["groups"], f"{entry['name']}: no group")
        for name in entry.get("agreement", {}).values():
            _check_name(name, config["groups"], f"{entry['name']}: no group")
        for name in entry.get("decisions", {"models": []})["models"]:
            _check_name(name, models, f"{entry['name']}: no model")
        if "decisions" in entry:
            known = ["edges", "silhouettes", *config["image_sets"]]
            name = entry["decisions"]["images"]
            _check_name(name, known, f"{entry['name']}: no image set")
    if "learning" in config:
        _check_learning(config["learning"], protocols, models)


def _check_learning(
    learning: dict, protocols: Iterable[str], registry: Mapping[str, Model]
) -> None:
    simulated = learning["images"] == "simulated"
    if simulated != ("simulate" in learning):
        raise InputError(
            "configuration: learning: simulated people are shown simulated images.\n"
            "Needed: both `images: simulated` and `simulate`, or neither."
        )
    models = list(registry)
    if simulated:
        models = [*representation_names(learning["simulate"]["decoys"]), *models]
    for name in learning["protocols"]:
        _check_name(name, protocols, "learning: no protocol")
    for name in select_models(learning["models"], registry):
        _check_name(name, models, "learning: no model")


def _check_entry(entry: dict, config: dict) -> None:
    for key in {"image_id", "cluster", "texture", "level"} & set(entry):
        if _count_groups(entry[key]) != 1:
            raise InputError(
                f"configuration: {entry['name']}: {key} is {entry[key]!r}.\n"
                "Allowed: a regular expression with one group in parentheses."
            )
    if "categories" in entry and isinstance(entry.get("trials"), dict):
        raise InputError(
            f"configuration: {entry['name']}: files of your own have the categories "
            "that their truths are.\nDrop `categories`."
        )
    if "texture_trained" in entry and "texture" not in entry:
        raise InputError(
            f"configuration: {entry['name']}: texture_trained needs shape bias.\n"
            "Needed: texture, which says where the image name holds the texture."
        )
    if "simulate" in entry:
        simulated = [[f"{group['name']}-*"] for group in entry["simulate"]["groups"]]
        for comparison in entry.get("comparisons", config["comparisons"]):
            for side in ("first", "second"):
                patterns = config["groups"][comparison[side]]
                if patterns not in simulated:
                    allowed = ", ".join(str(pattern) for pattern in simulated)
                    raise InputError(
                        f"configuration: {entry['name']}: the group "
                        f"{comparison[side]!r} is {patterns}, not a simulated one.\n"
                        f"Allowed: {allowed}."
                    )


def _count_groups(pattern: str) -> int:
    try:
        return re.compile(pattern).groups
    except re.error:
        return 0


def _check_name(name: str, known: Iterable[str], lead: str) -> None:
    known = list(known)
    if name not in known:
        raise InputError(
            f"configuration: {lead} {name!r}{guess(name, known)}.\n"
            f"Allowed: {', '.join(known)}."
        )


def _explain(error: Any, place: str) -> str:
    value = error.instance
    inside = f" in {place}" if place else ""
    if error.validator == "additionalProperties":
        allowed = list(error.schema["properties"])
        unknown = next(key for key in value if key not in allowed)
        return (
            f"unknown key {unknown!r}{inside}{guess(unknown, allowed)}.\n"
            f"Allowed: {', '.join(allowed)}."
        )
    if error.validator == "required":
        missing = next(key for key in error.validator_value if key not in value)
        return (
            f"the key {missing!r} is missing{inside}.\n"
            f"Needed: {', '.join(error.validator_value)}."
        )
    if error.validator == "oneOf":
        choices = [choice["required"][0] for choice in error.validator_value]
        return f"choose one source of trials{inside}.\nAllowed: {', '.join(choices)}."
    allowed = error.schema.get("description") or (
        f"{error.validator} {error.validator_value}"
    )
    return f"{place} is {value!r}.\nAllowed: {allowed}."


def guess(name: str, known: Iterable[str]) -> str:
    """Say which known name was meant, for the end of a message.

    Parameters
    ----------
    name : str
        A name that is not known.
    known : iterable of str

    Returns
    -------
    str
        Empty where none is close.
    """
    close = difflib.get_close_matches(str(name), list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""
