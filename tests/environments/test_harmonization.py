"""Harmonization and the Universal Sentence Encoder, on random weights.

Run by the interpreter of envs/harmonization.txt, with workflow/src in PYTHONPATH.
"""

import os
import tarfile
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
tf = pytest.importorskip(
    "tensorflow", reason="needs the interpreter of envs/harmonization.txt"
)
import harmonization.models  # noqa: E402
import keras  # noqa: E402

from trialwise.errors import InputError  # noqa: E402
from trialwise.models.features import read_sidecar  # noqa: E402
from trialwise.models.harmonization import (  # noqa: E402
    ARCHITECTURES,
    extract_keras_features,
    load_keras,
)
from trialwise.models.preprocessing import Preprocess  # noqa: E402
from trialwise.models.text import extract_text_features  # noqa: E402
from trialwise.stimuli import list_images, object_name  # noqa: E402

SMALL = "harmonization-resnet50"
WEIGHTS = {"weights.h5": "ab"}
# Harmonization's loaders: the cached file each reads, and whether it is a whole model.
# That of LeViT downloads other weights first, so the network that was saved stands in.
OWN = {
    "EfficientNetB0": ("efficientnetB0_harmonized", True),
    "ResNet50": ("resnet50v2_harmonized", True),
    "VGG16": ("vgg16_harmonized", True),
    "ViT_B16": ("vit-b16_harmonized", False),
    "tiny_ConvNeXT": ("tiny_convnext_harmonized", False),
    "tiny_MaxViT": ("maxvit_tiny_harmonized", False),
}


@pytest.fixture(autouse=True)
def fresh():
    keras.backend.clear_session()
    keras.utils.set_random_seed(0)


@pytest.fixture(scope="module")
def stimuli(tmp_path_factory):
    """Six images of noise, some of them small or narrow."""
    root = tmp_path_factory.mktemp("stimuli")
    rng = np.random.default_rng(0)
    for number, shape in enumerate([(224, 224), (300, 200), (61, 45)] * 2):
        values = rng.integers(0, 256, (*shape, 3), dtype=np.uint8)
        Image.fromarray(values).save(root / f"noise{number}.png")
    return root, list_images(root)


def build(model):
    """A whole network whose weights, statistics of normalisation too, are drawn."""
    module, function, options = ARCHITECTURES[model.name]
    network = getattr(__import__(module, fromlist=[function]), function)(**options)
    rng = np.random.default_rng(1)
    drawn = []
    for variable in network.weights:
        values = variable.numpy()
        if variable.name.endswith("gamma:0"):
            # Some are 0 at first, which would hide their branch.
            values = rng.uniform(0.5, 1.5, values.shape)
        elif values.ndim == 1:
            values = values + rng.uniform(0, 0.02, values.shape)
        drawn.append(values * rng.uniform(0.8, 1.2, values.shape))
    network.set_weights(drawn)
    return network


def save(network, path, whole):
    path.parent.mkdir(parents=True, exist_ok=True)
    if whole:
        network.save(path, save_format="h5")
    else:
        network.save_weights(path, save_format="h5")


@pytest.fixture
def saved(models, tmp_path):
    """The smallest network whose published file is a whole model, and its folder."""
    model = models[SMALL]
    (name,) = model.files
    save(build(model), tmp_path / "weights" / name, whole=True)
    return model, tmp_path / "weights"


def extract(model, weights, stimuli, output, **options):
    network = load_keras(model, weights)
    extract_keras_features(model, network, *stimuli, output, weights=WEIGHTS, **options)
    return np.load(output)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_network_has_the_registered_size_and_dimension(models, stimuli, tmp_path, name):
    (model,) = (m for m in models.values() if m.name == name and m.set)
    assert build(model).count_params() == model.parameters
    root, images = stimuli
    features = extract(model, None, (root, images[:2]), tmp_path / "features.npy")
    assert features.shape == (2, model.dimension)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_features_are_those_of_harmonizations_own_loader(
    models, stimuli, tmp_path, monkeypatch, name
):
    (model,) = (m for m in models.values() if m.name == name and m.set)
    cached, whole = OWN.get(name, ("saved", False))
    monkeypatch.setenv("HOME", str(tmp_path))
    own_file = tmp_path / ".keras" / "models" / cached
    network = build(model)
    save(network, own_file, whole)
    (file,) = model.files
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights" / file).hardlink_to(own_file)
    features = extract(model, tmp_path / "weights", stimuli, tmp_path / "features.npy")

    if name in OWN:
        network = getattr(harmonization.models, f"load_{name}")()
    pictures = [Image.open(stimuli[0] / image) for image in stimuli[1]]
    resized = [
        np.asarray(picture.resize((224, 224), Image.Resampling.BILINEAR), np.float32)
        for picture in pictures
    ]
    prepared = harmonization.models.preprocess_input(np.stack(resized))
    layer = keras.Model(network.input, network.get_layer(model.layer).output)
    expected = layer(prepared.astype(np.float32), training=False).numpy()
    scale = np.abs(expected).max()
    np.testing.assert_allclose(features / scale, expected / scale, atol=1e-5)
    assert features.std(axis=0).max() > 1e-3 * scale


@pytest.mark.parametrize("options", [{"batch_size": 1}, {"n_workers": 2}])
def test_batches_and_workers_do_not_matter(saved, stimuli, tmp_path, options):
    one = extract(*saved, stimuli, tmp_path / "one.npy")
    other = extract(*saved, stimuli, tmp_path / "other.npy", **options)
    np.testing.assert_allclose(other, one, rtol=1e-4, atol=1e-5)


