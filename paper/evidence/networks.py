"""The networks: fully connected, convolutional, and either of them pretrained on another data set."""

from __future__ import annotations

import copy
from functools import lru_cache

import numpy as np
import torch
from torch import nn

from sequences import SETS, SIDE, Source


class Network(nn.Module):
    """Layers with ReLU between them and one readout, or one per task; `mask` switches hidden units off."""

    def __init__(self, body: list[nn.Module], width: int, outputs: int, heads: int = 1) -> None:
        super().__init__()
        self.body = nn.ModuleList(body)
        self.heads = nn.ModuleList(nn.Linear(width, outputs) for _ in range(heads))
        self.mask: list[torch.Tensor] | None = None
        self.head = 0

    def features(self, x: torch.Tensor) -> torch.Tensor:
        """The last hidden layer."""
        for k, layer in enumerate(self.body):
            x = torch.relu(layer(x))
            if self.mask is not None:
                x = x * self.mask[k]
        return x

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.heads[self.head](self.features(x))


class Convolution(nn.Sequential):
    """Two convolutions with stride 2 and a hidden layer, from flat images."""

    def __init__(self, channels: int, width: int) -> None:
        super().__init__(
            nn.Unflatten(1, (1, SIDE, SIDE)),
            nn.Conv2d(1, channels, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(channels, 2 * channels, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(2 * channels * (SIDE // 4) ** 2, width),
        )


def mlp(depth: int, width: int, outputs: int, heads: int = 1) -> Network:
    """`depth` hidden layers of `width` units, PyTorch's own initial weights."""
    return Network([nn.Linear(SIDE * SIDE if k == 0 else width, width) for k in range(depth)], width, outputs, heads)


def cnn(channels: int, width: int, outputs: int) -> Network:
    """A small convolutional network."""
    return Network([Convolution(channels, width)], width, outputs)


@lru_cache(maxsize=None)
def pretrained_body(name: str, width: int) -> Network:
    """A network of two hidden layers that has learned twenty classes (ten where there are no more) of a data set."""
    torch.manual_seed(1)
    source = Source(name, np.random.default_rng(18))
    classes = list(source.classes[:20])
    task = source.task(classes, list(range(len(classes))), 4000)
    network = mlp(2, width, len(classes))
    optimizer = torch.optim.Adam(network.parameters(), 1e-3)
    x, y = torch.from_numpy(task.x), torch.from_numpy(task.y)
    for _ in range(8):
        for rows in torch.randperm(len(x)).split(64):
            optimizer.zero_grad()
            nn.functional.cross_entropy(network(x[rows]), y[rows]).backward()
            optimizer.step()
    return network


def pretrained(data: str, width: int, outputs: int) -> Network:
    """A network that has learned another data set, with a fresh readout."""
    other = "sample" if data not in SETS else SETS[(SETS.index(data) + 2) % len(SETS)]
    network = copy.deepcopy(pretrained_body(other, width))
    network.heads = nn.ModuleList([nn.Linear(width, outputs)])
    return network
