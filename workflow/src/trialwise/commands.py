"""Commands for your own trial tables and models, which need no Snakemake.

``python -m trialwise consistency``, ``compare``, ``add-model``.
"""

from pathlib import Path

from trialwise.errors import InputError

PAGE = Path(__file__).parents[2] / "report" / "page"
MODEL_SCHEMA = PAGE.parents[1] / "schemas" / "models.schema.yaml"
CAPTION = PAGE.parent / "kappa.rst"
BREAK_POINT = 0.05
MODEL = "model"
TABLE = "a table of who (observer) saw what (stimulus) and answered what (response)"


def add_commands(parsers):
    """Add these commands to the subparsers of a command line."""
    own = _add(parsers, consistency, "TRIALS.csv", nargs="+")
    own.add_argument(
        "--groups",
        nargs="+",
        default=[],
        metavar="NAME=PATTERN,...",
        help="groups of observers, * allowed; default the column `group`, else people "
        "(named subject...) and others",
    )
    own.add_argument("--output", help="a folder; default TRIALS-consistency")
    own = _add(parsers, compare, "MODEL.csv")
    own.add_argument("--experiment", required=True, help="such as edges")
    own.add_argument(
        "--people",
        help="the experiment's validated trials; default "
        "results/consistency/EXPERIMENT/trials.csv",
    )
    own.add_argument("--output", help="a CSV file for the table that is printed")
    text = add_model.__doc__
    own = parsers.add_parser("add-model", help=text, description=text)
    own.add_argument("model", metavar="ID", help="id of the new model")
    own.add_argument(
        "given",
        nargs="*",
        metavar="COLUMN=VALUE",
        help="columns of the registry (workflow/schemas/models.schema.yaml); "
        "like=ID takes all others from the row of another model",
    )
    own.add_argument(
        "--models", default="config/models.tsv", metavar="TABLE", help="the registry"
    )
    own.set_defaults(run=add_model)


def _add(parsers, run, metavar, **trials):
    name, text = run.__name__, run.__doc__.splitlines()[0]
    own = parsers.add_parser(name, help=text, description=text)
    own.add_argument("trials", metavar=metavar, help=TABLE, **trials)
    own.add_argument(
        "--columns",
        nargs="+",
        default=[],
        metavar="KEY=NAME",
        help="what columns are called: observer, stimulus, response, truth, session, "
        "trial, condition, cluster, group",
    )
    own.add_argument("--image-id", help="regular expression for the image in a name")
    own.add_argument("--cluster", help="regular expression for the cluster in a name")
    own.add_argument(
        "--common", action="store_true", help="keep the images that all observers saw"
    )
    own.add_argument(
        "--resamples",
        type=int,
        default=2000,
        metavar="N",
        help="bootstrap resamples of the intervals; default %(default)s",
    )
    own.add_argument(
        "--seed",
        type=int,
        default=2020,
        metavar="N",
        help="seed of the resamples; default %(default)s",
    )
    own.set_defaults(run=run)
    return own


def consistency(options):
    """Compare observers of any trial tables: pairs, groups, figure, one page."""
    from trialwise.agreement.repeats import repeat_consistency
    from trialwise.files import whole_folder, write_table
    from trialwise.observer_tables import first_answers, read_observers

    trials = read_observers(
        options.trials,
        _pairs(options.columns, "--columns"),
        image_id=options.image_id,
        common=options.common,
    )
    groups = _groups(trials, _pairs(options.groups, "--groups"))
    name = Path(options.trials[0]).stem
    output = Path(options.output or f"{name}-consistency")
    with whole_folder(output) as folder:
        means = _write_study(first_answers(trials), name, groups, folder, options)
        repeats = repeat_consistency(trials)
        if not repeats.empty:
            write_table(repeats, folder / "repeats.csv")
    columns = ["comparison", "n_pairs", "mean", "ci_low", "ci_high", "h_mean"]
    print(means[columns].to_string(index=False, float_format="{:.3f}".format))
    if not repeats.empty:
        print(repeats.to_string(index=False, float_format="{:.3f}".format))
    print(f"{output / 'report.html'}")


