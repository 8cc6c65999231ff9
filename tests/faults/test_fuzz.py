"""Mutated files from outside: computed correctly, or refused in one message."""

import ast
import copy
import csv
import io
import itertools
import json
import random
import sys
import tarfile
import zipfile
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
import yaml

from trialwise.choices.people import read_choices
from trialwise.configuration import check_schema, check_study
from trialwise.errors import InputError
from trialwise.files import write_table
from trialwise.models.features import read_sidecar
from trialwise.models.precomputed import import_features
from trialwise.models.registry import COLUMNS, Model, read_models
from trialwise.models.twins import find_twins
from trialwise.observer_tables import read_observers
from trialwise.simulation.observers import ObserverGroup, simulate_trials, write_trials
from trialwise.sources import read_sources
from trialwise.stimuli import read_manifest, write_manifest
from trialwise.trials import load_trials, read_trials

ROOT = Path(__file__).parents[2]
MUTANTS = 40
CELLS = (
    *("", " ", "na", "NA", "NaN", "nan", "None", "null", "N/A", "inf", "-inf", "1e999"),
    *("0", "-1", "1.0", "01", "1e3", "99999999999999999999", "0x10", "1_0", "٣"),
    *(
        "True",
        "\0",
        "a\0b",
        '"',
        '"a',
        'a"b',
        "a,b",
        "a\nb",
        "a\rb",
        "\u2028",
        "\ud7ff",
    ),
    *(
        "=1+1",
        "../../x",
        "/etc/passwd",
        "$(touch x)",
        "; ls",
        "é",
        "e\u0301",
        "x" * 999,
    ),
)
LINES = ("duplicate", "delete", "swap", "empty", "shorten", "lengthen")
BYTES = (b"\0", b"\xff", b'"', b",", b"\n", b"\r", b"\xef\xbb\xbf", b"\x1a", b"\t")
VALUES = (
    *(None, True, -1, 0, 1e308, 10**30, float("nan"), float("inf"), "", "*", "x"),
    *([], [None], {}, {"x": 1}, "[", "(", "a b", "human", "$(touch x)", "../x", "é"),
)
UNPICKLING = ("pickle.load", "pickle.loads", "joblib.load", "pd.read_pickle")
UNPICKLING += ("eval", "exec", "yaml.load", "shutil.unpack_archive")
MODEL = Model(
    **{
        **dict.fromkeys(COLUMNS, ""),
        "id": "theirs",
        "provider": "precomputed",
        "dimension": 4,
    }
)
IMAGES = [f"stimuli/object{i // 3}/object{i // 3}_{i % 3:02}.jpg" for i in range(12)]


def mutate_table(text, rng):
    """A CSV text with one to three faults, as bytes."""
    rows = list(csv.reader(io.StringIO(text)))
    for _ in range(rng.randint(1, 3)):
        kind = rng.choice(["cell", "cell", "cell", "copy", "line", "column", "bytes"])
        at = rng.randrange(len(rows))
        row = rows[at]
        if kind == "cell" and row:
            row[rng.randrange(len(row))] = rng.choice(CELLS)
        elif kind == "copy" and row:
            other = rng.choice(rows)
            column = rng.randrange(len(row))
            row[column] = other[column % len(other)] if other else ""
        elif kind == "column":
            column = rng.randrange(len(rows[0]))
            value = rng.choice(CELLS)
            for each in rows[rng.choice([0, 1]) :]:
                if column < len(each):
                    each[column] = value
        elif kind == "line":
            mutate_lines(rows, at, rng)
    file = io.StringIO()
    csv.writer(file, lineterminator=rng.choice(["\n", "\r\n"])).writerows(rows)
    data = file.getvalue().encode()
    return mutate_bytes(data, rng) if rng.random() < 0.2 else data


