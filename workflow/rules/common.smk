import fnmatch
import functools
import hashlib
import json
import os
import re
import sys
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace

import yaml
from snakemake.exceptions import WorkflowError

# Jobs call `python`: let it be the interpreter that runs Snakemake, also when its
# virtual environment is not activated.
os.environ.update(
    PATH=os.pathsep.join([str(Path(sys.executable).parent), *os.get_exec_path()])
)

try:
    from trialwise.configuration import check_schema, check_study
    from trialwise.digest import PACKAGE
    from trialwise.digest import code_digest as code_of
    from trialwise.errors import InputError
    from trialwise.manifest import Output, update_manifest
    from trialwise.models.availability import (
        describe_left_out,
        explain_environment,
        why_unavailable,
    )
    from trialwise.models.loaders import LIBRARIES
    from trialwise.models.registry import UNTRAINED, read_models, select_models
    from trialwise.models.thingsvision import brings_weights
    from trialwise.simulation import observers, recovery
    from trialwise.simulation.agreement_validity import METHODS
    from trialwise.simulation.representations import representation_names
    from trialwise.sources import read_sources
    from trialwise.summary.figures.alignment_catalogue import (
        LEARNING_TASKS,
        PUBLISHED_FIGURES,
        PUBLISHED_VERSIONS,
        VERSION_CAPTIONS,
    )
    from trialwise.summary.figures.catalogue import ERROR_CONSISTENCY
    from trialwise.summary.reproduction import read_published, tables_needed
except ModuleNotFoundError as error:
    raise WorkflowError(
        f"The package of this workflow is not installed ({error}).\n"
        "Install it: pip install -e workflow"
    ) from None

if PACKAGE.parent.resolve() != Path(workflow.basedir, "workflow", "src").resolve():
    raise WorkflowError(
        f"The package that is installed is that of {PACKAGE.parents[2]}, another copy "
        "of this workflow.\nInstall that of this one: pip install -e workflow"
    )

SOURCES = "resources/sources.tsv"
MODEL_TABLE = "config/models.tsv"
GENERATIVE = "spose-49"
PROTOCOLS = yaml.safe_load(Path("config/protocols.yaml").read_text())
# Interpreters of other environments import the package from here.
os.environ.update(
    PYTHONPATH=os.pathsep.join(
        filter(None, [str(PACKAGE.parent), os.environ.get("PYTHONPATH")])
    )
)


try:
    check_schema(
        config, workflow.source_path("../schemas/config.schema.yaml"), "configuration"
    )
    sources = read_sources(
        SOURCES, workflow.source_path("../schemas/sources.schema.yaml")
    )
    check_schema(
        PROTOCOLS,
        workflow.source_path("../schemas/protocols.schema.yaml"),
        "config/protocols.yaml",
    )
    MODELS = read_models(
        MODEL_TABLE, workflow.source_path("../schemas/models.schema.yaml")
    )
    check_study(config, sources["group"].unique(), PROTOCOLS, MODELS)
except InputError as error:
    raise WorkflowError(str(error)) from None


# Here and not in the Snakefile, whose demand for a newer Snakemake is read first: one
# that does not know the keyword refuses the whole file that has it.
pathvars:
    results=config["results"],
    sources=config["sources"],
    logs=f"{config['results']}/logs",
    benchmarks=f"{config['results']}/benchmarks",


EXPERIMENTS = {entry["name"]: entry for entry in config["experiments"]}
NOISE_EXPERIMENTS = {entry["name"]: entry for entry in config["noise_experiments"]}
SIMULATED = [name for name, entry in EXPERIMENTS.items() if "simulate" in entry]
NAMED_SHAPES = [name for name, entry in EXPERIMENTS.items() if "shapes" in entry]

