"""Multiplies that take each other's results, one of them a square."""

from __future__ import annotations

import torch

EXPECT = {"lowered": 4, "portable": 0}


class ChainedMul(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        product = x * y * z
        square = product * product
        return square * x


def build() -> torch.nn.Module:
    return ChainedMul()


def example_inputs() -> tuple[torch.Tensor, ...]:
    return calibration()[0]


def calibration() -> list[tuple[torch.Tensor, ...]]:
    generator = torch.Generator().manual_seed(2)
    return [
        tuple(torch.randn(2, 5, 7, generator=generator) + offset for offset in (0.0, 0.5, -1.0))
        for _ in range(8)
    ]
