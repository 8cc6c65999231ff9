"""Features extracted elsewhere: put in order, and their faults."""

import random

import numpy as np
import pytest

from trialwise.errors import InputError
from trialwise.models.features import read_sidecar
from trialwise.models.precomputed import import_features, match_rows
from trialwise.models.registry import COLUMNS, Model

N, D = 30, 8
IMAGES = [f"stimuli/object{i // 3}/object{i // 3}_{i % 3:02}.jpg" for i in range(N)]
MODEL = Model(
    **{
        **dict.fromkeys(COLUMNS, ""),
        "id": "theirs",
        "provider": "precomputed",
        "dimension": D,
    }
)


@pytest.fixture
def features():
    return np.random.default_rng(1).normal(size=(N, D)).astype(np.float32)


@pytest.fixture
def shuffled(tmp_path, features):
    """The features in another order, their list under another root."""
    order = list(range(N))
    random.Random(2).shuffle(order)
    root = "/home/someone/naturalcogsci/data"
    names = [f"{root}/{IMAGES[i]}" for i in order]
    (tmp_path / "file_names.txt").write_text("\n".join(names) + "\n")
    return features[order]


def load(folder, source="theirs.npy", others=()):
    names = folder / "file_names.txt"
    output = folder / "out" / "theirs.npy"
    warnings = import_features(
        MODEL, folder / source, names, IMAGES, output, others=others
    )
    return np.load(output), warnings


def test_rows_follow_the_manifest(tmp_path, features, shuffled):
    np.save(tmp_path / "theirs.npy", shuffled)
    loaded, warnings = load(tmp_path)
    np.testing.assert_array_equal(loaded, features)
    assert warnings == []
    facts = read_sidecar(tmp_path / "out" / "theirs.npy")
    assert facts["images"] == N
    assert set(facts["weights"]) == {"theirs.npy", "file_names.txt"}


@pytest.mark.parametrize("step", [1, 7, N])
def test_files_of_consecutive_rows_are_put_together(tmp_path, features, shuffled, step):
    folder = tmp_path / "norm"
    folder.mkdir()
    for start in range(0, N, step):
        end = min(start + step, N)
        np.save(folder / f"features_{start}-{end}.npy", shuffled[start:end])
    loaded, _ = load(tmp_path, "norm")
    np.testing.assert_array_equal(loaded, features)


@pytest.mark.parametrize("shape", [(N, 1, D), (N, D, 1, 1)])
def test_axes_of_length_one_are_dropped(tmp_path, features, shuffled, shape):
    np.save(tmp_path / "theirs.npy", shuffled.reshape(shape))
    np.testing.assert_array_equal(load(tmp_path)[0], features)


def test_half_precision_is_widened(tmp_path, features, shuffled):
    np.save(tmp_path / "theirs.npy", shuffled.astype(np.float16))
    loaded, _ = load(tmp_path)
    assert loaded.dtype == np.float32
    np.testing.assert_allclose(loaded, features, rtol=1e-3)


def test_images_beside_those_of_the_manifest_are_left_out(tmp_path, features, shuffled):
    np.save(tmp_path / "theirs.npy", np.vstack([shuffled, np.full((1, D), 9.0)]))
    with (tmp_path / "file_names.txt").open("a") as file:
        file.write("/elsewhere/stimuli/zebra/zebra_01b.jpg\n")
    np.testing.assert_array_equal(load(tmp_path)[0], features)


def test_windows_paths_are_understood():
    images = ["set/bird/bird1.png", "set/cat/cat1.png"]
    listed = [r"C:\data\cat\cat1.png", r"C:\data\bird\bird1.png"]
    np.testing.assert_array_equal(match_rows(listed, images, "names"), [1, 0])


def test_same_file_name_in_two_folders_is_told_apart():
    images = ["set/bird/01.png", "set/cat/01.png"]
    listed = ["/data/cat/01.png", "/data/bird/01.png"]
    np.testing.assert_array_equal(match_rows(listed, images, "names"), [1, 0])


def test_missing_image_is_named(tmp_path, shuffled):
    np.save(tmp_path / "theirs.npy", shuffled[:-1])
    names = tmp_path / "file_names.txt"
    *kept, last = names.read_text().splitlines()
    names.write_text("\n".join(kept) + "\n")
    image = last.split("data/")[1]
    with pytest.raises(InputError, match=f"lists no image {image}, but 29 of 30"):
        load(tmp_path)


def test_image_listed_twice_is_named(tmp_path, shuffled):
    np.save(tmp_path / "theirs.npy", shuffled)
    names = tmp_path / "file_names.txt"
    lines = names.read_text().splitlines()
    names.write_text("\n".join([*lines[:-1], lines[3]]) + "\n")
    with pytest.raises(InputError, match=r"line 30: .* is listed already in line 4"):
        load(tmp_path)


def test_list_of_another_extraction_is_refused(tmp_path, shuffled):
    np.save(tmp_path / "theirs.npy", shuffled[:-2])
    with pytest.raises(InputError, match=r"features of 28 images, but .* lists 30"):
        load(tmp_path)


def test_missing_part_is_refused(tmp_path, shuffled):
    folder = tmp_path / "norm"
    folder.mkdir()
    np.save(folder / "features_0-10.npy", shuffled[:10])
    np.save(folder / "features_20-30.npy", shuffled[20:])
    with pytest.raises(InputError, match="begins with row 20, but row 10 comes next"):
        load(tmp_path, "norm")


def test_tokens_are_refused(tmp_path, shuffled):
    np.save(tmp_path / "theirs.npy", np.stack([shuffled, shuffled], axis=1))
    with pytest.raises(InputError, match="not one vector per image"):
        load(tmp_path)


def test_value_that_is_no_number_names_its_image(tmp_path, features, shuffled):
    shuffled[4, 2] = np.nan
    np.save(tmp_path / "theirs.npy", shuffled)
    row = int(np.flatnonzero(features[:, 0] == shuffled[4, 0])[0])
    with pytest.raises(InputError, match=f"{IMAGES[row]}: feature 2 is nan"):
        load(tmp_path)
    assert not (tmp_path / "out" / "theirs.npy").exists()


def test_other_dimension_than_registered_is_refused(tmp_path, shuffled):
    np.save(tmp_path / "theirs.npy", shuffled[:, :-1])
    with pytest.raises(InputError, match=r"shape \(7,\), but 8 are registered"):
        load(tmp_path)


def test_model_with_the_features_of_another_is_recorded(tmp_path, shuffled):
    np.save(tmp_path / "theirs.npy", shuffled)
    np.save(tmp_path / "swav.npy", shuffled * (1 + 1e-6))
    np.save(tmp_path / "dino.npy", shuffled[::-1])
    others = [tmp_path / "swav.npy", tmp_path / "dino.npy"]
    _, warnings = load(tmp_path, others=others)
    assert len(warnings) == 1
    assert "swav.npy" in warnings[0]
    facts = read_sidecar(tmp_path / "out" / "theirs.npy")
    assert facts["warnings"] == warnings


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", "cannot be read"), (b"PK not numpy", "cannot be read")],
)
def test_file_that_is_no_matrix_is_named(tmp_path, shuffled, content, message):
    (tmp_path / "theirs.npy").write_bytes(content)
    with pytest.raises(InputError, match=message):
        load(tmp_path)


def test_folder_without_features_is_named(tmp_path, shuffled):
    (tmp_path / "norm").mkdir()
    with pytest.raises(InputError, match="has no file such as features_0-100"):
        load(tmp_path, "norm")
