"""A gated linear unit as in a transformer's feed-forward block: SwiGLU, then a plain GLU."""

from __future__ import annotations

import torch
from torch.nn import functional

EXPECT = {"lowered": 3, "portable": 0}


class GatedBlock(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate = torch.nn.Linear(16, 24)
        self.up = torch.nn.Linear(16, 24)
        self.down = torch.nn.Linear(24, 32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = functional.silu(self.gate(x)) * self.up(x)
        return functional.glu(self.down(hidden), dim=-1)


def build() -> torch.nn.Module:
    torch.manual_seed(3)
    return GatedBlock()


def example_inputs() -> tuple[torch.Tensor, ...]:
    return calibration()[0]


def calibration() -> list[tuple[torch.Tensor, ...]]:
    generator = torch.Generator().manual_seed(3)
    return [(torch.randn(4, 16, generator=generator),) for _ in range(8)]
