"""200 random parameter sets inside the contract, each on all 65,536 pairs."""

from __future__ import annotations

import exact
import numpy as np
import torch
from executorch.exir import EdgeCompileConfig

from bench.espressif import report_of, to_espnn_edge
from bench.espressif.testing.cases import dequantize, quantize

SETS = 200

# Checking the dialect of so many operators takes most of the time; other tests leave it on.
FAST = EdgeCompileConfig(_check_ir_validity=False)


def parameter_sets() -> list[tuple[tuple[int, int, int], tuple[float, float, float]]]:
    random = np.random.default_rng(2024)
    sets = []
    while len(sets) < SETS:
        zeros = tuple(int(z) for z in random.integers(-128, 128, 3))
        s1, s2 = (float(s) for s in np.exp2(random.uniform(-20, 10, 2)))
        # From rescales that saturate nearly everything to some that leave nothing.
        scales = (s1, s2, s1 * s2 / float(np.exp2(random.uniform(-20, 4))))
        if exact.is_native(zeros, scales):
            sets.append((zeros, scales))
    return sets


def multiplied(x: np.ndarray, y: np.ndarray, zeros, scales) -> np.ndarray:
    """Multiply by the exact contract, once for each of the products that occur."""
    z1, z2, zo = zeros
    p = (x.astype(np.int64) - z1) * (y.astype(np.int64) - z2)
    values, places = np.unique(p, return_inverse=True)
    multiplier, shift = exact.encode(scales[0] * scales[1] / scales[2])
    left, right = max(shift, 0), max(-shift, 0)
    bias = 2**30 + (2 ** (30 + right) if right else 0)
    lowered = 2**31 if right else 0
    total = values * (2**left * multiplier) + np.where(values >= 0, bias, bias - lowered)
    assert int(np.abs(values).max()) * 2**left * multiplier + 2 * bias < 2**63
    results = np.clip((total >> (31 + right)) + zo, -128, 127).astype(np.int8)
    return results[places.reshape(p.shape)]


def test_dialect_reference_and_runtime_are_equal(run_pte) -> None:
    sets = parameter_sets()

    class Many(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
            return tuple(
                quantize(dequantize(x, s1, z1) * dequantize(y, s2, z2), so, zo)
                for (z1, z2, zo), (s1, s2, so) in sets
            )

    x, y = np.meshgrid(np.arange(-128, 128), np.arange(-128, 128))
    inputs = (torch.from_numpy(x.astype(np.int8)), torch.from_numpy(y.astype(np.int8)))
    program = torch.export.export(Many(), inputs)
    edge = to_espnn_edge(program, use_operator_library=True, strict=True, compile_config=FAST)
    assert len(report_of(edge).lowered) == SETS

    eager = [output.numpy() for output in edge.exported_program().module()(*inputs)]
    runtime = run_pte(edge.to_executorch().buffer, [array.numpy() for array in inputs])
    for index, (zeros, scales) in enumerate(sets):
        expected = multiplied(x, y, zeros, scales)
        np.testing.assert_array_equal(eager[index], expected, f"dialect, {zeros} {scales}")
        np.testing.assert_array_equal(runtime[index], expected, f"runtime, {zeros} {scales}")
