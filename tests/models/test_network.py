"""Hooks and pooling, against layers called by hand and torchvision's own extractor."""

import pytest
import torch
import torchvision
from torch import nn
from torchvision.models.feature_extraction import create_feature_extractor

from trialwise.errors import InputError
from trialwise.models.network import Network
from trialwise.models.pooling import POOLINGS


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


@pytest.fixture
def batch():
    return torch.rand(3, 3, 64, 64)


@pytest.fixture(scope="module")
def resnet():
    return torchvision.models.resnet18().eval()


def network(module, layer="", pooling="none"):
    return Network(module, preprocess=None, layer=layer, pooling=pooling)


def test_layer_gives_what_torchvision_extracts(resnet, batch):
    features = network(resnet, "avgpool", "squeeze")(batch)
    extractor = create_feature_extractor(resnet, ["flatten"]).eval()
    with torch.inference_mode():
        expected = extractor(batch)["flatten"]
    assert features.shape == (3, 512)
    torch.testing.assert_close(features, expected, rtol=0, atol=0)


def test_no_layer_gives_the_output(resnet, batch):
    with torch.inference_mode():
        expected = resnet(batch)
    torch.testing.assert_close(network(resnet)(batch), expected, rtol=0, atol=0)


def test_hook_leaves_the_network_as_it_was(resnet, batch):
    network(resnet, "avgpool", "squeeze")(batch)
    assert all(not part._forward_hooks for part in resnet.modules())


def test_later_layer_that_works_in_place_changes_nothing(batch):
    linear = nn.Linear(64, 50)
    module = nn.Sequential(linear, nn.ReLU(inplace=True)).eval()
    inputs = batch[:, 0, 0]
    features = network(module, "0")(inputs)
    assert (features < 0).any()
    torch.testing.assert_close(features, linear(inputs).detach())


def test_layer_that_runs_twice_gives_its_last_output():
    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.step = nn.Linear(5, 5)

        def forward(self, x):
            return self.step(self.step(x)) * 2

    module = Recurrent().eval()
    x = torch.rand(2, 5)
    expected = module.step(module.step(x)).detach()
    torch.testing.assert_close(network(module, "step")(x), expected)


def test_poolings_of_a_vision_transformer(batch):
    module = torchvision.models.VisionTransformer(
        image_size=64, patch_size=16, num_layers=2, num_heads=2, hidden_dim=8, mlp_dim=8
    ).eval()
    extractor = create_feature_extractor(module, {"encoder.ln": "tokens"}).eval()
    with torch.inference_mode():
        tokens = extractor(batch)["tokens"]
    assert tokens.shape == (3, 17, 8)
    first = network(module, "encoder.ln", "cls")(batch)
    torch.testing.assert_close(first, tokens[:, 0])
    mean = network(module, "encoder.ln", "mean")(batch)
    torch.testing.assert_close(mean, tokens.sum(dim=1) / 17)


@pytest.mark.parametrize(
    ("layer", "pooling"),
    [
        ("avgpool", "none"),
        ("avgpool", "cls"),
        ("layer4", "squeeze"),
        ("fc", "squeeze"),
        ("fc", "mean"),
    ],
)
def test_output_that_the_pooling_cannot_take_is_refused(resnet, batch, layer, pooling):
    with pytest.raises(InputError, match=f"{layer}.*{pooling}"):
        network(resnet, layer, pooling)(batch)
    assert all(not part._forward_hooks for part in resnet.modules())


def test_output_that_is_no_tensor_is_refused(batch):
    class Two(nn.Module):
        def forward(self, x):
            return x, x

    with pytest.raises(InputError, match="tuple"):
        network(Two().eval())(batch)


def test_unknown_layer_names_the_known_ones(resnet, batch):
    with pytest.raises(InputError, match=r"no layer 'pool'.*avgpool"):
        network(resnet, "pool")(batch)


def test_unknown_pooling_names_the_known_ones(resnet, batch):
    with pytest.raises(InputError, match=", ".join(POOLINGS)):
        network(resnet, "avgpool", "max")(batch)


def test_layer_that_does_not_run_is_named(batch):
    class Idle(nn.Module):
        def __init__(self):
            super().__init__()
            self.idle = nn.Linear(2, 2)

        def forward(self, x):
            return x

    with pytest.raises(InputError, match="'idle' does not run"):
        network(Idle().eval(), "idle")(batch)


def test_part_in_training_mode_is_named(resnet):
    network(resnet).check()
    module = torchvision.models.resnet18().eval()
    module.layer2[0].bn1.train()
    with pytest.raises(InputError, match=r"layer2\.0\.bn1.*training mode"):
        network(module).check()


def test_half_precision_is_refused():
    module = torchvision.models.resnet18().eval()
    module.fc.half()
    with pytest.raises(InputError, match=r"fc\.weight is of type torch\.float16"):
        network(module).check()
