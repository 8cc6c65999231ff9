"""CORnet: shallow networks whose areas are named after those of the ventral stream.

Kubilius et al. (2018), CORnet: modeling the neural mechanisms of core object
recognition, and Kubilius et al. (2019), Brain-like object recognition with
high-performing shallow recurrent ANNs. Names follow their published weights.
"""

from collections import OrderedDict

import torch
from torch import nn

WIDTHS = {"V1": 64, "V2": 128, "V4": 256, "IT": 512}
N_CLASSES = 1000
GROUPS = 32


def build_cornet_z() -> nn.Module:
    """CORnet-Z: one convolution an area, no recurrence."""
    areas, channels = OrderedDict(), 3
    for name, width in WIDTHS.items():
        size, stride = (7, 2) if name == "V1" else (3, 1)
        areas[name] = nn.Sequential(
            OrderedDict(
                conv=nn.Conv2d(channels, width, size, stride, padding=size // 2),
                nonlin=nn.ReLU(inplace=True),
                pool=nn.MaxPool2d(3, stride=2, padding=1),
            )
        )
        channels = width
    return nn.Sequential(areas | {"decoder": _build_decoder()})


def build_cornet_r() -> nn.Module:
    """CORnet-R: recurrent areas that pass their new state on within a time step."""
    return RecurrentCORnet(simultaneous=False)


def build_cornet_rt() -> nn.Module:
    """CORnet-RT: recurrent areas that see each other's state of the step before."""
    return RecurrentCORnet(simultaneous=True)


def build_cornet_s() -> nn.Module:
    """CORnet-S: recurrent bottlenecks with a skip connection."""
    first = nn.Sequential(
        OrderedDict(
            conv1=nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False),
            norm1=nn.BatchNorm2d(64),
            nonlin1=nn.ReLU(inplace=True),
            pool=nn.MaxPool2d(3, stride=2, padding=1),
            conv2=nn.Conv2d(64, 64, 3, padding=1, bias=False),
            norm2=nn.BatchNorm2d(64),
            nonlin2=nn.ReLU(inplace=True),
        )
    )
    return nn.Sequential(
        OrderedDict(
            V1=first,
            V2=BottleneckArea(64, 128, steps=2),
            V4=BottleneckArea(128, 256, steps=4),
            IT=BottleneckArea(256, 512, steps=2),
            decoder=_build_decoder(),
        )
    )


class RecurrentArea(nn.Module):
    """An area whose new state follows from its input and its old state."""

    def __init__(self, channels: int, width: int, size: int, stride: int) -> None:
        super().__init__()
        self.stride = stride
        self.conv_input = nn.Conv2d(
            channels, width, size, stride=stride, padding=size // 2
        )
        self.norm_input = nn.GroupNorm(GROUPS, width)
        self.conv1 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.norm1 = nn.GroupNorm(GROUPS, width)

    def drive(self, below: torch.Tensor) -> torch.Tensor:
        """What the area below contributes."""
        return torch.relu(self.norm_input(self.conv_input(below)))

    def silence(self, below: torch.Tensor) -> torch.Tensor:
        """What an area below contributes that has not been reached yet."""
        height, width = (-(-side // self.stride) for side in below.shape[-2:])
        return below.new_zeros(len(below), self.conv1.in_channels, height, width)

    def settle(self, activity: torch.Tensor) -> torch.Tensor:
        """The new state."""
        return torch.relu(self.norm1(self.conv1(activity)))


class RecurrentCORnet(nn.Module):
    """CORnet-R and CORnet-RT: the same weights, unrolled differently in time."""

    def __init__(self, *, simultaneous: bool, steps: int = 5) -> None:
        super().__init__()
        self.simultaneous = simultaneous
        self.steps = steps
        channels = 3
        for name, width in WIDTHS.items():
            size, stride = (7, 4) if name == "V1" else (3, 2)
            self.add_module(name, RecurrentArea(channels, width, size, stride))
            channels = width
        self.decoder = _build_decoder()

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        areas = [self.get_submodule(name) for name in WIDTHS]
        states = [areas[0].settle(areas[0].drive(images))]
        for area in areas[1:]:
            states.append(area.settle(area.silence(states[-1])))
        for _ in range(self.steps - 1):
            new = []
            for i, area in enumerate(areas):
                seen = states if self.simultaneous else new
                below = seen[i - 1] if i > 0 else images
                new.append(area.settle(area.drive(below) + states[i]))
            states = new
        return self.decoder(states[-1])


class BottleneckArea(nn.Module):
    """An area of CORnet-S: the same convolutions at every step, other norms."""

    def __init__(self, channels: int, width: int, steps: int) -> None:
        super().__init__()
        wide = 4 * width
        self.steps = steps
        self.conv_input = nn.Conv2d(channels, width, 1, bias=False)
        self.skip = nn.Conv2d(width, width, 1, stride=2, bias=False)
        self.norm_skip = nn.BatchNorm2d(width)
        self.conv1 = nn.Conv2d(width, wide, 1, bias=False)
        self.conv2 = nn.Conv2d(wide, wide, 3, stride=2, padding=1, bias=False)
        self.conv3 = nn.Conv2d(wide, width, 1, bias=False)
        for step in range(steps):
            self.add_module(f"norm1_{step}", nn.BatchNorm2d(wide))
            self.add_module(f"norm2_{step}", nn.BatchNorm2d(wide))
            self.add_module(f"norm3_{step}", nn.BatchNorm2d(width))

    def forward(self, below: torch.Tensor) -> torch.Tensor:
        state = self.conv_input(below)
        for step in range(self.steps):
            norm1, norm2, norm3 = (
                self.get_submodule(f"norm{i}_{step}") for i in (1, 2, 3)
            )
            # The first step alone halves the resolution.
            stride = 2 if step == 0 else 1
            skipped = self.norm_skip(self.skip(state)) if step == 0 else state
            wide = torch.relu(norm1(self.conv1(state)))
            wide = nn.functional.conv2d(
                wide, self.conv2.weight, stride=stride, padding=1
            )
            wide = torch.relu(norm2(wide))
            state = torch.relu(norm3(self.conv3(wide)) + skipped)
        return state


def _build_decoder() -> nn.Module:
    return nn.Sequential(
        OrderedDict(
            avgpool=nn.AdaptiveAvgPool2d(1),
            flatten=nn.Flatten(),
            linear=nn.Linear(WIDTHS["IT"], N_CLASSES),
        )
    )
