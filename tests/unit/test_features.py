"""Feature files: resumed after a crash, refused where they cannot be right."""

import os
import resource
import subprocess
import sys

import numpy as np
import pytest

from trialwise.errors import InputError
from trialwise.models.features import (
    PartialFeatures,
    describe_features,
    read_sidecar,
    write_features,
)
from trialwise.models.registry import COLUMNS, Model
from trialwise.models.twins import find_identical, find_same_weights, find_twins

N, D = 40, 6
IMAGES = [f"bird/bird{i}.png" for i in range(N)]


def model(**fields):
    given = {"id": "net", "dimension": D, "layer": "avgpool", **fields}
    return Model(**{**dict.fromkeys(COLUMNS, ""), **given})


def facts(images=IMAGES, weights=None, **fields):
    return describe_features(model(**fields), images, weights or {"net.pth": "ab"})


@pytest.fixture
def features():
    return np.random.default_rng(0).normal(size=(N, D)).astype(np.float32)


@pytest.fixture
def output(tmp_path):
    return tmp_path / "things" / "net.npy"


def write(folder, name, features, weights=None, **fields):
    path = folder / f"{name}.npy"
    about = facts(weights=weights or {f"{name}.pth": name}, id=name, **fields)
    write_features([features], about, IMAGES, path)
    return path


def test_rows_written_in_pieces_make_one_file(output, features):
    with PartialFeatures(output, facts()) as partial:
        for start in range(0, N, 7):
            partial.append(features[start : start + 7])
        partial.finish()
    np.testing.assert_array_equal(np.load(output), features)
    assert read_sidecar(output) == facts()
    assert sorted(file.name for file in output.parent.iterdir()) == [
        "net.json",
        "net.npy",
    ]


def test_error_keeps_the_rows_before_it(output, features):
    def fail():
        with PartialFeatures(output, facts()) as partial:
            partial.append(features[:9])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert not output.exists()
    with PartialFeatures(output, facts()) as partial:
        assert partial.finished == 9
        partial.append(features[9:])
        partial.finish()
    np.testing.assert_array_equal(np.load(output), features)


CRASH = """
import json, os, pathlib, signal, sys
import numpy as np
from trialwise.models.features import PartialFeatures
output, facts, rows = sys.argv[1:]
rows = np.load(rows)
with PartialFeatures(output, json.loads(pathlib.Path(facts).read_text())) as partial:
    partial.append(rows[:10])
    partial.save()
    partial.append(rows[10:20] + 1)
    partial._file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_rows_not_saved_before_a_kill_are_made_again(tmp_path, output, features):
    np.save(tmp_path / "rows.npy", features)
    write_features([features], facts(), IMAGES, tmp_path / "whole.npy")
    arguments = [output, tmp_path / "whole.json", tmp_path / "rows.npy"]
    killed = subprocess.run([sys.executable, "-c", CRASH, *map(str, arguments)])
    assert killed.returncode == -9
    with PartialFeatures(output, facts()) as partial:
        assert partial.finished == 10
        partial.append(features[10:])
        partial.finish()
    assert output.read_bytes() == (tmp_path / "whole.npy").read_bytes()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"images": IMAGES[::-1]}, "manifest_sha256"),
        ({"weights": {"net.pth": "cd"}}, "weights"),
        ({"layer": "fc"}, "layer"),
        ({"resize": "256"}, "preprocessing"),
    ],
)
def test_unfinished_features_made_otherwise_are_refused(
    output, features, changed, message
):
    with PartialFeatures(output, facts()) as partial:
        partial.append(features[:9])
    with pytest.raises(InputError, match=rf"\.net\.npy\.part.*{message}"):
        PartialFeatures(output, facts(**changed))
    with PartialFeatures(output, facts()) as partial:
        assert partial.finished == 9


def test_lack_of_space_is_told_before_the_work(output):
    large = {**facts(), "images": 10_000, "dimension": 1000}
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, limits[1]))
    try:
        with pytest.raises(InputError, match=r"needs 0\.04 GB of space"):
            PartialFeatures(output, large)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    with PartialFeatures(output, large) as partial:
        assert partial.finished == 0


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_value_that_is_not_finite_names_image_and_feature(tmp_path, features, value):
    features[12, 4] = value
    with pytest.raises(InputError, match=rf"bird12\.png: feature 4 is {value}"):
        write(tmp_path, "net", features)
    assert list(tmp_path.iterdir()) == []


def test_other_dimension_than_registered_is_refused(tmp_path, features):
    with pytest.raises(InputError, match=r"shape \(5,\), but 6 are registered"):
        write(tmp_path, "net", features[:, :5])


def test_other_number_of_rows_is_refused(tmp_path, features):
    with pytest.raises(InputError, match="features of 39 images, but 40"):
        write(tmp_path, "net", features[:-1])


def test_missing_sidecar_is_named(tmp_path):
    with pytest.raises(InputError, match=r"net\.json cannot be read"):
        read_sidecar(tmp_path / "net.npy")


def test_same_features_are_found_in_spite_of_rounding(tmp_path, features):
    swav = write(tmp_path, "swav", features)
    pirl = write(tmp_path, "pirl", features.astype(np.float16))
    other = write(tmp_path, "dino", features + 0.01)
    part = features.copy()
    part[-1] += 1
    tail = write(tmp_path, "moco", part)
    assert find_identical([swav, other, tail, pirl]) == [(swav, pirl)]
    with pytest.raises(
        InputError, match=r"swav\.npy and .*pirl\.npy have the same fea"
    ):
        find_twins([swav, other, pirl])
    assert find_twins([swav, other, tail]).empty


def test_twins_made_elsewhere_are_told_and_not_refused(tmp_path, features):
    swav = write(tmp_path, "swav", features, {"a.npy": "1"})
    pirl = tmp_path / "pirl.npy"
    found = describe_features(model(id="pirl"), IMAGES, {"b.npy": "2"}, warnings=[])
    write_features([features], found, IMAGES, pirl)
    twins = find_twins([swav, pirl])
    assert twins.to_dict("records") == [
        {"first": "swav", "second": "pirl", "same": "features"}
    ]


def test_same_weights_are_found_under_another_file_name(tmp_path, features):
    simclr = write(tmp_path, "simclr", features, {"phase799.torch": "1f"})
    swav = write(tmp_path, "swav", -features, {"final.torch": "1f"})
    layer = write(tmp_path, "conv", 2 * features, {"final.torch": "1f"}, layer="conv")
    text = write(tmp_path, "text", 3 * features, {"text.bin": "2a"})
    assert find_same_weights([simclr, layer, text, swav]) == [(simclr, swav)]
    with pytest.raises(InputError, match="have the same weights"):
        find_twins([simclr, layer, text, swav])


def test_file_permissions_follow_the_umask(output, features):
    old = os.umask(0o027)
    try:
        with PartialFeatures(output, facts()) as partial:
            partial.append(features)
            partial.finish()
    finally:
        os.umask(old)
    modes = {file.stat().st_mode & 0o777 for file in output.parent.iterdir()}
    assert modes == {0o640}
