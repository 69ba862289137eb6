"""The delegate route: its blob, its partitions, and the runtime's results."""

from __future__ import annotations

import struct

import numpy as np
import pytest
import torch
from executorch.exir.dialects._ops import ops as exir_ops
from executorch.exir.lowered_backend_module import get_lowered_backend_modules
from torch.export import export

from bench.errors import BenchError
from bench.espressif import EspNNPartitioner, report_of, to_espnn_edge
from bench.espressif.edge import to_portable_edge
from bench.espressif.testing import CASES
from bench.espressif.testing.cases import OUT, X, Y, dequantize, quantize

A = torch.arange(-128, 128, dtype=torch.int8)
B = torch.flip(A, (0,))


class Chain(torch.nn.Module):
    def forward(self, x, y, z):
        first = dequantize(quantize(dequantize(x, *X) * dequantize(y, *Y), *OUT), *OUT)
        second = quantize(first * dequantize(z, 0.1, 9), 0.05, 2)
        third = quantize(first * first, 0.02, -128)
        return second, third


class Split(torch.nn.Module):
    """Two multiplies with a portable operator between them, and one of another size."""

    def forward(self, x, y):
        first = dequantize(quantize(dequantize(x, *X) * dequantize(y, *Y), *OUT), *OUT)
        bent = dequantize(quantize(torch.relu(first), *OUT), *OUT)
        small = quantize(dequantize(x[:8], *X) * dequantize(y[:8], *Y), *OUT)
        return quantize(bent * first, 0.02, -128), small


def blobs(edge) -> list[bytes]:
    graph_module = edge.exported_program().graph_module
    return [module.processed_bytes for module in get_lowered_backend_modules(graph_module)]


def test_blob() -> None:
    program = export(Chain(), (A, B, A.clone()))
    edge = to_espnn_edge(program)
    (blob,) = blobs(edge)
    magic, version, inputs, outputs, values, operations = struct.unpack_from("<6I", blob)
    assert (magic, version) == (0x314E5345, 1)
    assert blob[:4] == b"ESN1"
    assert (inputs, outputs, values, operations) == (3, 2, 6, 3)
    assert list(struct.unpack_from("<2I", blob, 24)) == [4, 5]
    assert len(blob) == 24 + 2 * 4 + 3 * 32
    ops = [struct.unpack_from("<3I5i", blob, 32 + 32 * index) for index in range(3)]
    reported = [(m.multiplier, m.shift) for m in report_of(edge).multiplies]
    assert [op[6:] for op in ops] == reported
    assert ops[0][:6] == (0, 1, 3, X[1], Y[1], OUT[1])
    assert ops[1][:6] == (3, 2, 4, OUT[1], 9, 2)
    assert ops[2][:6] == (3, 3, 5, OUT[1], OUT[1], -128)


@pytest.mark.parametrize("module, inputs, delegates", [
    (Chain(), (A, B, A.clone()), 1),
    (Split(), (A, B), 3),
])  # fmt: skip
def test_runtime_computes_what_the_operator_library_computes(
    run_pte, module, inputs, delegates
) -> None:
    program = export(module, inputs)
    library = to_espnn_edge(program, use_operator_library=True)
    want = [output.numpy() for output in library.exported_program().module()(*inputs)]
    edge = to_espnn_edge(program)
    assert len(blobs(edge)) == delegates
    assert {m.emitted for m in report_of(edge).lowered} == {"EspNNBackend"}
    got = run_pte(edge.to_executorch().buffer, [tensor.numpy() for tensor in inputs])
    for have, expected in zip(got, want, strict=True):
        np.testing.assert_array_equal(have, expected)


def test_same_decisions_as_the_operator_library() -> None:
    for case in CASES:
        if case.name not in ("broadcast", "several_quantizers", "shift_left_16", "scalar"):
            continue
        program = export(case.module(), case.inputs)
        library = report_of(to_espnn_edge(program, use_operator_library=True)).multiplies
        delegate = report_of(to_espnn_edge(program)).multiplies
        assert [(m.reason, m.multiplier, m.shift) for m in library] == [
            (m.reason, m.multiplier, m.shift) for m in delegate
        ]


def test_nothing_to_delegate_keeps_the_program_portable(run_pte) -> None:
    case = next(case for case in CASES if case.name == "broadcast")
    edge = to_espnn_edge(export(case.module(), case.inputs))
    assert blobs(edge) == []
    targets = [node.target for node in edge.exported_program().graph.nodes]
    assert targets.count(exir_ops.edge.aten.mul.Tensor) == 1
    run_pte(edge.to_executorch().buffer, [tensor.numpy() for tensor in case.inputs])


def test_partitioner_asks_for_the_passes() -> None:
    edge = to_portable_edge(export(Chain(), (A, B, A.clone())))
    with pytest.raises(BenchError, match="run EspPassManager"):
        EspNNPartitioner().partition(edge.exported_program())