def mutate_lines(rows, at, rng):
    kind = rng.choice(LINES)
    if kind == "duplicate":
        rows.insert(at, list(rows[at]))
    elif kind == "delete" and len(rows) > 1:
        del rows[at]
    elif kind == "swap":
        other = rng.randrange(len(rows))
        rows[at], rows[other] = rows[other], rows[at]
    elif kind == "empty":
        rows.insert(at, [])
    elif kind == "shorten":
        rows[at] = rows[at][:-1]
    elif kind == "lengthen":
        rows[at] = [*rows[at], rng.choice(CELLS)]


def mutate_bytes(data, rng):
    at = rng.randrange(len(data) + 1)
    kind = rng.choice(["insert", "cut", "end", "flip"])
    if kind == "insert":
        return data[:at] + rng.choice(BYTES) + data[at:]
    if kind == "cut":
        return data[:at] + data[at + rng.randint(1, 40) :]
    if kind == "end":
        return data[:at]
    flipped = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        flipped[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(flipped)


def mutate_tree(tree, rng):
    """A structure of dicts and lists with one to three values or keys changed."""
    tree = copy.deepcopy(tree)
    for _ in range(rng.randint(1, 3)):
        places = list(inner_places(tree))
        if not places:
            return tree
        node, key = rng.choice(places)
        kind = rng.choice(["value", "value", "delete", "rename", "copy"])
        if kind == "value":
            node[key] = copy.deepcopy(rng.choice(VALUES))
        elif kind == "delete":
            del node[key]
        elif kind == "rename" and isinstance(node, dict):
            node[rng.choice(["x", f"{key}s", "a b", ""])] = node.pop(key)
        else:
            other, place = rng.choice(places)
            node[key] = copy.deepcopy(other[place])
    return tree


def inner_places(node):
    keys = node if isinstance(node, dict) else range(len(node))
    for key in list(keys):
        yield node, key
        if isinstance(node[key], dict | list):
            yield from inner_places(node[key])


def accepted(read, *arguments, **options):
    """What a function returns; None if it refuses in a message of a few lines."""
    try:
        return read(*arguments, **options)
    except InputError as error:
        message = str(error)
        assert message.strip()
        assert message.count("\n") <= 2
        assert len(message) < 20_000
        return None


@pytest.fixture(scope="module")
def observers(tmp_path_factory):
    """Simulated trial tables in the paper's layout, as texts by file name."""
    folder = tmp_path_factory.mktemp("observers")
    groups = [
        ObserverGroup("subject", 2, 0.75, 0.3),
        ObserverGroup("network", 1, 0.4, 0.5),
    ]
    write_trials(simulate_trials(groups, 0.1, 24, 1), folder)
    return {file.name: file.read_text() for file in sorted(folder.iterdir())}


def rows_of(data):
    return list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline=None)))


@pytest.mark.parametrize("seed", range(MUTANTS))
def test_trial_tables(tmp_path, observers, seed):
    rng = random.Random(seed)
    for name, text in observers.items():
        (tmp_path / name).write_text(text)
    name = rng.choice(sorted(observers))
    (tmp_path / name).write_bytes(mutate_table(observers[name], rng))
    trials = accepted(read_trials, tmp_path)
    if trials is None:
        return
    rows = [
        row for name in observers for row in rows_of((tmp_path / name).read_bytes())
    ]
    right = sum(row["object_response"] == row["category"] for row in rows)
    assert (len(trials), trials["correct"].sum()) == (len(rows), right)
    write_table(trials, tmp_path / "out" / "trials.csv")
    pd.testing.assert_frame_equal(load_trials(tmp_path / "out" / "trials.csv"), trials)


@pytest.mark.parametrize("seed", range(MUTANTS))
def test_tables_of_other_layouts(tmp_path, seed):
    rng = random.Random(seed)
    lines = ["observer,stimulus,response,truth,session"]
    for who, i in itertools.product(("one", "two"), range(8)):
        response, truth = rng.choice(["bird", "cat"]), ["cat", "bird"][i % 2]
        lines.append(f"{who},owl-{i}.png,{response},{truth},1")
    data = mutate_table("\n".join(lines) + "\n", rng)
    (tmp_path / "own.csv").write_bytes(data)
    trials = accepted(read_observers, [tmp_path / "own.csv"])
    if trials is None:
        return
    assert trials.notna().all(axis=None)
    assert len(trials) % trials["observer"].nunique() == 0
    write_table(trials, tmp_path / "trials.csv")
    pd.testing.assert_frame_equal(load_trials(tmp_path / "trials.csv"), trials)


