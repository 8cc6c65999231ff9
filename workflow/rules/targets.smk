# What the targets consist of: tables, figures and the report of a study.

AGREEMENT = (
    *("difficulty", "difficulty-pairs", "difficulty-correlation", "individuation"),
    *("individuation-power", "replicas", "wrong-answers", "wrong-answer-pairs"),
    *("ranks", "rank-pairs"),
)
# The protocols that summary/protocols.md goes through, from each to the next.
DESCRIBED = ("published", "seen-scaled", "unscaled", "comparable")


def penalty_files():
    """Per model scores against a fixed penalty, where `comparable` is asked for."""
    asked = LEARNERS and "main" in LEARNERS and "category" in LEARNING["tasks"]
    if not asked or "comparable" not in LEARNING["protocols"]:
        return []
    return [
        f"<results>/choices/comparable/category/penalty/{model}.csv"
        for model in learned_models()
    ]


def score_files(kind):
    """Per job tables of scores, participants or fits, baselines first."""
    if kind == "penalty":
        return penalty_files()
    return [
        f"<results>/choices/{protocol}/{task}/{kind}/{model}.csv"
        for protocol in LEARNING["protocols"]
        for task in LEARNING["tasks"]
        for model in ["baselines", *learned_models()]
    ]


def curve_files():
    """Learning curves of every scaling the protocols use."""
    return [
        f"<results>/learners/{scaling}/{task}/curves/{model}.csv"
        for task in LEARNING["tasks"]
        for scaling in scalings_of(task)
        for model in learned_models()
    ]


def learning_tables():
    """All tables of the learning tasks."""
    if not LEARNING["tasks"]:
        return []
    tables = [f"<results>/choices/{kind}.csv" for kind in ("scores", "participants")]
    tables += ["<results>/choices/fits.csv", "<results>/choices/people/models.csv"]
    tables += [
        f"<results>/choices/people/{task}-by-trial.csv" for task in LEARNING["tasks"]
    ]
    if not PEOPLE:
        tables.append(f"<results>/features/{IMAGES}/twins.csv")
    if penalty_files():
        tables.append("<results>/choices/penalty.csv")
    if describes_protocols():
        tables.append("<results>/summary/protocols.md")
    return [*tables, "<results>/learners/curves.csv"]


def describes_protocols():
    """Whether the study has what the text about the protocols is about."""
    return (
        set(DESCRIBED) <= set(LEARNING["protocols"])
        and {"category", "reward"} == set(LEARNING["tasks"])
        and set(LEARNERS) >= {"main", "sparse"}
        and GENERATIVE in LEARNING["models"]
    )


def accuracy_table():
    """Experiments (columns) and observer patterns (rows) of the table of accuracies."""
    table = config["accuracy_table"]
    patterns = [name for group in table["groups"] for name in config["groups"][group]]
    return {"experiments": table["experiments"], "patterns": patterns}


def published_counterparts(paper):
    """The computed tables that the published values of a paper are compared with."""
    published = read_published(f"resources/published/{paper}.csv")
    return [f"<results>/{table}" for table in tables_needed(published)]


def reproduction_tables(*papers):
    """Reproduction tables of those papers the study is compared with (default all)."""
    return [
        f"<results>/summary/reproduction/{paper}.csv"
        for paper in config["published"]
        if not papers or paper in papers
    ]


def consistency_tables():
    """All tables and figures of the configured experiments."""
    tables = []
    for name, experiment in EXPERIMENTS.items():
        files = ["pairs.csv", "groups.csv", "networks.csv", "accuracy.csv"]
        files += ["group-accuracy.csv", "confusion.csv", "band.csv"]
        files += ["outside-band.csv", "kappa.png", "kappa.pdf"]
        if "networks" in experiment:
            files += ["controversial.csv", "controversial-five.csv"]
            files += ["regression.csv"] if config["regressions"] else []
        if "texture" in experiment:
            files.append("shape-bias.csv")
        if "texture_trained" in experiment:
            files += ["texture-trained.csv", "shape-bias-correlation.csv"]
        tables += [f"<results>/consistency/{name}/{file}" for file in files]
    tables += [f"<results>/consistency/{name}/levels.csv" for name in NOISE_EXPERIMENTS]
    if config.get("accuracy_table", {}).get("experiments"):
        tables.append("<results>/consistency/accuracy.csv")
    return tables


