"""The authors' features laid out for use, and what is left out."""

from pathlib import Path

import numpy as np
import pytest

from trialwise.errors import InputError
from trialwise.models import authors
from trialwise.models.features import read_sidecar
from trialwise.models.precomputed import import_features
from trialwise.models.registry import read_models

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "resources" / "authors-features.tsv"
OBJECTS = ["ant", "bee-hive", "bee", "cat"]
# Sorted as whole paths, so that `bee-hive` comes before `bee`.
IMAGES = [f"stimuli/{name}/{name}_{i:02}.jpg" for name in OBJECTS for i in range(3)]
N = len(IMAGES)


@pytest.fixture(scope="module")
def models():
    return read_models(ROOT / "config" / "models.tsv")


@pytest.fixture(scope="module")
def files(models):
    return authors.read_file_names(TABLE, models)


@pytest.fixture(scope="module")
def generative():
    return np.random.default_rng(1).uniform(size=(len(OBJECTS), 49)).astype("f4")


@pytest.fixture
def source(tmp_path, models, generative):
    """The authors' files of three models, in the order in which thingsvision reads."""
    folder = tmp_path / "osf" / "features"
    folder.mkdir(parents=True)
    order = authors.thingsvision_order(IMAGES)
    by_object = dict(zip(OBJECTS, generative, strict=True))
    task = np.array([by_object[image.split("/")[1]] for image in order])
    np.save(folder / "task.npy", task.astype(np.float64))
    rng = np.random.default_rng(2)
    np.save(folder / "resnet18.npy", rng.normal(size=(N, 512)).astype("f4"))
    np.save(folder / "clip_ViT-L_14.npy", rng.normal(size=(N, 1, 768)).astype("f2"))
    return folder


@pytest.fixture
def lay_out(tmp_path, files, models, source, generative):
    output = tmp_path / "authors-features"

    def run():
        return output, authors.lay_out_features(
            files, models, source, IMAGES, generative, OBJECTS, output
        )

    return run


def left_out(remarks):
    lines = [line for line in remarks if line.startswith("left out: ")]
    return {line.split()[2]: line for line in lines}


def test_tracked_table_has_the_86_models_of_the_paper(files, models):
    paper = [model.id for model in models.values() if "paper-2024" in model.set]
    assert sorted(files.index) == sorted(paper)
    assert len(files) == 86
    assert set(files["evidence"]) == {"authors code", "inferred"}


def test_features_that_are_there_are_laid_out_by_id(lay_out, source):
    output, remarks = lay_out()
    names = {"file_names.txt", "spose-49.npy", "resnet18.npy", "clip-vit-l-14.npy"}
    assert {file.name for file in output.iterdir()} == names
    assert (output / "resnet18.npy").samefile(source / "resnet18.npy")
    assert len(left_out(remarks)) == 83
    assert remarks[-1].startswith("3 of 86 models have features in ")


@pytest.mark.parametrize("listed", [False, True])
def test_rows_follow_the_manifest_in_the_end(
    lay_out, source, models, generative, listed
):
    if listed:
        order = np.random.default_rng(3).permutation(N)
        rows = np.load(source / "task.npy")
        np.save(source / "task.npy", rows[order])
        names = [authors.thingsvision_order(IMAGES)[i] for i in order]
        root = "/home/someone/naturalcogsci"
        text = "".join(f"{root}/{name}\n" for name in names)
        (source / "file_names.txt").write_text(text)
    output, _ = lay_out()
    made = output.parent / "made.npy"
    model = models["spose-49"]
    names = output / "file_names.txt"
    import_features(model, output / "spose-49.npy", names, IMAGES, made)
    np.testing.assert_array_equal(np.load(made), np.repeat(generative, 3, axis=0))
    assert read_sidecar(made)["images"] == N


@pytest.mark.parametrize(
    ("shape", "fault"),
    [
        ((N, 513), "shape (12, 513), not 12 rows of 512"),
        ((N, 512, 7, 7), "shape (12, 512, 7, 7), not 12 rows of 512"),
        ((N - 1, 512), "shape (11, 512), not 12 rows of 512"),
        ((512,), "shape (512,), not 12 rows of 512"),
    ],
)
def test_features_of_another_shape_are_left_out(lay_out, source, shape, fault):
    np.save(source / "resnet18.npy", np.zeros(shape, dtype="f4"))
    output, remarks = lay_out()
    assert left_out(remarks)["resnet18"] == (
        f"left out: resnet18 (resnet18.npy: {fault})"
    )
    assert not (output / "resnet18.npy").exists()
    assert (output / "clip-vit-l-14.npy").exists()


