"""Multiplies by constants are exact: the integer contract for the real factor."""

from __future__ import annotations

import math
from fractions import Fraction

import exact
import numpy as np
import pytest
import torch
from executorch.exir.dialects._ops import ops as exir_ops
from torch.export import export

from bench.espressif import Reason, report_of, to_espnn_edge
from bench.espressif.passes import EDGE_MUL_INT8
from bench.espressif.testing.cases import dequantize, quantize
from bench.numerics import QParams

ALL = torch.arange(-128, 128, dtype=torch.int8)
SCALARS = (3.0, 0.1, -0.3, -1.0, 1.0, 1e-3, -250.0, 2.0**-100)


class ByConstants(torch.nn.Module):
    """Applies each operation to dequantize(x) and quantizes the result."""

    def __init__(self, x_qparams, outputs, operations, **buffers: torch.Tensor) -> None:
        super().__init__()
        self.x_qparams, self.outputs, self.operations = x_qparams, outputs, operations
        for name, value in buffers.items():
            self.register_buffer(name, value)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(
            quantize(operation(self, dequantize(x, *self.x_qparams)), *output)
            for operation, output in zip(self.operations, self.outputs, strict=True)
        )


def lower(module: torch.nn.Module, x: torch.Tensor = ALL):
    edge = to_espnn_edge(export(module, (x,)), use_operator_library=True)
    return edge, report_of(edge).multiplies


def by_the_contract(x: np.ndarray, z1: int, s1: float, factor: float, zo: int, so: float):
    """Requantize x times the factor: p = +-(x - z1), rescaled by s1 * |factor| / so."""
    sign = (factor > 0) - (factor < 0)
    multiplier, shift = exact.encode(s1 * abs(factor) / so) if sign else (0, 0)
    # x times (sign - 0): the exact form of a factor of +1, 0 or -1.
    return exact.multiply(x, np.full_like(x, sign), (z1, 0, zo), multiplier, shift)


def test_scalars_are_exact() -> None:
    s1, z1 = 0.047, 17
    # Each has an output scale that keeps its results spread over the int8 range.
    outputs = [(s1 * abs(float(np.float32(c))) * 1.1, -3) for c in SCALARS]
    operations = [lambda self, x, c=c: x * c for c in SCALARS]
    # A number of the graph, not a tensor: rounded to float32 all the same.
    operations[1] = lambda self, x: torch.ops.aten.mul.Scalar(x, SCALARS[1])
    edge, multiplies = lower(ByConstants((s1, z1), outputs, operations))
    results = edge.exported_program().module()(ALL)
    for c, (so, zo), got, multiply in zip(SCALARS, outputs, results, multiplies, strict=True):
        factor = float(np.float32(c))
        assert multiply.lowered and multiply.constant == "scalar"
        assert (multiply.multiplier, multiply.shift) == exact.encode(s1 * abs(factor) / so)
        want = by_the_contract(ALL.numpy(), z1, s1, factor, zo, so)
        np.testing.assert_array_equal(got.numpy(), want, f"times {c}")
        assert len(np.unique(want)) > 200


def test_scalars_in_every_spelling_are_the_same() -> None:
    operations = [
        lambda self, x: x * 3.0,
        lambda self, x: x * 3,
        lambda self, x: 3.0 * x,
        lambda self, x: torch.mul(x, 3.0),
        lambda self, x: torch.ops.aten.mul.Scalar(x, 3.0),
        lambda self, x: x * self.scalar,
        lambda self, x: self.scalar * x,
        lambda self, x: x * self.float64,
        lambda self, x: x * torch.tensor(3.0),
        lambda self, x: x.mul_(3.0),
    ]
    module = ByConstants(
        (0.05, 3),
        [(0.16, -9)] * len(operations),
        operations,
        scalar=torch.tensor(3.0),
        float64=torch.tensor(3.0, dtype=torch.float64),
    )
    edge, multiplies = lower(module)
    want = by_the_contract(ALL.numpy(), 3, 0.05, 3.0, -9, 0.16)
    for index, got in enumerate(edge.exported_program().module()(ALL)):
        assert multiplies[index].lowered, multiplies[index]
        np.testing.assert_array_equal(got.numpy(), want, f"spelling {index}")


