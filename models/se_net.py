"""A small convolutional net with squeeze-and-excitation and hard-swish.

The hard-swish's multiplies are of equal shape and are lowered. The excitation scales whole
channels, [N, C, H, W] by [N, C, 1, 1]: a broadcast, which stays portable and is reported so.
"""

from __future__ import annotations

import torch

EXPECT = {"lowered": 2, "portable": 1}


class SqueezeExcite(torch.nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.reduce = torch.nn.Conv2d(channels, channels // 4, 1)
        self.expand = torch.nn.Conv2d(channels // 4, channels, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scale = x.mean((2, 3), keepdim=True)
        scale = torch.relu(self.reduce(scale))
        return x * torch.sigmoid(self.expand(scale))


class SeNet(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = torch.nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.excite = SqueezeExcite(8)
        self.mix = torch.nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.hardswish = torch.nn.Hardswish()
        self.classify = torch.nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.hardswish(self.stem(x))
        x = self.hardswish(self.mix(self.excite(x)) + x)
        return self.classify(x.mean((2, 3)))


def build() -> torch.nn.Module:
    torch.manual_seed(4)
    return SeNet()


def example_inputs() -> tuple[torch.Tensor, ...]:
    return calibration()[0]


def calibration() -> list[tuple[torch.Tensor, ...]]:
    generator = torch.Generator().manual_seed(4)
    return [(torch.randn(1, 3, 16, 16, generator=generator),) for _ in range(8)]