def test_unreadable_features_are_left_out(lay_out, source):
    (source / "resnet18.npy").write_bytes(b"<html>not found</html>")
    assert "cannot be read" in left_out(lay_out()[1])["resnet18"]


def test_missing_features_are_named_and_whether_their_name_is_known(lay_out):
    lines = left_out(lay_out()[1])
    assert lines["resnet34"] == (
        "left out: resnet34 (resnet34.npy: not among the authors' files)"
    )
    assert lines["resnet101"].endswith("not among the authors' files; inferred name)")


def test_rows_in_another_order_are_refused(lay_out, source):
    rows = np.load(source / "task.npy")
    np.save(source / "task.npy", rows[::-1])
    with pytest.raises(InputError, match=r"task\.npy: 12 rows, the first of them 0, "):
        lay_out()


def test_rows_sorted_by_whole_paths_are_refused(lay_out, source, generative):
    np.save(source / "task.npy", np.repeat(generative, 3, axis=0))
    with pytest.raises(InputError, match=r"task\.npy: 6 rows, the first of them 3, "):
        lay_out()


def test_list_of_other_images_is_set_aside(lay_out, source):
    (source / "file_names.txt").write_text("/home/someone/nights/ref/000.png\n")
    output, remarks = lay_out()
    assert remarks[0].startswith("order of rows: as thingsvision's; ")
    assert "lists no image stimuli/ant/ant_00.jpg" in remarks[0]
    names = (output / "file_names.txt").read_text().splitlines()
    assert names == authors.thingsvision_order(IMAGES)


def test_without_generative_features_the_order_is_taken_on_trust(lay_out, source):
    (source / "task.npy").unlink()
    output, remarks = lay_out()
    assert any("taken on trust" in remark for remark in remarks)
    assert (output / "resnet18.npy").exists()


def test_no_features_at_all(lay_out, source):
    for file in source.glob("*.npy"):
        file.unlink()
    with pytest.raises(InputError, match="has no features of a registered model"):
        lay_out()


@pytest.mark.parametrize(
    ("old", "new"), [("resnet34\t", "resnet35\t"), ("resnet34.npy", "resnet18.npy")]
)
def test_faulty_line_of_the_table_is_named(tmp_path, models, old, new):
    table = tmp_path / "table.tsv"
    table.write_text(TABLE.read_text().replace(old, new, 1))
    with pytest.raises(InputError, match=r"table\.tsv, line 3: "):
        authors.read_file_names(table, models)


def fill(mirror, files):
    for path, body in files.items():
        target = mirror / "osf" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(body)


def test_mirror_alone_is_enough(tmp_path, files):
    nowhere = "http://127.0.0.1:9/v2"
    there = {
        "h3t52/features/resnet18.npy": b"18",
        "h3t52/human_behavioural/category_learning/all.csv": b"participant\n",
        "rsd46/above_chance.csv": b"participant\n",
    }
    others = {
        "h3t52/features/pixels.npy": b"pixels",
        "h3t52/nights_features/resnet18.npy": b"nights",
        "h3t52/temp/1.npy": b"one image",
    }
    fill(tmp_path / "mirror", there | others)
    remarks = authors.fetch(
        files, tmp_path / "store", tmp_path / "mirror", api=nowhere, attempts=1
    )
    found = {
        file.relative_to(tmp_path / "store").as_posix(): file.read_bytes()
        for file in (tmp_path / "store").glob("*/**/*")
        if file.is_file()
    }
    assert found == there
    assert "of no registered model: features/pixels.npy" in remarks
    assert sum("only the mirror was searched" in remark for remark in remarks) == 3


def test_neither_network_nor_mirror(tmp_path, files):
    with pytest.raises(InputError, match=r"osf\.io/h3t52 cannot be listed by http://"):
        authors.fetch(files, tmp_path, api="http://127.0.0.1:9/v2", attempts=1)
