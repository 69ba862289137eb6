"""Multiplies by constants: a tensor, numbers of either sign, zero, and a division."""

from __future__ import annotations

import torch

EXPECT = {"lowered": 5, "portable": 0}


class Constants(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("window", torch.hann_window(32).expand(4, 32).contiguous())
        self.gain = torch.nn.Parameter(torch.tensor(0.75))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        windowed = x * self.window * self.gain
        return -2.5 * windowed, windowed / 3 * 0.0


def build() -> torch.nn.Module:
    return Constants()


def example_inputs() -> tuple[torch.Tensor, ...]:
    return calibration()[0]


def calibration() -> list[tuple[torch.Tensor, ...]]:
    generator = torch.Generator().manual_seed(5)
    return [(torch.randn(4, 32, generator=generator),) for _ in range(8)]