def consistency_files():
    """All that the error-consistency paper is reproduced with."""
    tables = consistency_tables() + consistency_figures()
    return tables + reproduction_tables("error-consistency")


def learning_files():
    """All that the paper on learning tasks is reproduced with."""
    tables = learning_tables() + representation_tables() + factor_tables()
    tables += learning_figures() + recomputed_files()
    return tables + reproduction_tables("learning-tasks")


def agreement_files():
    """How far observers agree beyond both papers; with learners where there are any."""
    files = [
        f"<results>/agreement/{name}/{table}.csv"
        for name, experiment in EXPERIMENTS.items()
        if "agreement" in experiment
        for table in AGREEMENT
    ]
    if files:
        files.append("<results>/agreement/planning.csv")
    if "main" in LEARNERS and learned_models() and choices_at_hand():
        names = ["kappa", "ranks", "rank-pairs", "rankings", "rankings-agreement"]
        names.append("refits")
        files += [f"<results>/agreement/learning/{name}.csv" for name in names]
    return files


def choices_at_hand():
    """Whether the people's choices are here or can be had; says so if not."""
    needed = set(LEARNING["tasks"]) - LEARNING.get("choices", {}).keys()
    mirrored = "TRIALWISE_MIRROR" in os.environ
    fetched = Path(config["sources"], "learning-tasks").exists()
    if PEOPLE or not needed or mirrored or fetched:
        return True
    LEFT_OUT["the learning tasks"] = (
        "people's choices have no public address: name the folder that has them in "
        "TRIALWISE_MIRROR, or your own under `learning: choices:`"
    )
    return False


def measures_factors():
    """Whether the study has scores of models that measures can be set beside."""
    tasks = {"category", "reward"} == set(LEARNING["tasks"])
    return tasks and "main" in LEARNERS and not PEOPLE


def factor_tables():
    """What goes with alignment, and both tables of the paper."""
    tables = []
    if measures_factors():
        tables += ["<results>/summary/models.csv", "<results>/summary/factors.csv"]
    if "factors" in config["published"]:
        tables += [
            f"<results>/summary/tables/table-{number}.{suffix}"
            for number in (1, 2)
            for suffix in ("csv", "md", "tex")
        ]
    return tables


def recomputed_files():
    """What is computed from the published values of models alone."""
    if "factors" not in config["published"]:
        return []
    names = ["models.csv", "statistics.csv"]
    names += figure_files(f"figures/{name}" for name in PUBLISHED_FIGURES)
    recomputed = [f"<results>/summary/published/{name}" for name in names]
    return recomputed + reproduction_tables("factors")


def figure_files(names):
    """The tables and pictures of figures."""
    return [f"{name}.{suffix}" for name in names for suffix in ("csv", "png", "pdf")]


def consistency_figures():
    """All figures of the error-consistency paper, where the study is that of it."""
    if "error-consistency" not in config["published"]:
        return []
    return figure_files(
        f"<results>/summary/figures/error-consistency/{name}"
        for name in ERROR_CONSISTENCY
    )


def figure_inputs(wildcards):
    """What a figure of the error-consistency paper is drawn from."""
    paths = {
        "published": "resources/published/error-consistency.csv",
        "stimuli-edges": "<sources>/stimuli-edges",
        "stimuli-silhouettes": "<sources>/stimuli-silhouettes",
    }
    return [
        paths.get(name, f"<results>/consistency/{name}.csv")
        for name in ERROR_CONSISTENCY[wildcards.figure].inputs
    ]