LEARNING = config.get("learning", {"protocols": [], "tasks": [], "models": []})
LEARNING = {**LEARNING, "models": select_models(LEARNING["models"], MODELS)}
LEARNERS = LEARNING.get("learners", [])
PEOPLE = LEARNING.get("simulate", {})
SYNTHETIC = [
    model
    for model in LEARNING["models"]
    if LEARNING.get("synthetic") and model != GENERATIVE
]
LEFT_OUT = {}
IMAGES = LEARNING.get("images", "things")
IMAGE_FOLDERS = {
    "edges": "<sources>/stimuli-edges",
    "silhouettes": "<sources>/stimuli-silhouettes",
    "simulated": "<results>/stimuli/simulated",
    **config["image_sets"],
}
# Simulated people choose by what the protocol `comparable` would compute.
CHOOSING = {"learner": "main", "scaling": "global"}


wildcard_constraints:
    experiment="|".join(EXPERIMENTS) or "none",
    noise="|".join(NOISE_EXPERIMENTS) or "none",
    group="|".join(sources["group"].unique()),
    task="category|reward",
    protocol="|".join(PROTOCOLS),
    learner="main|sparse|pca",
    scaling="in-place|seen-scaled|raw|global",
    model="|".join([*MODELS, *LEARNING["models"]]),
    images="|".join(["things", *IMAGE_FOLDERS]),
    method="|".join(METHODS),


def growing(mem_mb):
    """Memory of a job in MB: doubled each time that it comes back after a failure."""
    return lambda wildcards, attempt: mem_mb * 2 ** (attempt - 1)


def entry(wildcards):
    """The configuration of the experiment a job is about."""
    return EXPERIMENTS[wildcards.experiment]


def select(source, *keys):
    """Those of the keys that a configuration entry has."""
    return {key: source[key] for key in keys if key in source}


def chosen(source, *keys):
    """The same as the JSON a stage reads."""
    return json.dumps(select(source, *keys))


def comparisons_of(experiment):
    """The comparisons of an experiment or of the study, less those of models left out."""
    asked = experiment.get("decisions") or experiment.get("shapes") or {"models": []}
    kept = available(asked["models"], asked.get("images", "simulated"))
    lacking = set(asked["models"]) - set(kept)

    def is_there(group):
        return any(
            fnmatch.filter(kept, pattern) or not fnmatch.filter(lacking, pattern)
            for pattern in config["groups"][group]
        )

    return [
        comparison
        for comparison in experiment.get("comparisons", config["comparisons"])
        if is_there(comparison["first"]) and is_there(comparison["second"])
    ]


def groups_of(names):
    """The observers of the named groups."""
    return {name: config["groups"][name] for name in sorted(set(names))}


def compared_groups(experiment):
    """The groups that the comparisons of an experiment need."""
    pairs = comparisons_of(experiment)
    return groups_of(c[side] for c in pairs for side in ("first", "second"))


def agreement_settings(wildcards):
    """What the stages of agreement of an experiment need, as JSON."""
    own = entry(wildcards)["agreement"]
    people, machines = own["people"], own["machines"]
    pairs = [(people, people), (machines, machines), (machines, people)]
    return json.dumps(
        {
            **own,
            "groups": groups_of([people, machines]),
            "comparisons": pairs,
            "cluster": entry(wildcards).get("cluster"),
            **select(config, "n_matrices", "n_resamples", "seed"),
        }
    )


def learner_agreement(name):
    """Tables of kappa between learners and people, one per protocol and task."""
    return [
        f"<results>/agreement/learning/{protocol}/{task}/{name}.csv"
        for protocol in LEARNING["protocols"]
        for task in LEARNING["tasks"]
    ]


def compared_protocol():
    """The protocol that models are compared under, or the first of the study."""
    names = LEARNING["protocols"]
    return "comparable" if "comparable" in names else names[0]


def compared_values(wildcards):
    """Values of the main learner under that protocol."""
    task = wildcards.task
    scaling = PROTOCOLS[compared_protocol()]["scaling"][task]
    return f"<results>/learners/{scaling}/{task}/main/{wildcards.model}.csv"


def new_people(kind):
    """Tables of how the models of the study do with people left out."""
    return [
        f"<results>/agreement/learning/{kind}/{task}/{model}.csv"
        for task in LEARNING["tasks"]
        for model in learned_models()
    ]


