"""The operator library ``esp_nn``: each operator's schema, shape function, integer reference.

Importing this module defines the operators; ``exir_ops.edge.esp_nn.*`` exists from then on.
"""

from __future__ import annotations

import numpy as np
import torch
from torch.library import Library, impl, register_fake

from bench.numerics import MulParams, multiply_int8

# Held by the module: the operators vanish with the last reference to their library.
library = Library("esp_nn", "DEF")

library.define(
    "quantized_mul_int8(Tensor self, int self_zero_point, Tensor other, int other_zero_point, "
    "int output_zero_point, int output_multiplier, int output_shift) -> Tensor"
)
library.define(
    "quantized_mul_int8.out(Tensor self, int self_zero_point, Tensor other, int other_zero_point, "
    "int output_zero_point, int output_multiplier, int output_shift, *, Tensor(a!) out) "
    "-> Tensor(a!)"
)


def _check(self: torch.Tensor, other: torch.Tensor) -> None:
    if self.dtype != torch.int8 or other.dtype != torch.int8:
        raise TypeError(
            f"esp_nn::quantized_mul_int8 takes int8 tensors, not {self.dtype} and {other.dtype}"
        )
    if self.shape != other.shape:
        raise ValueError(
            "esp_nn::quantized_mul_int8 takes tensors of equal shape, not "
            f"{list(self.shape)} and {list(other.shape)}"
        )


@register_fake("esp_nn::quantized_mul_int8")  # type: ignore[untyped-decorator]
def _mul_int8_fake(
    self: torch.Tensor,
    self_zero_point: int,
    other: torch.Tensor,
    other_zero_point: int,
    output_zero_point: int,
    output_multiplier: int,
    output_shift: int,
) -> torch.Tensor:
    _check(self, other)
    return torch.empty_like(self)


@impl(library, "quantized_mul_int8", "CompositeExplicitAutograd")  # type: ignore[untyped-decorator]
def _mul_int8(
    self: torch.Tensor,
    self_zero_point: int,
    other: torch.Tensor,
    other_zero_point: int,
    output_zero_point: int,
    output_multiplier: int,
    output_shift: int,
) -> torch.Tensor:
    """Multiply by the integer contract (see ``bench.numerics.multiply``)."""
    _check(self, other)
    params = MulParams(
        self_zero_point, other_zero_point, output_zero_point, output_multiplier, output_shift
    )
    product = multiply_int8(self.detach().cpu().numpy(), other.detach().cpu().numpy(), params)
    # numpy makes a scalar of a 0-d result.
    return torch.from_numpy(np.asarray(product)).reshape(self.shape)


@impl(library, "quantized_mul_int8.out", "CompositeExplicitAutograd")  # type: ignore[untyped-decorator]
def _mul_int8_out(
    self: torch.Tensor,
    self_zero_point: int,
    other: torch.Tensor,
    other_zero_point: int,
    output_zero_point: int,
    output_multiplier: int,
    output_shift: int,
    *,
    out: torch.Tensor,
) -> torch.Tensor:
    out.copy_(
        _mul_int8(
            self,
            self_zero_point,
            other,
            other_zero_point,
            output_zero_point,
            output_multiplier,
            output_shift,
        )
    )
    return out
