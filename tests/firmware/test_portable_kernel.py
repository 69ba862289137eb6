from __future__ import annotations

import math

import executorch.kernels.quantized  # noqa: F401  out variants and the runtime's operators
import numpy as np
import pytest
import torch
from executorch.exir import EdgeCompileConfig, to_edge
from executorch.runtime import Runtime
from firmware_kernels import Kernels, Params
from integer_contract import ALL_X, ALL_Y

from bench.numerics import QParams, float32_guard, multiply_portable

Quantization = tuple[float, int]
CASES: list[tuple[Quantization, Quantization, Quantization]] = [
    ((0.0235, -3), (0.0187, 11), (0.0413, -7)),
    ((0.1271, -41), (0.0912, 38), (1.4803, 5)),
    ((0.0412, -128), (0.0307, -128), (0.1893, -128)),
    ((1 / 256, 127), (1 / 128, 127), (1 / 512, 127)),
    ((2.0**-5, 0), (2.0**-6, 0), (2.0**-4, 0)),
    ((0.75, 127), (2.0**-7, -128), (1.0, -1)),
    # Ties that a division, or a reciprocal taken in double, would round the other way.
    ((0.0625, 0), (0.125, 0), (0.15, 0)),
    ((0.061, 0), (0.0494, 0), (0.5702, 0)),
    # Scales that float32 cannot hold exactly, and both ends of its range.
    ((0.1, 1), (0.3, -1), (0.7, 0)),
    ((1e-30, 5), (1e-7, 6), (1e-36, 7)),
    ((1e-20, 5), (1e-15, 6), (1e-33, -8)),
    ((1e18, 0), (1e15, 0), (3.7e34, 0)),
    ((1e-3, 0), (1e-3, 0), (1e-9, 0)),
    ((1.1754943508222875e-38, 0), (1.0, 0), (1.1754943508222875e-38, 0)),
    ((math.pi, -100), (math.e, 99), (1000 / 3, -50)),
]


class Portable(torch.nn.Module):
    def __init__(self, *quantizations: Quantization) -> None:
        super().__init__()
        self.x, self.y, self.out = quantizations

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        ops, limits = torch.ops.quantized_decomposed, (-128, 127, torch.int8)
        product = ops.dequantize_per_tensor(x, *self.x, *limits) * ops.dequantize_per_tensor(
            y, *self.y, *limits
        )
        return ops.quantize_per_tensor(product, *self.out, *limits)


def run_portable(kernels: Kernels, *quantizations: Quantization) -> np.ndarray:
    scales, zeros = zip(*quantizations, strict=True)
    out = np.empty_like(ALL_X)
    paths = kernels.run("portable", ALL_X, ALL_Y, out, Params(*zeros, 0, 0, -128, 127, *scales))
    assert (paths.vector, paths.scalar) == (0, 65536)
    return out


@pytest.mark.parametrize("case", CASES, ids=str)
def test_equals_executorch_operators(
    kernels: Kernels, case: tuple[Quantization, Quantization, Quantization]
) -> None:
    qparams = [QParams(*quantization) for quantization in case]
    assert float32_guard(*qparams) is None
    inputs = (torch.from_numpy(ALL_X), torch.from_numpy(ALL_Y))
    program = torch.export.export(Portable(*case), inputs)
    edge = to_edge(program, compile_config=EdgeCompileConfig(_check_ir_validity=False))
    buffer = edge.to_executorch().buffer
    loaded = Runtime.get().load_program(buffer)
    (expected,) = loaded.load_method("forward").execute(inputs)
    got = run_portable(kernels, *case)
    np.testing.assert_array_equal(got, expected.numpy())
    np.testing.assert_array_equal(got, multiply_portable(ALL_X, ALL_Y, *qparams))


def test_saturates_where_float32_overflows(kernels: Kernels) -> None:
    """There ExecuTorch's conversion to int is undefined; this kernel's is not."""
    scales = (1e19, 1e19, 1e38)
    x = np.array([1, 2, 10, -10, 0], np.int8)
    y = np.array([1, 2, 10, 10, 0], np.int8)
    out = np.empty_like(x)
    kernels.run("portable", x, y, out, Params(0, 0, 0, 0, 0, -128, 127, *scales))
    assert out.tolist() == [1, 127, 127, -128, 0]