def raw_trials(experiment):
    """The raw trial tables of an experiment: a folder that a job makes, or files."""
    if "folder" in experiment:
        return sorted(map(str, Path(experiment["folder"]).glob("*.csv")))
    if {"simulate", "shapes"} & experiment.keys():
        return f"<results>/consistency/{experiment['name']}/simulated"
    if isinstance(experiment["trials"], dict):
        return experiment["trials"]["files"]
    return f"<sources>/{experiment['trials']}"


def layout_of(experiment):
    """How the user's own files of an experiment are laid out, where it has such."""
    own = experiment.get("trials")
    return {"own": own} if isinstance(own, dict) else {}


def checksums_of(group):
    """The checksums of a group of external files."""
    return sources.loc[sources["group"] == group, "sha256"].tolist()


def true_consistency(wildcards):
    """The consistency that the observers of an experiment were simulated with."""
    world = entry(wildcards)["simulate"]
    by_pattern = {f"{group['name']}-*": group for group in world["groups"]}
    truth = {}
    for comparison in comparisons_of(entry(wildcards)):
        first, second = (
            by_pattern[config["groups"][comparison[side]][0]]
            for side in ("first", "second")
        )
        name = f"{comparison['first']}-{comparison['second']}"
        same = first["name"] == second["name"]
        truth[name] = first["consistency"] if same else world["between"]
    return truth


def show_recovery():
    """Say how well what observers and people were simulated with was recovered."""
    results = Path(config["results"])
    described = {
        results / "consistency" / name / "recovery.csv": observers for name in SIMULATED
    }
    described[results / "choices" / "recovery.csv"] = recovery
    for path, module in described.items():
        if path.exists():
            import pandas as pd

            print(module.describe_recovery(pd.read_csv(path)))


def record_results():
    """Bring the manifest of the study up to date with what this run has made."""
    outputs = {}
    for job in workflow.dag.jobs:
        for path in job.output:
            file = Path(path)
            if file.exists() and not file.is_relative_to(config["sources"]):
                # The record of the last job may be written after the run has ended.
                record = workflow.persistence.metadata(path)
                ended = record.endtime if record else file.stat().st_mtime
                code = job.params.get("code", "")
                outputs[str(path)] = Output(job.rule.name, code, ended)
    try:
        update_manifest(config["results"], outputs)
    except InputError as error:
        raise WorkflowError(str(error)) from None


def show_errors(logs):
    """Say again, below all that Snakemake says, what the user has to mend."""
    told = "".join(Path(log).read_text() for log in logs)
    failed = re.findall(r"^ *log: (.+) \(check log file", told, re.M)
    errors = {}
    for path in map(Path, failed):
        text = path.read_text(errors="replace") if path.is_file() else ""
        errors |= dict.fromkeys(re.findall(r"^error: .*", text, re.M | re.S))
    print(*errors, sep="", end="", flush=True)


def decisions_of(experiment):
    """Tables of what further models decide on the images of an experiment."""
    if "decisions" not in experiment:
        return []
    images = experiment["decisions"]["images"]
    models = available(experiment["decisions"]["models"], images)
    return [f"<results>/decisions/{images}/{model}.csv" for model in models]


def available(models, images):
    """Those of the models whose features of an image set can be made here."""
    reasons = {name: reason_to_leave_out(name, images) for name in models}
    LEFT_OUT.update({name: reason for name, reason in reasons.items() if reason})
    return [name for name, reason in reasons.items() if not reason]


@functools.cache
def reason_to_leave_out(name, images):
    """Why the features of a model cannot be made here; empty if they can."""
    answered = Path(config["sources"], "answers", name).exists()
    drawn = name not in MODELS or name in SYNTHETIC
    if drawn or answered or precomputed(images, name):
        return ""
    things = os.environ.get("TRIALWISE_THINGS")
    return why_unavailable(MODELS[name], images, things, config["environments"])