@pytest.mark.parametrize("task", ["category", "reward"])
@pytest.mark.parametrize("seed", range(MUTANTS // 2))
def test_choices(tmp_path, task, seed):
    rng = random.Random(seed)
    path = tmp_path / "choices.csv"
    path.write_bytes(mutate_table(choices_text(task, rng), rng))
    trials = accepted(read_choices, path, task, "all")
    if trials is None:
        return
    rows = rows_of(path.read_bytes())
    assert len(trials) == len(rows)
    assert set(trials["participant"]) == {row["participant"] for row in rows}
    write_table(trials, tmp_path / "written.csv")
    # As the stages that follow read it.
    written = pd.read_csv(tmp_path / "written.csv")
    assert written.notna().all(axis=None)
    assert written["participant"].nunique() == trials["participant"].nunique()
    side = "true_category_binary" if task == "category" else "left_reward"
    rows.sort(key=lambda row: (row["participant"], float(row["trial"])))
    for column in [side, "choice", "correct", "trial"]:
        words = {"True": 1, "False": 0}
        values = [float(words.get(row[column], row[column])) for row in rows]
        assert written[column].tolist() == values


def choices_text(task, rng):
    lines = []
    for person in ("1", "2", "10"):
        for trial in range(6):
            choice = rng.randrange(2)
            if task == "category":
                truth = trial % 2
                given = f"stimuli/a/{trial}.jpg,{truth},{choice},{int(choice == truth)}"
            else:
                pair = rng.sample(range(100), 2)
                best = int(pair[choice] == max(pair))
                given = (
                    f"a/{trial}.jpg,b/{trial}.jpg,{pair[0]},{pair[1]},{choice},{best}"
                )
            lines.append(f"{person},0,{trial},{given}")
    columns = {
        "category": "image,true_category_binary,choice,correct",
        "reward": "left_image,right_image,left_reward,right_reward,choice,correct",
    }[task]
    return "\n".join([f"participant,dimension,trial,{columns}", *lines]) + "\n"


def strange_array(rng):
    """Features that an extractor of another lab may have left."""
    base = np.random.default_rng(rng.randrange(99)).normal(size=(12, 4))
    kind = rng.randrange(14)
    if kind == 0:
        base[rng.randrange(12), rng.randrange(4)] = rng.choice(
            [np.nan, np.inf, -np.inf]
        )
    elif kind == 1:
        base[rng.randrange(12), 0] = rng.choice([1e39, -1e300])
    elif kind == 2:
        base = base.astype(rng.choice(["<f2", ">f4", ">f8", "<i8", "u1", "bool"]))
    elif kind == 3:
        base = base + 1j
    elif kind == 4:
        base = base.astype("U8")
    elif kind == 5:
        base = base.astype("datetime64[s]")
    elif kind == 6:
        base = base.astype("f4,f4")
    elif kind == 7:
        base = base.reshape(rng.choice([(12, 1, 4), (12, 4, 1, 1), (12, 2, 2), (48,)]))
    elif kind == 8:
        base = base[: rng.randrange(12), : rng.randrange(5)]
    elif kind == 9:
        base = np.asfortranarray(base)
    elif kind == 10:
        base = np.float32(3)
    elif kind == 11:
        base = base.astype(np.longdouble) * 10.0 ** rng.choice([0, 37, 39])
    return base


@pytest.mark.parametrize("seed", range(MUTANTS))
def test_feature_files(tmp_path, seed):
    rng = random.Random(seed)
    array = strange_array(rng)
    source, names = tmp_path / "theirs.npy", tmp_path / "file_names.txt"
    file = io.BytesIO()
    rng.choice([np.save, np.save, np.savez])(file, array)
    data = file.getvalue()
    source.write_bytes(mutate_bytes(data[:160], rng) + data[160:] if seed % 2 else data)
    listed = "\n".join(IMAGES).encode() + b"\n"
    names.write_bytes(mutate_bytes(listed, rng) if rng.random() < 0.2 else listed)
    output = tmp_path / "out" / "theirs.npy"
    if accepted(import_features, MODEL, source, names, IMAGES, output) is None:
        assert not output.exists()
        return
    features = np.load(output, allow_pickle=False)
    assert features.dtype == np.dtype("<f4")
    assert np.isfinite(features).all()
    given = np.load(source, allow_pickle=False).reshape(len(features), -1)
    order = [names.read_text().splitlines().index(image) for image in IMAGES]
    np.testing.assert_array_equal(features, given[order].astype("<f4"))


@pytest.mark.parametrize("seed", range(MUTANTS))
def test_stored_features_and_sidecars(tmp_path, seed):
    rng = random.Random(seed)
    (tmp_path / "file_names.txt").write_text("\n".join(IMAGES) + "\n")
    files = []
    for name in ("a", "b"):
        np.save(tmp_path / "source.npy", np.full((12, 4), ord(name), dtype="f4"))
        output = tmp_path / "features" / f"{name}.npy"
        names = tmp_path / "file_names.txt"
        import_features(MODEL, tmp_path / "source.npy", names, IMAGES, output)
        files.append(output)
    sidecar = files[0].with_suffix(".json")
    facts = json.loads(sidecar.read_text())
    if seed % 3 == 0:
        files[0].write_bytes(mutate_bytes(files[0].read_bytes(), rng))
    elif seed % 3 == 1:
        sidecar.write_text(json.dumps(mutate_tree(facts, rng)))
    else:
        sidecar.write_bytes(mutate_bytes(sidecar.read_bytes(), rng))
    accepted(read_sidecar, files[0])
    twins = accepted(find_twins, files)
    assert twins is None or list(twins["same"]) in ([], ["weights"], ["features"])


@pytest.mark.parametrize("seed", range(MUTANTS))
def test_image_manifests(tmp_path, seed):
    rng = random.Random(seed)
    path = tmp_path / "images.txt"
    lines = list(IMAGES)
    for _ in range(rng.randint(1, 3)):
        lines[rng.randrange(len(lines))] = rng.choice([*CELLS, *IMAGES])
    data = "\n".join(lines).encode()
    path.write_bytes(mutate_bytes(data, rng) if rng.random() < 0.5 else data)
    images = accepted(read_manifest, path)
    if images is None:
        return
    root = (tmp_path / "root").resolve()
    for image in images:
        assert (root / image).resolve().is_relative_to(root)
    write_manifest(images, path)
    assert read_manifest(path) == images
    assert path.read_bytes().count(b"\n") == len(images)


@pytest.fixture(scope="module")
def registry():
    return read_models(ROOT / "config" / "models.tsv")


@pytest.mark.parametrize("name", ["config.yaml", "demo.yaml"])
@pytest.mark.parametrize("seed", range(MUTANTS // 2))
def test_configurations(registry, name, seed):
    rng = random.Random(seed)
    study = yaml.safe_load((ROOT / "config" / "config.yaml").read_text())
    study |= yaml.safe_load((ROOT / "config" / name).read_text())
    study = mutate_tree(study, rng)
    groups = read_sources(ROOT / "resources" / "sources.tsv")["group"].unique()
    protocols = yaml.safe_load((ROOT / "config" / "protocols.yaml").read_text())
    schema = ROOT / "workflow" / "schemas" / "config.schema.yaml"

    def check():
        check_schema(study, schema, "configuration")
        check_study(study, groups, protocols, registry)
        return True

    if accepted(check):
        for entry in study["experiments"] + study["noise_experiments"]:
            assert set(entry["name"]) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")


class Harmful:
    """An object that makes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_pickled_features_are_refused_and_not_run(tmp_path):
    harm = tmp_path / "harm"
    array = np.empty((12, 4), dtype=object)
    array[:] = Harmful(harm)
    np.save(tmp_path / "theirs.npy", array, allow_pickle=True)
    (tmp_path / "file_names.txt").write_text("\n".join(IMAGES) + "\n")
    given = (tmp_path / "theirs.npy", tmp_path / "file_names.txt", IMAGES)
    with pytest.raises(InputError, match=r"theirs\.npy cannot be read"):
        import_features(MODEL, *given, tmp_path / "out.npy")
    assert not harm.exists()
    np.load(tmp_path / "theirs.npy", allow_pickle=True)
    assert harm.exists()


def test_nothing_in_the_package_unpickles():
    source = ROOT / "workflow" / "src" / "trialwise"
    for file in sorted(source.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                given = {k.arg: ast.unparse(k.value) for k in node.keywords}
                assert given.get("allow_pickle", "False") == "False", file
                assert called not in UNPICKLING, file
                if called == "torch.load":
                    assert given.get("weights_only") == "True", file


def test_members_of_archives_cannot_leave_their_folder(tmp_path, monkeypatch):
    text = pytest.importorskip("trialwise.models.text")
    inside = tmp_path / "a" / "inside"
    inside.mkdir(parents=True)
    with zipfile.ZipFile(tmp_path / "vectors.zip", "w") as archive:
        for name in ("../evil.bin", "/evil.bin", "good.bin"):
            archive.writestr(name, name)
    text._unpack(tmp_path / "vectors.zip", inside)
    made = set(tmp_path.rglob("*.bin"))
    assert made == {inside / "evil.bin", inside / "good.bin"}
    assert not Path("/evil.bin").exists()

    monkeypatch.setitem(sys.modules, "tensorflow_hub", ModuleType("tensorflow_hub"))
    model = replace(MODEL, url="https://example.org/use.tar.gz")
    link = tarfile.TarInfo("evil.txt")
    link.type, link.linkname = tarfile.SYMTYPE, "../../evil.txt"
    for member in (tarfile.TarInfo("../evil.txt"), link):
        with tarfile.open(inside / "use.tar.gz", "w:gz") as archive:
            archive.addfile(member)
        with pytest.raises(InputError, match="is no archive of a model"):
            text._use(model, inside, ["owl"])
        assert not list(tmp_path.rglob("evil.txt"))


@pytest.mark.parametrize(
    "name",
    [
        "a;b",
        "$(touch x)",
        "`x`",
        "a b",
        "a'b",
        'a"b',
        "a|b",
        "a>b",
        "../a",
        "a\n",
    ],
)
def test_no_metacharacter_reaches_a_shell_in_a_name(registry, tmp_path, name):
    study = yaml.safe_load((ROOT / "config" / "config.yaml").read_text())
    schema = ROOT / "workflow" / "schemas" / "config.schema.yaml"
    changes = [
        lambda study: study["experiments"][0].update(name=name),
        lambda study: study["groups"].update({name: ["*"]}),
        lambda study: study.update(image_sets={name: "images"}),
    ]
    if name != "../a":
        changes.append(lambda study: study.update(results=f"results/{name}"))
        changes.append(lambda study: study.update(sources=f"results/{name}"))
    for change in changes:
        changed = copy.deepcopy(study)
        change(changed)
        with pytest.raises(InputError, match="Allowed: "):
            check_schema(changed, schema, "configuration")
    study["learning"]["models"] = [name]
    check_schema(study, schema, "configuration")
    groups = read_sources(ROOT / "resources" / "sources.tsv")["group"].unique()
    protocols = yaml.safe_load((ROOT / "config" / "protocols.yaml").read_text())
    with pytest.raises(InputError, match="learning: no model"):
        check_study(study, groups, protocols, registry)
    if name.isprintable():
        table = (ROOT / "config" / "models.tsv").read_text()
        row = table.splitlines()[1].split("\t")[0]
        (tmp_path / "models.tsv").write_text(table.replace(f"\n{row}\t", f"\n{name}\t"))
        with pytest.raises(InputError, match="line 2: id is "):
            read_models(
                tmp_path / "models.tsv",
                ROOT / "workflow" / "schemas" / "models.schema.yaml",
            )
