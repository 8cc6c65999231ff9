"""One page that tells what a study has found, beside what was published."""

import base64
import hashlib
import platform
import struct
from importlib.metadata import version
from pathlib import Path

import pandas as pd
from docutils.core import publish_parts
from jinja2 import DictLoader, Environment, StrictUndefined
from markupsafe import Markup

from trialwise.consistency import ALL_TRIALS
from trialwise.models.availability import group_by_reason
from trialwise.summary import headline
from trialwise.summary.agreement import describe_agreement
from trialwise.summary.defects import describe_defects, repaired_correlations
from trialwise.summary.figures.alignment_catalogue import (
    LEARNING_TASKS,
    PUBLISHED_FIGURES,
)
from trialwise.summary.figures.catalogue import ERROR_CONSISTENCY
from trialwise.summary.grid import Grid
from trialwise.summary.numbers import fixed, significant
from trialwise.summary.protocols import PREDICTED
from trialwise.summary.verdicts import (
    PAPERS,
    TABLES,
    TEXT,
    as_printed,
    count_agreeing,
    join_sources,
    summarise,
    value_grid,
)
from trialwise.trials import HUMAN

PACKAGES = (
    *("trialwise", "snakemake", "numpy", "scipy", "pandas", "scikit-learn"),
    *("matplotlib", "jinja2"),
)
# Where the figures of each paper lie below the folder of results, and their words.
FIGURES = {
    "error-consistency": (
        ("summary/figures/error-consistency", ERROR_CONSISTENCY),
        ("consistency", {}),
    ),
    "learning-tasks": (
        ("summary/figures/learning-tasks", LEARNING_TASKS),
        ("summary/published/figures", PUBLISHED_FIGURES),
    ),
}
HEADLINE_FIGURE = "summary/figures/learning-tasks/gain-over-truth"
PROTOCOL_FIGURE = "summary/protocols"
# Figures have 200 dots to the inch, pages 96.
DOTS_PER_PIXEL = 200 / 96
FEWEST_MODELS = 5
# What `trialwise.learners.protocol` does, in the words of a methods section.
LEARNERS = {
    "main": "l2-penalised logistic regression (category), Bayesian ridge regression "
    "(reward)",
    "sparse": "l1-penalised logistic regression, automatic relevance determination",
    "pca": "main on the first 49 principal components",
}
SCALED = {
    "category": {
        "in-place": "z-scored in place by the images seen, again in every trial, the "
        "penalty chosen by accuracy on all trials",
        "seen-scaled": "z-scored by the images seen, the penalty chosen by accuracy on "
        "all trials",
        "raw": "as they are, the penalty chosen by accuracy on all trials",
        "global": "centred and scaled by one number per model, the penalty chosen "
        "before each trial by the log loss of the learner's earlier predictions",
    },
    "reward": {
        "in-place": "z-scored by the images seen",
        "seen-scaled": "z-scored by the images seen",
        "raw": "as they are",
        "global": "centred and scaled by one number per model",
    },
}