def test_sidecar_says_what_the_features_are(saved, stimuli, tmp_path):
    extract(*saved, stimuli, tmp_path / "features.npy")
    facts = read_sidecar(tmp_path / "features.npy")
    assert facts["weights"] == WEIGHTS
    assert facts["preprocessing"]["resize"] == "224x224"
    assert facts["versions"]["tensorflow"] == tf.__version__
    assert "harmonization" in facts["versions"]


def test_unreadable_image_is_named_and_the_run_goes_on(saved, stimuli, tmp_path):
    root, images = stimuli
    broken = tmp_path / "stimuli"
    broken.mkdir()
    for image in images:
        (broken / image).write_bytes((root / image).read_bytes())
    (broken / images[3]).write_bytes(b"no image")
    output = tmp_path / "features.npy"
    with pytest.raises(InputError, match=f"{images[3]} cannot be read"):
        extract(*saved, (broken, images), output, batch_size=2)
    assert not output.exists()
    (broken / images[0]).unlink()
    (broken / images[3]).write_bytes((root / images[3]).read_bytes())
    extract(*saved, (broken, images), output, batch_size=2)
    whole = tmp_path / "whole.npy"
    extract(*saved, stimuli, whole, batch_size=2)
    assert output.read_bytes() == whole.read_bytes()


def test_values_that_were_not_scaled_are_refused(saved, stimuli, tmp_path, monkeypatch):
    prepare = Preprocess.prepare
    monkeypatch.setattr(
        Preprocess, "prepare", lambda self, image: 255 * prepare(self, image) + 254
    )
    with pytest.raises(InputError, match=f"{stimuli[1][0]}: its prepared values"):
        extract(*saved, stimuli, tmp_path / "features.npy")


@pytest.mark.parametrize("fault", ["cut off", "text", "other network"])
def test_file_that_does_not_fit_is_refused(models, saved, tmp_path, fault):
    model, folder = saved
    (file,) = folder.iterdir()
    if fault == "other network":
        save(build(models["harmonization-efficientnetb0"]), file, whole=True)
    else:
        content = file.read_bytes()
        file.write_bytes(content[: len(content) // 2] if fault == "cut off" else b"no")
    with pytest.raises(InputError, match=f"{file.name} does not fit .*ResNet50"):
        load_keras(model, folder)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"parameters": 1}, "25613800 parameters, not the registered 1"),
        ({"layer": "pool"}, r"no layer 'pool'.*avg_pool, predictions"),
        ({"name": "ResNet"}, r"no 'ResNet'.*ResNet50"),
    ],
)
def test_row_that_does_not_fit_is_refused(models, changed, message):
    with pytest.raises(InputError, match=message):
        load_keras(replace(models[SMALL], **changed), None)


# -- the Universal Sentence Encoder, stood in for by a small module of its form


def build_encoder():
    """A module from sentences to vectors, by the bytes in them."""
    module = tf.train.Checkpoint()
    module.table = tf.Variable(tf.random.stateless_normal((256, 7), seed=(1, 2)))
    module.variables = [module.table]

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def embed(sentences):
        codes = tf.io.decode_raw(sentences, tf.uint8, fixed_length=64)
        return tf.reduce_mean(tf.gather(module.table, tf.cast(codes, tf.int32)), axis=1)

    module.__call__ = embed
    return module


@pytest.fixture
def encoder(models, tmp_path):
    module = build_encoder()
    tf.saved_model.save(module, str(tmp_path / "saved"))
    model = replace(
        models["universal-sentence-encoder"], dimension=7, parameters=256 * 7
    )
    (name,) = model.files
    folder = tmp_path / "weights" / model.id
    folder.mkdir(parents=True)
    with tarfile.open(folder / name, "w:gz") as archive:
        archive.add(tmp_path / "saved", ".")
    return model, folder, module


OBJECTS = ["hot-air_balloon", "bat1", "bat2", "ice_cream"]
PICTURES = [f"stimuli/{name}/{name}_0{i}.jpg" for i in (1, 2) for name in OBJECTS]


def test_each_image_gets_the_vector_of_its_sentence(encoder, tmp_path):
    model, folder, module = encoder
    output = tmp_path / "features.npy"
    extract_text_features(model, folder, PICTURES, output, checksums={"4": "ab"})
    sentences = [f"A photo of a {object_name(picture)}" for picture in PICTURES]
    assert sentences[1] == sentences[2] == "A photo of a bat"
    expected = module.__call__(tf.constant(sentences)).numpy()
    np.testing.assert_allclose(np.load(output), expected, rtol=1e-5)
    assert read_sidecar(output)["versions"]["tensorflow-hub"]
    assert [path.name for path in folder.parent.iterdir()] == [model.id]


def test_encoder_of_another_size_is_refused(encoder, tmp_path):
    model, folder, _ = encoder
    other = replace(model, parameters=256797824)
    with pytest.raises(InputError, match=r"1792 parameters.*256797824"):
        extract_text_features(
            other, folder, PICTURES, tmp_path / "features.npy", checksums={}
        )


def test_file_that_is_no_archive_is_refused(encoder, tmp_path):
    model, folder, _ = encoder
    (file,) = folder.iterdir()
    file.write_bytes(b"<html>moved</html>")
    with pytest.raises(InputError, match="is no archive of a model"):
        extract_text_features(
            model, folder, PICTURES, tmp_path / "features.npy", checksums={}
        )