def representation_tables():
    """Measures of the representations whose features are those of the THINGS images."""
    if not LEARNING["tasks"] or IMAGES != "things":
        return []
    return ["<results>/representations/metrics.csv"]


def learning_figures():
    """Figures of the learning tasks, of what was computed."""
    if {"category", "reward"} != set(LEARNING["tasks"]) or "main" not in LEARNERS:
        return []
    over_models = {"summary/models", "summary/factors"}
    return figure_files(
        f"<results>/summary/figures/learning-tasks/{name}"
        for name, entry in LEARNING_TASKS.items()
        if measures_factors() or not over_models & {*entry.inputs}
    )


def is_published(wildcards):
    """Whether a figure of the learning tasks is one of published values."""
    return wildcards.drawn.startswith("published")


def learning_entry(wildcards):
    """The entry of a figure of the learning tasks in its catalogue."""
    figures = PUBLISHED_FIGURES if is_published(wildcards) else LEARNING_TASKS
    return figures[wildcards.learning_figure]


def learning_figure_inputs(wildcards):
    """What a figure of the learning tasks is drawn from."""
    paths = {"printed-curves": "resources/published/learning-curves.csv"}
    if is_published(wildcards):
        paths["summary/models"] = "<results>/summary/published/models.csv"
        paths["summary/factors"] = "<results>/summary/published/statistics.csv"
    inputs = learning_entry(wildcards).inputs
    return [paths.get(name, f"<results>/{name}.csv") for name in inputs]


def learning_figure_settings(wildcards):
    """The protocols, or the published version, that a figure is drawn from, as JSON."""
    inputs = learning_entry(wildcards).inputs
    if is_published(wildcards):
        versions = [PUBLISHED_VERSIONS[wildcards.learning_figure]]
        return json.dumps({"inputs": inputs, "versions": versions})
    used = LEARNING["protocols"]
    versions = [name for name in ("comparable", "published") if name in used]
    versions = versions or used[:1]
    return json.dumps(
        {
            "inputs": inputs,
            "versions": versions,
            "scalings": {name: PROTOCOLS[name]["scaling"] for name in versions[::-1]},
            "n_resamples": config["n_resamples"],
            "seed": config["seed"],
        }
    )


def learning_caption(wildcards):
    """The caption of a figure of the learning tasks in the report."""
    entry, name = learning_entry(wildcards), wildcards.learning_figure
    caption = f"**{entry.number}: {entry.title}.** {LEARNING_CAPTIONS[name]}"
    if is_published(wildcards):
        version = VERSION_CAPTIONS[PUBLISHED_VERSIONS[name]]
        caption = f"{caption.rstrip()} {version}"
    return caption


def demo_tables():
    """Recovery of the simulated experiments, and the coverage of the intervals."""
    tables = [f"<results>/consistency/{name}/recovery.csv" for name in SIMULATED]
    tables += [f"<results>/consistency/{name}/groups.csv" for name in NAMED_SHAPES]
    if "coverage" in config:
        tables.append("<results>/consistency/coverage.csv")
    if PEOPLE:
        tables.append("<results>/choices/recovery.csv")
    return tables


def demo_needs_simulation(wildcards):
    """The tables of the demo, if the study simulates anything."""
    if not demo_tables():
        raise WorkflowError(
            "The target demo simulates observers, and this study has none.\n"
            "Run: snakemake --cores 2 demo --configfile config/demo.yaml"
        )
    return demo_tables()


def study_files():
    """All that the target `all` makes but the report."""
    learning = learning_files() if choices_at_hand() else recomputed_files()
    return consistency_files() + agreement_files() + learning + demo_tables()


