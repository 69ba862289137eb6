"""One multiply of two activations."""

from __future__ import annotations

import torch

EXPECT = {"lowered": 1, "portable": 0}


class PlainMul(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x * y


def build() -> torch.nn.Module:
    return PlainMul()


def example_inputs() -> tuple[torch.Tensor, ...]:
    return calibration()[0]


def calibration() -> list[tuple[torch.Tensor, ...]]:
    generator = torch.Generator().manual_seed(1)
    return [
        (torch.randn(8, 32, generator=generator), 3 * torch.rand(8, 32, generator=generator))
        for _ in range(8)
    ]