def test_quantized_scalar_keeps_its_own_parameters() -> None:
    stored = torch.tensor(3, dtype=torch.int8)
    operation = [lambda self, x: x * dequantize(self.stored, 0.5, 1)]
    edge, (multiply,) = lower(ByConstants((0.05, 3), [(0.06, -9)], operation, stored=stored))
    assert multiply.inputs == (QParams(0.05, 3), QParams(0.5, 1))
    y = np.full(256, 3, dtype=np.int8)
    want = exact.multiply(ALL.numpy(), y, (3, 1, -9), *exact.encode(0.05 * 0.5 / 0.06))
    np.testing.assert_array_equal(edge.exported_program().module()(ALL)[0].numpy(), want)


def test_all_scalars_of_a_shape_share_one_constant() -> None:
    operations = [lambda self, x, c=c: x * c for c in (3.0, -0.5, 0.0, 2.0)]
    edge, _ = lower(ByConstants((0.05, 3), [(0.2, 0)] * 4, operations))
    program = edge.exported_program()
    (constant,) = program.state_dict.values()
    assert constant.dtype == torch.int8 and not constant.any()
    assert len(program.graph_signature.inputs_to_buffers) == 1


def test_zero_gives_the_zero_point_at_any_scale() -> None:
    outputs = [(1e-7, 17), (1e7, -128), (1e-7, 127)]
    operations = [lambda self, x, c=c: x * c for c in (0.0, -0.0, 0)]
    edge, multiplies = lower(ByConstants((0.05, 3), outputs, operations))
    assert [m.lowered for m in multiplies] == [True] * 3
    assert [(m.multiplier, m.shift) for m in multiplies] == [(0, 0)] * 3
    for (_, zo), got in zip(outputs, edge.exported_program().module()(ALL), strict=True):
        assert got.unique().tolist() == [zo]


def test_division_is_exact() -> None:
    divisions = (
        (2.0, lambda self, x: x / 2.0),
        (3.0, lambda self, x: x / 3),
        (-7.0, lambda self, x: torch.ops.aten.div.Scalar(x, -7.0)),
        (0.3, lambda self, x: x / 0.3),
        (6.0, lambda self, x: x.div_(self.six)),
        (1.5, lambda self, x: x / dequantize(self.three, 0.5, 0)),
        (5.0, lambda self, x: torch.div(x, 5.0, rounding_mode=None)),
    )
    divisors, operations = zip(*divisions, strict=True)
    s1, z1, zo = 0.05, -20, 4
    outputs = [(s1 / abs(float(np.float32(c))) * 0.9, zo) for c in divisors]
    constants = {"six": torch.tensor(6.0), "three": torch.tensor(3, dtype=torch.int8)}
    edge, multiplies = lower(ByConstants((s1, z1), outputs, operations, **constants))
    results = edge.exported_program().module()(ALL)
    for c, (so, _), got, multiply in zip(divisors, outputs, results, multiplies, strict=True):
        divisor = float(np.float32(c))
        quotient = float(Fraction(s1) / (abs(Fraction(divisor)) * Fraction(so)))
        assert multiply.operator == "div"
        assert (multiply.multiplier, multiply.shift) == exact.encode(quotient), c
        want = by_the_contract(ALL.numpy(), z1, quotient, math.copysign(1.0, divisor), zo, 1.0)
        np.testing.assert_array_equal(got.numpy(), want, f"by {c}")


def test_rounded_division_is_none_of_ours() -> None:
    operation = [lambda self, x: torch.div(x, 5.0, rounding_mode="floor")]
    edge, multiplies = lower(ByConstants((0.05, 3), [(0.2, 0)], operation))
    assert multiplies == []
    edge.to_executorch()