def learned_models():
    """Models of the learning tasks whose features can be made here."""
    return available(LEARNING["models"], IMAGES)


def interpreter_of(model):
    """The Python interpreter that can load a model."""
    return config["environments"].get(MODELS[model].environment, "python")


def precomputed(images, model):
    """The file or folder of features of a model that the user has supplied, if any."""
    folder = config["precomputed"].get(images)
    found = (
        [Path(folder, f"{model}{suffix}") for suffix in ("", ".npy")] if folder else []
    )
    return next((str(path) for path in found if path.exists()), "")


def image_folder(images):
    """The folder of an image set, for an input; THINGS images come by environment."""
    return IMAGE_FOLDERS.get(images, [])


def feature_inputs(wildcards):
    """What the features of a model are made from."""
    model, images = MODELS[wildcards.model], wildcards.images
    inputs = {"images": f"<results>/stimuli/{images}.txt"}
    if supplied := precomputed(images, model.id):
        names = Path(config["precomputed"][images]) / "file_names.txt"
        return {**inputs, "precomputed": supplied, "names": str(names)}
    if model.provider == "spose":
        return {**inputs, "generative": "<sources>/learning-tasks"}
    if reason := explain_environment(model, config["environments"]):
        raise WorkflowError(f"{model.id}: {reason}")
    own = model.provider == "embedding-api" or brings_weights(model)
    if model.weights != UNTRAINED and not own:
        inputs["weights"] = f"<sources>/weights/{model.id}"
    if model.base:
        inputs["base"] = f"<results>/features/{images}/{model.base}.npy"
    elif model.input == "image" and images in IMAGE_FOLDERS:
        inputs["root"] = IMAGE_FOLDERS[images]
    return inputs


def feature_places(wildcards, inputs):
    """The same as paths by their meaning; the key `root` says where images are."""
    places = {key: str(value) for key, value in inputs.items() if key != "images"}
    if wildcards.images == "things":
        places["root"] = "things"
    # Answers of a service stand where the weights of other models do.
    places.setdefault("weights", f"{config['sources']}/answers/{wildcards.model}")
    return places


def recipe_of(model):
    """The fields of a model that its features depend on, and no remarks."""
    fields = asdict(MODELS[model])
    remarks = {"set", "parameters_published", "training_images", "type", "aligned_by"}
    remarks |= {"table_name", "figure_name", "note"}
    return {key: value for key, value in fields.items() if key not in remarks}


def code_of_provider(model):
    """Modules that make the features of a model."""
    provider = MODELS[model].provider
    if provider == "spose":
        return ["feature_matrices", "models.features"]
    if provider == "glocal":
        return ["models.alignment"]
    if provider in ("harmonization", "thingsvision"):
        return [f"models.{provider}"]
    text = ["models.text"] if MODELS[model].input == "object name" else []
    loaders = ["models.extraction", "models.loaders", f"models.loaders.{provider}"]
    return text + (loaders if provider in LIBRARIES else [])


def choices_of(task):
    """What a job needs to read the choices of a task, and the file it reads."""
    if PEOPLE:
        return f"<results>/choices/simulated/{task}.csv", (
            f"{config['results']}/choices/simulated/{task}.csv"
        )
    own = LEARNING.get("choices", {}).get(task)
    if own:
        return own, own
    return "<sources>/learning-tasks", (
        f"{config['sources']}/learning-tasks/{task}_learning.csv"
    )


def values_for(wildcards):
    """The learner tables that a protocol scores, in the order of the learners."""
    scaling = PROTOCOLS[wildcards.protocol]["scaling"][wildcards.task]
    return [
        f"<results>/learners/{scaling}/{wildcards.task}/{learner}/{wildcards.model}.csv"
        for learner in LEARNERS
    ]


def scalings_of(task):
    """The scalings that the protocols of the study use for a task."""
    protocols = (PROTOCOLS[name] for name in LEARNING["protocols"])
    return sorted({protocol["scaling"][task] for protocol in protocols})