def compare(options):
    """Put a model beside the people of an experiment, pooled and by condition."""
    import pandas as pd

    from trialwise.agreement.beside_people import compare_with_people
    from trialwise.files import write_table
    from trialwise.observer_tables import first_answers, read_observers
    from trialwise.tables import read_table
    from trialwise.trials import is_human, load_trials

    experiment = options.experiment
    path = Path(options.people or f"results/consistency/{experiment}/trials.csv")
    if not path.is_file():
        raise InputError(
            f"{path}: no trials of people. Make them (snakemake --cores 2 {path}), or "
            "name a file with --people."
        )
    read_table(path, ["observer", "image", "category", "correct"])
    people = load_trials(path)
    people = people[is_human(people["observer"])]
    own = read_observers(
        [options.trials],
        _pairs(options.columns, "--columns"),
        image_id=options.image_id,
        truths=people.set_index("image")["category"].to_dict(),
    )
    own = first_answers(own)
    if options.common:
        own = own[own["image"].isin(set(people["image"]))]
        people = people[people["image"].isin(set(own["image"]))]
    tables = []
    for model, answers in own.groupby("observer"):
        table = compare_with_people(
            pd.concat([answers.assign(observer=MODEL), people], ignore_index=True),
            MODEL,
            cluster=options.cluster,
            n_resamples=options.resamples,
            seed=options.seed,
        )
        tables.append(table.assign(model=model))
    table = pd.concat(tables, ignore_index=True)
    table = table[["model", *table.columns.drop("model")]]
    if options.output:
        write_table(table, options.output)
    print(table.to_string(index=False, float_format="{:.3f}".format))


def add_model(options):
    """Add a row to the registry of models, checked."""
    from trialwise.models import register

    given = dict(item.partition("=")[::2] for item in options.given)
    like = given.pop("like", None)
    line = register.add_model(options.models, options.model, given, like, MODEL_SCHEMA)
    print(f"{options.models}, line {line}: {options.model}")


def _pairs(given, option):
    pairs = [item.partition("=") for item in given]
    for key, equals, value in pairs:
        if not (key and equals and value):
            raise InputError(
                f"{option} {key}{equals}{value}: a name, = and a value are needed.\n"
                "Write for example observer=subj."
            )
    return {key: value for key, _, value in pairs}


def _groups(trials, given):
    from trialwise.trials import is_human

    if given:
        return {name: patterns.split(",") for name, patterns in given.items()}
    observers = trials.drop_duplicates("observer").set_index("observer")
    if "group" in trials:
        named = observers["group"]
    elif is_human(trials["observer"]).any():
        people = is_human(observers.index.to_series())
        named = people.map({True: "people", False: "others"})
    else:
        named = observers.index.to_series().map(lambda _: "all")
    groups = named.index.groupby(named)
    return {name: list(members) for name, members in groups.items()}


def _write_study(trials, name, groups, folder, options):
    """Write the tables, figure and page of one experiment, as a study has them."""
    import itertools

    from trialwise.consistency.accuracy import observer_accuracy
    from trialwise.consistency.comparisons import Comparison, compare_observers
    from trialwise.consistency.percentiles import all_bands
    from trialwise.files import write_table
    from trialwise.summary.figures.consistency import kappa_scatter
    from trialwise.summary.figures.style import save
    from trialwise.summary.report import render_report
    from trialwise.trials import members

    observers = sorted(trials["observer"].unique())
    comparisons = [
        Comparison(first, second)
        for first, second in itertools.combinations_with_replacement(groups, 2)
        if first != second or len(members(groups[first], observers)) > 1
    ]
    pairs, means, _ = compare_observers(
        trials,
        groups,
        comparisons,
        cluster=options.cluster,
        n_resamples=options.resamples,
        seed=options.seed,
    )
    own = folder / "consistency" / name
    tables = {"pairs": pairs, "groups": means, "accuracy": observer_accuracy(trials)}
    for table, content in {"trials": trials, **tables}.items():
        write_table(content, own / f"{table}.csv")
    figure = kappa_scatter(pairs, all_bands(pairs["n"].iloc[0], BREAK_POINT), name)
    for suffix in ("png", "pdf"):
        save(figure, own / f"kappa.{suffix}")
    experiment = {
        "comparisons": [[each.first, each.second] for each in comparisons],
        "conditions": [],
        "exclude": [],
        "cluster": options.cluster is not None or "cluster" in trials,
        "simulated": False,
    }
    settings = {
        "configuration": [Path(path).name for path in options.trials],
        "seed": options.seed,
        "n_resamples": options.resamples,
        "groups": groups,
        "experiments": {name: experiment},
        "participants": "",
        "simulate": {},
        "protocols": {},
        "left_out": {},
        "captions": {f"consistency/{name}/kappa": CAPTION.read_text()},
    }
    files = [own / f"{table}.csv" for table in tables] + [own / "kappa.png"]
    templates = {path.name: path.read_text() for path in PAGE.iterdir()}
    page = render_report(files, folder, {}, settings, templates)
    (folder / "report.html").write_text(page)
    return means