def test_division_whose_reciprocal_moves_the_multiplier_stays_portable() -> None:
    # Where a quotient lies halfway between two multipliers, one rounding more decides which.
    divisor, half = next(
        (float(divisor), half)
        for divisor in range(3, 200)
        for half in ((2**31 - index - 0.5) / 2**31 for index in range(1, 100))
        if divisor * half * (1 / divisor) < half
    )
    scale = divisor * half
    assert exact.encode(scale * (1 / divisor)) != exact.encode(scale / divisor)
    edge, (multiply,) = lower(ByConstants((scale, 0), [(1.0, 0)], [lambda self, x: x / divisor]))
    assert multiply.reason == Reason.INEXACT_RECIPROCAL
    edge.exported_program().module()(ALL)


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        (lambda self, x: x * float("inf"), Reason.CONSTANT_NOT_FINITE),
        (lambda self, x: x * float("nan"), Reason.CONSTANT_NOT_FINITE),
        (lambda self, x: x / 0.0, Reason.DIVISION_BY_ZERO),
        (lambda self, x: x / float("inf"), Reason.CONSTANT_NOT_FINITE),
        (lambda self, x: x * self.infinite, Reason.CONSTANT_NOT_FINITE),
        (lambda self, x: x * 1e38, Reason.FLOAT32_OVERFLOW),
        (lambda self, x: x * self.vector, Reason.BROADCAST),
        (lambda self, x: x * self.single, Reason.BROADCAST),
        (lambda self, x: x * self.large, Reason.FLOAT32_OVERFLOW),
        (lambda self, x: x * self.large_number, Reason.FLOAT32_OVERFLOW),
        (lambda self, x: x * dequantize(quantize(self.large, 1e10, 0), 1e10, 0),
         Reason.SHIFT_OUT_OF_BOUNDS),
        (lambda self, x: x / dequantize(self.nothing, 0.1, 0), Reason.DIVISION_BY_ZERO),
    ],
)  # fmt: skip
def test_constants_that_stay_portable(operation, reason: Reason) -> None:
    x = ALL.reshape(32, 8)
    module = ByConstants(
        (0.05, 3),
        [(0.2, 0)],
        [operation],
        infinite=torch.full((32, 8), float("inf")),
        vector=torch.ones(8),
        single=torch.full((1, 1), 2.0),
        large=torch.linspace(-1e38, 1e38, 256).reshape(32, 8),
        large_number=torch.tensor(1e38),
        nothing=torch.tensor(0, dtype=torch.int8),
    )
    for use_operator_library in (True, False):
        edge = to_espnn_edge(export(module, (x,)), use_operator_library=use_operator_library)
        (multiply,) = report_of(edge).multiplies
        assert multiply.reason == reason
        edge.to_executorch()