def render_report(files, results, published, settings, templates):
    """Write the page, as HTML that needs no other file.

    Parameters
    ----------
    files : sequence of path
        Tables (CSV) and figures (PNG) of the study; which there are decides which
        sections the page has.
    results : path
        The folder they lie in.
    published : dict of str to pandas.DataFrame
        For each reproduction table among `files` what it was compared with.
    settings : dict
        ``configuration`` (names of files), ``seed, n_resamples, groups``;
        ``experiments``: for each ``comparisons, conditions, exclude, cluster,
        simulated``; ``participants, simulate`` of the learning tasks; ``protocols``;
        ``left_out``: reasons by model; ``captions`` of figures by their names below
        `results` without suffix, reStructuredText, in the order of the page.
    templates : dict of str to str
        ``report.html.j2``, what it includes, and ``defects.yaml``.

    Returns
    -------
    str
    """
    paths = {path.relative_to(results).as_posix(): path for path in map(Path, files)}
    tables = {
        name.removesuffix(".csv"): _read(name, path)
        for name, path in paths.items()
        if path.suffix == ".csv"
    }
    experiments, groups = settings["experiments"], settings["groups"]
    values = _join_published(tables, published)
    printed = {
        key: as_printed(table, settings["protocols"]) for key, table in values.items()
    }
    drawn = read_figures(paths, tables, settings["captions"])
    statistics = tables.get("summary/published/statistics")
    environment = Environment(
        loader=DictLoader(templates),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(rst=to_html, fixed=fixed, significant=significant)
    return environment.get_template("report.html.j2").render(
        settings=settings,
        gains=headline.gains(tables),
        kappas=headline.kappas(tables, experiments, groups, settings["n_resamples"]),
        recovered=headline.recovered(tables, experiments),
        left_out=group_by_reason(dict(sorted(settings["left_out"].items()))),
        verdicts=summarise(values, settings["protocols"]),
        headline_figure=drawn.pop(HEADLINE_FIGURE, None),
        sections=arrange_figures(drawn, printed),
        agreement=describe_agreement(tables, list(experiments)),
        protocols=headline.protocols(tables),
        protocol_figure=drawn.get(PROTOCOL_FIGURE),
        defects=describe_defects(templates["defects.yaml"], tables, experiments, groups)
        if values
        else [],
        repaired=None if statistics is None else repaired_correlations(statistics),
        methods=describe_methods(tables, settings),
        papers=PAPERS,
        versions=_versions(),
        files=describe_files(paths),
    )


def _read(name, path):
    if name.startswith("summary/reproduction/"):
        return pd.read_csv(path, dtype=str, keep_default_na=False)
    # What is empty in a step is a text, nothing that is missing.
    return pd.read_csv(path, keep_default_na="/protocol-steps/" not in name)


def _join_published(tables, published):
    values = {}
    for key, paper in PAPERS.items():
        found = [name for name in paper.tables if name in published]
        if found:
            values[key] = join_sources(
                [tables[f"summary/reproduction/{name}"] for name in found],
                [published[name] for name in found],
            )
    return values


def to_html(text):
    """Turn reStructuredText into HTML."""
    parts = publish_parts(
        str(text),
        writer="html5",
        settings_overrides={"file_insertion_enabled": False, "report_level": 5},
    )
    return Markup(parts["body"].strip())


def embed(path):
    """Turn a PNG file into a data URI with its size in pixels of a page.

    Parameters
    ----------
    path : path

    Returns
    -------
    dict
        ``uri, width, height``.
    """
    content = Path(path).read_bytes()
    # The data of the first chunk, IHDR, begin with both sizes.
    size = struct.unpack(">II", content[16:24])
    width, height = (round(dots / DOTS_PER_PIXEL) for dots in size)
    encoded = base64.b64encode(content).decode("ascii")
    uri = f"data:image/png;base64,{encoded}"
    return {"uri": uri, "width": width, "height": height}


def read_figures(paths, tables, captions):
    """Read the figures that show something.

    Parameters
    ----------
    paths : dict of str to path
        Files by their names below the folder of results.
    tables : dict of str to pandas.DataFrame
        A figure whose table, of the same name, is empty or about fewer than
        `FEWEST_MODELS` models is left out.
    captions : dict of str to str
        By name without suffix.

    Returns
    -------
    dict of str to dict
        ``uri, width, height, alt, caption``, in the order of `captions`.
    """
    drawn = {}
    for name, caption in captions.items():
        path = paths.get(f"{name}.png")
        if path is not None and not _shows_nothing(tables.get(name)):
            # The lines of a caption are no structure.
            text = " ".join(caption.split())
            words = {"alt": _describe(name, tables), "caption": text}
            drawn[name] = {**embed(path), **words}
    return drawn


def _shows_nothing(table):
    if table is None:
        return False
    return table.empty or ("n" in table and table["n"].max() < FEWEST_MODELS)


def _describe(name, tables):
    folder, _, figure = name.rpartition("/")
    for places in FIGURES.values():
        for place, catalogue in places:
            if place == folder and figure in catalogue:
                return catalogue[figure].alt
    if name == PROTOCOL_FIGURE:
        return (
            "Negative log-likelihood of people's choices under the generative "
            "features, one panel per task, one change of protocol a row. "
            f"{headline.protocols(tables)['alt']}."
        )
    experiment = folder.removeprefix("consistency/")
    means = tables[f"{folder}/groups"]
    means = means[means["variant"] == ALL_TRIALS].set_index("comparison")["mean"]
    found = means.head(headline.N_COMPARISONS).map(fixed).items()
    return (
        "Error consistency of every pair of observers against the error overlap "
        f"expected from their accuracies, experiment {experiment}, over the band of "
        f"independent observers. Mean kappa: {', '.join(map(' '.join, found))}."
    )


def arrange_figures(drawn, values):
    """Put figures in order, computed beside published ones, and their values below.

    Parameters
    ----------
    drawn : dict of str to dict
        From `read_figures`.
    values : dict of str to pandas.DataFrame
        From `trialwise.summary.verdicts.join_sources`, by paper.

    Returns
    -------
    list of dict
        Per paper `key`, `title`; `figures`, each with its `pictures` and `values`; and
        `others`, the values that belong to no figure here, by title.
    """
    sections = []
    for key, places in FIGURES.items():
        found = {}
        for name, picture in drawn.items():
            for place, _ in places:
                figure = name.removeprefix(f"{place}/")
                if figure != name:
                    found.setdefault(figure, []).append(picture)
        own = values.get(key)
        by_place = {} if own is None else dict(list(own.groupby("place", sort=False)))
        figures = [
            {"pictures": pictures, "values": _with_grid(by_place.pop(figure, None))}
            for figure, pictures in found.items()
        ]
        titles = {TABLES: "Tables", TEXT: "Text, recorded output and other places"}
        others = {
            titles.get(place, place.replace("-", " ")): _with_grid(rows)
            for place, rows in by_place.items()
        }
        if figures or others:
            title = PAPERS[key].authors
            sections.append(
                {"key": key, "title": title, "figures": figures, "others": others}
            )
    return sections


def _with_grid(values):
    if values is None:
        return None
    grid = value_grid(values, "Published and reproduced values")
    return {**count_agreeing(values), "grid": grid}


def describe_methods(tables, settings):
    """Collect what the paragraph about methods is made from.

    Parameters
    ----------
    tables : dict of str to pandas.DataFrame
    settings : dict
        See `render_report`.

    Returns
    -------
    dict
        `experiments`: settings of each with `name` and the numbers `n_people`,
        `n_others` and `n_images`; `tasks`: `n_participants` and `n_trials`; `learners`
        and `protocols` in words.
    """
    experiments = []
    for name, given in settings["experiments"].items():
        if f"consistency/{name}/pairs" not in tables:
            continue
        pairs = tables[f"consistency/{name}/pairs"]
        pairs = pairs[pairs["variant"] == ALL_TRIALS]
        observers = {*pairs["observer_i"], *pairs["observer_j"]}
        n_people = sum(HUMAN in observer for observer in observers)
        n_others = len(observers) - n_people
        numbers = {"n_people": n_people, "n_others": n_others, "name": name}
        experiments.append({**given, **numbers, "n_images": int(pairs["n"].iloc[0])})
    described = {"experiments": experiments, "tasks": {}, "learners": {}}
    scores = tables.get("choices/scores")
    if scores is None:
        return {**described, "protocols": {}}
    counts = scores.drop_duplicates("task").set_index("task")
    described["tasks"] = counts[["n_participants", "n_trials"]].to_dict("index")
    used = set(scores["learner"])
    described["learners"] = {
        name: words for name, words in LEARNERS.items() if name in used
    }
    described["protocols"] = {
        name: _describe_protocol(settings["protocols"][name], counts.index)
        for name in scores["protocol"].unique()
    }
    return described


def _describe_protocol(protocol, tasks):
    return {
        "purpose": protocol["purpose"],
        "choice_model": protocol["choice_model"],
        "predicted": PREDICTED[protocol["evaluation"]],
        "scaled": {task: SCALED[task][protocol["scaling"][task]] for task in tasks},
    }


def _versions():
    return {"python": platform.python_version(), **{n: version(n) for n in PACKAGES}}


def describe_files(paths):
    """List the files that the page was made from.

    Parameters
    ----------
    paths : dict of str to path

    Returns
    -------
    Grid
        Name, bytes, and the start of the sha256 of each.
    """
    rows = []
    for name, path in sorted(paths.items()):
        content = path.read_bytes()
        digest = hashlib.sha256(content).hexdigest()[:16]
        rows.append((name, f"{len(content):,}", digest))
    head = ("File below the folder of results", "bytes", "sha256, first 16 digits")
    return Grid("Files", head, (("", tuple(rows)),))