@functools.cache
def report_inputs():
    """Tables and figures that the report tells of, among the files of the study."""
    wanted = ["*/summary/reproduction/*.csv", "*/summary/published/statistics.csv"]
    wanted += [f"*/consistency/*/{name}.csv" for name in ("pairs", "groups")]
    wanted += [f"*/{name}.csv" for name in ("regression", "recovery", "coverage")]
    wanted += [f"*/agreement/*/{name}.csv" for name in AGREEMENT if name != "replicas"]
    wanted += ["*/agreement/learning/*.csv", "*/agreement/planning.csv"]
    wanted += ["*/choices/scores.csv", "*/choices/penalty.csv", "*/figures/*.csv"]
    wanted += ["*/figures/*.png"]
    # The figures of the 2020 paper hold the same pairs.
    wanted += [] if consistency_figures() else ["*/kappa.png"]
    files = study_files()
    if "<results>/summary/protocols.md" in files:
        steps = [f"protocol-steps/{task}.csv" for task in LEARNING["tasks"]]
        files += [f"<results>/summary/{name}" for name in ["protocols.png", *steps]]
        wanted += ["*/protocols.png", "*/protocol-steps/*.csv"]
    return [
        path
        for path in dict.fromkeys(files)
        if any(fnmatch.fnmatch(path, pattern) for pattern in wanted)
    ]


def report_published():
    """The published values that tables of the report are compared with."""
    return [
        f"resources/published/{paper}.csv"
        for paper in config["published"]
        if f"<results>/summary/reproduction/{paper}.csv" in report_inputs()
    ]


def report_settings():
    """What the report must know of the study."""
    return {
        # The user's file stands before the one that it is laid over.
        "configuration": [Path(path).name for path in workflow.configfiles[::-1]],
        "seed": config["seed"],
        "n_resamples": config["n_resamples"],
        "groups": config["groups"],
        "experiments": {
            name: {
                "comparisons": [
                    [comparison["first"], comparison["second"]]
                    for comparison in comparisons_of(experiment)
                ],
                "conditions": experiment.get("conditions", []),
                "exclude": experiment.get("exclude", []),
                "cluster": "cluster" in experiment,
                "simulated": bool({"simulate", "shapes"} & set(experiment)),
            }
            for name, experiment in EXPERIMENTS.items()
        },
        "participants": LEARNING.get("participants", ""),
        "simulate": PEOPLE,
        "protocols": PROTOCOLS,
        "left_out": LEFT_OUT,
    }


def report_files():
    """The report of the study."""
    return ["<results>/summary/report.html"]


def page_files():
    """The texts that the report is made from."""
    names = ["report.html.j2", "macros.html.j2", "methods.html.j2", "report.css"]
    names += ["agreement.html.j2", "defects.yaml"]
    return [workflow.source_path(f"../report/page/{name}") for name in names]


def digest_of(paths):
    """Digest of texts: they count, not the folder they lie in."""
    texts = b"".join(Path(path).read_bytes() for path in paths)
    return hashlib.sha256(texts).hexdigest()[:16]


def stages():
    """The file in which each rule stands; no targets, and not the one that draws it."""
    drawn = (e for e in workflow.rules if e.output and e.name != "rule_graph")
    return {each.name: Path(each.snakefile).stem for each in drawn}


def figure_captions():
    """Captions by the names of figures, in the order of the page."""
    captions = {"summary/protocols": "protocols.rst"}
    captions |= {f"consistency/{name}/kappa": "kappa.rst" for name in EXPERIMENTS}
    captions = {
        name: Path(workflow.source_path(f"../report/{file}")).read_text()
        for name, file in captions.items()
    }
    for name, caption in CAPTIONS.items():
        captions[f"summary/figures/error-consistency/{name}"] = caption
    for drawn, catalogue in {
        "figures/learning-tasks": LEARNING_TASKS,
        "published/figures": PUBLISHED_FIGURES,
    }.items():
        for name in catalogue:
            figure = SimpleNamespace(drawn=drawn, learning_figure=name)
            captions[f"summary/{drawn}/{name}"] = learning_caption(figure)
    made = report_inputs()
    return {
        name: caption
        for name, caption in captions.items()
        if f"<results>/{name}.png" in made
    }