def test_constant_whose_multiply_stays_for_a_float_consumer(run_pte) -> None:
    """The delegate's partitioner sees that multiply, and no value of the constant."""

    class Both(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("factor", torch.tensor(7, dtype=torch.int8))

        def forward(self, x):
            product = dequantize(x, 0.05, 3) * dequantize(self.factor, 0.1, 0)
            return quantize(product, 0.2, 0), torch.relu(product)

    program = export(Both(), (ALL,))
    ran = []
    for use_operator_library in (True, False):
        edge = to_espnn_edge(program, use_operator_library=use_operator_library)
        assert [m.lowered for m in report_of(edge).multiplies] == [True]
        ran.append(run_pte(edge.to_executorch().buffer, [ALL.numpy()]))
    multiplier, shift = exact.encode(0.05 * 0.1 / 0.2)
    seven = np.full(256, 7)
    want = exact.multiply(ALL.numpy(), seven, (3, 0, 0), multiplier, shift)
    for int8, floats in ran:
        np.testing.assert_array_equal(int8, want)
        np.testing.assert_array_equal(floats, ran[0][1])


def test_a_buffer_by_the_name_of_a_made_constant_stays_what_it_is(run_pte) -> None:
    module = ByConstants(
        (0.05, 3),
        [(0.2, 0), (0.2, 0)],
        [lambda self, x: x * 0.7, lambda self, x: x * dequantize(self.b_espnn_constant_0, 0.1, 0)],
        b_espnn_constant_0=torch.flip(ALL, (0,)),
    )
    edge, multiplies = lower(module)
    assert [m.lowered for m in multiplies] == [True, True]
    multiplier, shift = exact.encode(0.05 * 0.1 / 0.2)
    want = exact.multiply(ALL.numpy(), ALL.numpy()[::-1], (3, 0, 0), multiplier, shift)
    np.testing.assert_array_equal(run_pte(edge.to_executorch().buffer, [ALL.numpy()])[1], want)


def test_quantized_constant_is_folded_into_int8() -> None:
    window = torch.linspace(-1.3, 1.2, 256)
    operation = [lambda self, x: x * dequantize(quantize(self.window, 0.01, 4), 0.01, 4)]
    edge, (multiply,) = lower(ByConstants((0.05, 3), [(0.06, 1)], operation, window=window))
    program = edge.exported_program()
    assert [n.target for n in program.graph.nodes if n.op == "call_function"] == [EDGE_MUL_INT8]
    (constant,) = program.state_dict.values()
    assert torch.equal(constant, quantize(window, 0.01, 4))
    assert multiply.inputs == (QParams(0.05, 3), QParams(0.01, 4))
    assert multiply.constant == "tensor"
    want = exact.multiply(
        ALL.numpy(), constant.numpy(), (3, 4, 1), *exact.encode(0.05 * 0.01 / 0.06)
    )
    np.testing.assert_array_equal(program.module()(ALL)[0].numpy(), want)


@pytest.mark.parametrize("low, high", [(-1.3, 1.2), (0.5, 2.0), (-3.0, -0.25), (-1e-6, 1e6)])
def test_float_constant_gets_parameters_of_its_own(low: float, high: float) -> None:
    window = torch.linspace(low, high, 256)
    edge, (multiply,) = lower(
        ByConstants((0.05, 3), [(max(-low, high) * 0.05, 1)], [lambda s, x: x * s.window],
                    window=window)
    )  # fmt: skip
    assert multiply.lowered
    qparams = multiply.inputs[1]
    assert qparams is not None
    (constant,) = edge.exported_program().state_dict.values()
    assert constant.dtype == torch.int8
    values = (constant.double() - qparams.zero_point) * qparams.scale
    # Zero is exact, the range is used, and nothing is off by more than a step's half (one at the
    # ends, where the zero point's own rounding may clip).
    assert qparams.scale == (max(high, 0) - min(low, 0)) / 255 or math.isclose(
        qparams.scale, (max(high, 0) - min(low, 0)) / 255, rel_tol=1e-6
    )
    assert float((values - window.double()).abs().max()) <= qparams.scale * 1.01
    assert "largest error" in multiply.detail


def test_constant_of_one_magnitude_is_exact() -> None:
    mask = torch.tensor([0.7, -0.7, 0.0, 0.7]).repeat(64)
    edge, (multiply,) = lower(
        ByConstants((0.05, 3), [(0.04, 1)], [lambda s, x: x * s.mask], mask=mask)
    )
    assert multiply.inputs[1] == QParams(float(np.float32(0.7)), 0)
    (constant,) = edge.exported_program().state_dict.values()
    assert sorted(constant.unique().tolist()) == [-1, 0, 1]


def test_constants_reach_the_runtime(run_pte) -> None:
    operations = [
        lambda self, x: x * self.window,
        lambda self, x: x * -0.3,
        lambda self, x: x / 3,
        lambda self, x: x * 0.0,
    ]
    outputs = [(0.06, 1), (0.02, 0), (0.02, 5), (0.1, 9)]
    module = ByConstants((0.05, 3), outputs, operations, window=torch.linspace(-1, 1, 256))
    program = export(module, (ALL,))
    edge = to_espnn_edge(program, use_operator_library=True, strict=True)
    want = [output.numpy() for output in edge.exported_program().module()(ALL)]
    delegated = to_espnn_edge(program, strict=True)
    for edge in (edge, delegated):  # noqa: B020
        got = run_pte(edge.to_executorch().buffer, [ALL.numpy()])
        for have, expected in zip(got, want, strict=True):
            np.testing.assert_array_equal(have, expected)


def test_full_tensors_are_constants() -> None:
    edge, (multiply,) = lower(
        ByConstants((0.05, 3), [(0.06, 1)], [lambda s, x: x * torch.full((256,), 0.5)])
    )
    assert multiply.lowered and multiply.inputs[1] == QParams(0.5, 0)
    targets = {node.target for node in edge.exported_program().graph.nodes}
    assert exir_ops.edge.aten.full.default not in targets
