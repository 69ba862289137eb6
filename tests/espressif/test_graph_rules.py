"""The graph around a lowered multiply: who takes its result, and what stays."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch
from executorch.exir.dialects._ops import ops as exir_ops
from torch.export import export

from bench.errors import BenchError
from bench.espressif import AtenToEspPass, EspPassManager, Reason, report_of, to_espnn_edge
from bench.espressif.edge import to_portable_edge
from bench.espressif.multiply import decide_nested
from bench.espressif.passes import EDGE_MUL_INT8
from bench.espressif.report import StrictError
from bench.espressif.testing.cases import OUT, X, Y, dequantize, quantize

Q = exir_ops.edge.quantized_decomposed.quantize_per_tensor.default
DQ = exir_ops.edge.quantized_decomposed.dequantize_per_tensor.default
MUL = exir_ops.edge.aten.mul.Tensor
RELU = exir_ops.edge.aten.relu.default
MID = (0.12, 0)

A = torch.arange(-128, 128, dtype=torch.int8).reshape(16, 16)
B = A.t().contiguous()


def lower(function, *inputs: torch.Tensor, buffers: dict[str, torch.Tensor] | None = None):
    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            for name, value in (buffers or {}).items():
                self.register_buffer(name, value)

        def forward(self, *args):
            return function(self, *args)

    program = export(Model(), inputs)
    return to_espnn_edge(program, use_operator_library=True), program


def counts(edge, method: str = "forward") -> Counter:
    nodes = edge.exported_program(method).graph.nodes
    return Counter(node.target for node in nodes if node.op == "call_function")


def near(got: torch.Tensor, want: torch.Tensor, step: float) -> None:
    assert float((got - want).abs().max()) <= step * 1.001


def test_every_use_of_the_quantizer_takes_the_result() -> None:
    def model(self, x, y):
        product = quantize(dequantize(x, *X) * dequantize(y, *Y), *OUT)
        one = dequantize(product, *OUT)
        other = torch.relu(dequantize(product, *OUT))
        return one, other, product, quantize(one * dequantize(y, *Y), *MID)

    edge, program = lower(model, A, B)
    assert counts(edge) == {EDGE_MUL_INT8: 2, DQ: 2, RELU: 1}
    got, want = edge.exported_program().module()(A, B), program.module()(A, B)
    assert got[2].dtype == torch.int8
    near(got[0], want[0], OUT[0])
    near(got[1], want[1], OUT[0])
    assert torch.equal(got[0], dequantize(got[2], *OUT))


def test_chained_multiplies_pass_int8() -> None:
    def model(self, x, y):
        product = dequantize(quantize(dequantize(x, *X) * dequantize(y, *Y), *MID), *MID)
        return quantize(product * product, *OUT)

    edge, _ = lower(model, A, B)
    assert counts(edge) == {EDGE_MUL_INT8: 2}
    first, second = (n for n in edge.exported_program().graph.nodes if n.target == EDGE_MUL_INT8)
    assert [second.args[0], second.args[2]] == [first, first]


def test_float_consumer_keeps_the_multiply_and_its_dequantizers() -> None:
    def model(self, x, y):
        # Quantizing first: the consumer has to see that rounding and saturation.
        a = dequantize(quantize(x, 0.01, 3), 0.01, 3)
        product = a * dequantize(y, *Y)
        return quantize(product, *OUT), torch.relu(product)

    x = torch.linspace(-5, 5, 256).reshape(16, 16)
    edge, program = lower(model, x, B)
    assert counts(edge) == {Q: 1, DQ: 2, MUL: 1, RELU: 1, EDGE_MUL_INT8: 1}
    got, want = edge.exported_program().module()(x, B), program.module()(x, B)
    assert torch.equal(got[1], want[1])
    assert float(want[1].max()) < 1.25 * 2.7  # saturated, unlike x * y
    assert int((got[0].int() - want[0].int()).abs().max()) <= 1


def test_several_output_quantizers_stay_portable() -> None:
    def model(self, x, y):
        product = dequantize(x, *X) * dequantize(y, *Y)
        return quantize(product, *OUT), quantize(product, *OUT)

    edge, program = lower(model, A, B)
    # Even equal ones, which export may have merged or not.
    quantizers = counts(edge)[Q]
    assert counts(edge)[EDGE_MUL_INT8] == (1 if quantizers == 0 else 0)

    def different(self, x, y):
        product = dequantize(x, *X) * dequantize(y, *Y)
        return quantize(product, *OUT), quantize(product, *MID)

    edge, program = lower(different, A, B)
    assert counts(edge) == {Q: 2, DQ: 2, MUL: 1}
    assert [m.reason for m in report_of(edge).multiplies] == [Reason.SEVERAL_OUTPUT_QUANTIZERS]
    for got, want in zip(
        edge.exported_program().module()(A, B), program.module()(A, B), strict=True
    ):
        assert torch.equal(got, want)


def test_shared_dequantizer_serves_a_multiply_and_others() -> None:
    def model(self, x, y):
        a, b = dequantize(x, *X), dequantize(y, *Y)
        return quantize(a * b, *OUT), a + 1, quantize(b * b, *OUT)

    edge, program = lower(model, A, B)
    assert counts(edge)[EDGE_MUL_INT8] == 2
    assert counts(edge)[DQ] == 1  # x's, for the addition
    assert torch.equal(edge.exported_program().module()(A, B)[1], program.module()(A, B)[1])


def test_in_place_multiply() -> None:
    def model(self, x, y):
        a = dequantize(x, *X)
        a.mul_(dequantize(y, *Y))
        a.mul_(2.0)
        return quantize(a, *OUT)

    edge, _ = lower(model, A, B)
    # The first product is not quantized, so it stays; the second has an unquantized input.
    assert [m.reason for m in report_of(edge).multiplies] == [
        Reason.NO_OUTPUT_QUANTIZER,
        Reason.INPUT_NOT_QUANTIZED,
    ]

    def quantized(self, x, y):
        a = dequantize(x, *X)
        a.mul_(dequantize(y, *Y))
        return quantize(a, *OUT)

    edge, program = lower(quantized, A, B)
    assert counts(edge) == {EDGE_MUL_INT8: 1}
    got, want = edge.exported_program().module()(A, B), program.module()(A, B)
    assert int((got.int() - want.int()).abs().max()) <= 1


def test_multiply_that_writes_to_a_buffer() -> None:
    def model(self, x, y):
        product = quantize(dequantize(x, *X) * dequantize(self.state, *Y), *OUT)
        self.state.copy_(y)
        return product

    edge, _ = lower(model, A, B, buffers={"state": B.clone()})
    # A buffer that is written to is no constant, but its int8 values can be multiplied.
    assert counts(edge)[EDGE_MUL_INT8] == 1
    assert report_of(edge).multiplies[0].constant is None
    signature = edge.exported_program().graph_signature
    assert list(signature.buffers_to_mutate.values()) == ["state"]
    edge.to_executorch()


def test_float_buffer_that_is_written_to_is_no_constant() -> None:
    def model(self, x, y):
        product = quantize(dequantize(x, *X) * self.state, *OUT)
        self.state.copy_(dequantize(y, *Y))
        return product

    edge, _ = lower(model, A, B, buffers={"state": torch.ones(16, 16)})
    assert [m.reason for m in report_of(edge).multiplies] == [Reason.INPUT_NOT_QUANTIZED]


def test_only_unused_nodes_are_removed() -> None:
    def model(self, x, y):
        return quantize(dequantize(x, *X) * dequantize(y, *Y), *OUT), torch.relu(dequantize(x, *X))

    edge = to_portable_edge(export(lowerable(model), (A, B)))
    graph = edge.exported_program().graph
    relu = next(node for node in graph.nodes if node.target == RELU)
    with graph.inserting_after(relu):
        unused = graph.call_function(RELU, (relu,))
        unused.meta = dict(relu.meta)
    before = [node.target for node in graph.nodes if node.op == "call_function"]
    after = EspPassManager(edge.exported_program()).transform().graph
    left = [node.target for node in after.nodes if node.op == "call_function"]
    assert before.count(RELU) == left.count(RELU) == 2
    assert left.count(Q) == left.count(MUL) == 0


def lowerable(function) -> torch.nn.Module:
    class Model(torch.nn.Module):
        def forward(self, *args):
            return function(self, *args)

    return Model()


def test_multiple_methods() -> None:
    def one(self, x, y):
        return quantize(dequantize(x, *X) * dequantize(y, *Y), *OUT)

    def two(self, x, y):
        product = dequantize(x, *X) * dequantize(y[:1], *Y)
        return quantize(product, *OUT), quantize(dequantize(y, *Y) * 2.0, *OUT)

    programs = {"one": export(lowerable(one), (A, B)), "two": export(lowerable(two), (A, B))}
    for use_operator_library in (True, False):
        edge = to_espnn_edge(programs, use_operator_library=use_operator_library)
        assert edge.methods == {"one", "two"}
        report = report_of(edge)
        assert [(m.method, m.lowered) for m in report.multiplies] == [
            ("one", True),
            ("two", False),
            ("two", True),
        ]
        names = {plan.name for plan in edge.to_executorch().executorch_program.execution_plan}
        assert names == {"one", "two"}


def test_the_callers_programs_stay_as_they_are() -> None:
    def model(self, x):
        return quantize(dequantize(x, *X) * self.constant, *OUT)

    def everything(program):
        return str(program.graph), sorted(program.state_dict), sorted(program.constants)

    class Model(torch.nn.Module):
        def __init__(self, persistent: bool) -> None:
            super().__init__()
            constant = torch.linspace(-1, 1, 256).reshape(16, 16)
            self.register_buffer("constant", constant, persistent=persistent)

        def forward(self, x):
            return model(self, x)

    for persistent in (True, False):
        program = export(Model(persistent), (A,))
        before = everything(program)
        first = to_espnn_edge({"a": program, "b": program}, use_operator_library=True)
        again = to_espnn_edge(program, use_operator_library=True)
        assert everything(program) == before
        want = again.exported_program().module()(A)
        assert int((want.int() - program.module()(A).int()).abs().max()) <= 2
        for method in ("a", "b"):
            assert torch.equal(first.exported_program(method).module()(A), want)


class TwoLines(torch.nn.Module):
    def forward(self, x, y):
        product = dequantize(x, *X) * dequantize(y, *Y)
        return quantize(product, *OUT)


def test_new_node_has_the_quantizers_debug_handle_and_the_multiplys_line() -> None:
    program = export(TwoLines(), (A, B))
    portable = to_portable_edge(program).exported_program()
    quantizer = next(node for node in portable.graph.nodes if node.target == Q)
    edge = to_espnn_edge(program, use_operator_library=True)
    node = next(n for n in edge.exported_program().graph.nodes if n.target == EDGE_MUL_INT8)
    assert node.meta["debug_handle"] == quantizer.meta["debug_handle"]
    (multiply,) = report_of(edge).multiplies
    line = TwoLines.forward.__code__.co_firstlineno + 1
    assert (multiply.file, multiply.line) == (__file__, line)
    assert f'"{__file__}", line {line}' in node.meta["stack_trace"]


def test_edge_validation_is_on() -> None:
    edge, _ = lower(lambda self, x: quantize(dequantize(x, *X) * 3.0, *OUT), A)
    assert edge.compile_config._check_ir_validity


def test_one_strided_input_is_enough_to_stay_portable() -> None:
    def model(self, x, y):
        return quantize(dequantize(x, *X) * dequantize(y, *Y), *OUT)

    for inputs in ((A, B.t()), (A.t(), B)):
        edge, _ = lower(model, *inputs)
        assert [m.reason for m in report_of(edge).multiplies] == [Reason.NOT_CONTIGUOUS]


def test_strides_of_dimensions_of_size_one_do_not_matter(run_pte) -> None:
    """Such tensors are contiguous, but have dim orders that differ."""
    x, y = torch.arange(5, dtype=torch.int8).reshape(1, 5).t(), A[8:13, :1].contiguous()
    assert x.is_contiguous() and (x.stride(), y.stride()) == ((1, 5), (1, 1))
    for inputs in ((x, y), (y, x)):
        edge, program = lower(
            lambda self, x, y: quantize(dequantize(x, *X) * dequantize(y, *Y), *OUT), *inputs
        )
        assert [m.lowered for m in report_of(edge).multiplies] == [True]
        (got,) = run_pte(edge.to_executorch().buffer, [tensor.numpy() for tensor in inputs])
        np.testing.assert_array_equal(got, edge.exported_program().module()(*inputs).numpy())
        assert int((torch.from_numpy(got).int() - program.module()(*inputs).int()).abs().max()) <= 1


def test_multiplies_in_branches_are_reported() -> None:
    def model(self, x, y, choice):
        def squared(x, y):
            return quantize(dequantize(y, *Y) * dequantize(y, *Y), *OUT)

        def product(x, y):
            return quantize(dequantize(x, *X) * dequantize(y, *Y), *OUT)

        return torch.cond(choice.sum() > 0, product, squared, (x, y))

    edge, program = lower(model, A, B, torch.ones(2))
    multiplies = report_of(edge).multiplies
    assert [(m.reason, m.quantized) for m in multiplies] == [(Reason.CONTROL_FLOW, True)] * 2
    edge.to_executorch()
    with pytest.raises(StrictError, match="2 quantized multiplies were not lowered"):
        to_espnn_edge(program, strict=True)


def test_divisions_in_branches_are_reported_as_multiplies_are() -> None:
    def model(self, x, y, choice, two):
        def by_number(x, y, two):
            return quantize(dequantize(x, *X) / 3.0, *OUT)

        def others(x, y, two):
            halved = quantize(dequantize(x, *X) / two, *OUT)
            # These are no multiplies: a divisor that varies, and a rounded quotient.
            ratio = dequantize(halved, *OUT) / dequantize(y, *Y)
            return quantize(torch.div(ratio, 3.0, rounding_mode="floor"), *OUT)

        return torch.cond(choice.sum() > 0, by_number, others, (x, y, two))

    edge, program = lower(model, A, B, torch.ones(2), torch.tensor(2.0))
    multiplies = report_of(edge).multiplies
    assert [(m.operator, m.reason) for m in multiplies] == [("div", Reason.CONTROL_FLOW)] * 2
    with pytest.raises(StrictError, match="2 quantized multiplies were not lowered"):
        to_espnn_edge(program, strict=True)


def test_strided_output_stays_portable() -> None:
    # The constant would be laid out anew, but the product follows the strides of the first input.
    edge, _ = lower(
        lambda self, x: quantize(self.constant * dequantize(x, *X), *OUT),
        A,
        buffers={"constant": torch.linspace(-1, 1, 256).reshape(16, 16).t()},
    )
    assert [m.reason for m in report_of(edge).multiplies] == [Reason.NOT_CONTIGUOUS]


def test_half_precision_stays_portable() -> None:
    def model(self, x, y):
        dequantize_per_tensor = torch.ops.quantized_decomposed.dequantize_per_tensor
        a = dequantize_per_tensor(x, *X, -128, 127, torch.int8, out_dtype=torch.float16)
        return quantize(a * a, *OUT)

    edge, _ = lower(model, A, B)
    assert [m.reason for m in report_of(edge).multiplies] == [Reason.NOT_FLOAT32]


def test_qparams_that_are_tensors_stay_portable() -> None:
    def model(self, x, y):
        scale, zero_point = torch.tensor(0.05), torch.tensor(3)
        a = torch.ops.quantized_decomposed.dequantize_per_tensor.tensor(
            x, scale, zero_point, -128, 127, torch.int8
        )
        return quantize(a * dequantize(y, *Y), *OUT)

    edge, _ = lower(model, A, B)
    assert [m.reason for m in report_of(edge).multiplies] == [Reason.DYNAMIC_QPARAMS]


def test_zero_points_outside_int8_stay_portable() -> None:
    edge, _ = lower(
        lambda self, x, y: quantize(dequantize(x, 0.05, 300) * dequantize(y, *Y), *OUT), A, B
    )
    assert [m.reason for m in report_of(edge).multiplies] == [Reason.INVALID_QPARAMS]


def test_keyword_arguments_are_read() -> None:
    def model(self, x):
        a = torch.ops.quantized_decomposed.dequantize_per_tensor(
            x, scale=0.05, zero_point=3, quant_min=-127, quant_max=127, dtype=torch.int8
        )
        return quantize(a * a, *OUT)

    edge, _ = lower(model, A)
    assert [m.reason for m in report_of(edge).multiplies] == [Reason.NARROWED_RANGE]


def test_empty_tensors_are_lowered() -> None:
    empty = torch.zeros(0, 4, dtype=torch.int8)
    edge, _ = lower(
        lambda self, x, y: quantize(dequantize(x, *X) * dequantize(y, *Y), *OUT), empty, empty
    )
    assert edge.exported_program().module()(empty, empty).shape == (0, 4)
    assert counts(edge) == {EDGE_MUL_INT8: 1}


def test_programs_without_anything_to_lower() -> None:
    edge, _ = lower(lambda self, x: torch.relu(dequantize(x, *X)), A)
    assert "no multiply" in str(report_of(edge))
    edge.to_executorch()


def test_what_is_no_program_is_refused() -> None:
    with pytest.raises(BenchError, match="not an ExportedProgram"):
        to_espnn_edge(lowerable(lambda self, x: x))
    with pytest.raises(BenchError, match="no method"):
        to_espnn_edge({})


def test_pass_manager_needs_a_program() -> None:
    with pytest.raises(ValueError, match="needs an exported program"):
        EspPassManager().transform()


def test_rules_are_registered_by_operator() -> None:
    aten = exir_ops.edge.aten
    multiplies = {MUL, aten.mul.Scalar}
    divisions = {
        getattr(aten.div, name) for name in ("Tensor", "Scalar", "Tensor_mode", "Scalar_mode")
    }
    assert set(AtenToEspPass.rules) == multiplies | divisions


def test_a_rule_of_ones_own_is_in_the_report_and_strict(monkeypatch: pytest.MonkeyPatch) -> None:
    def model(self, x, y):
        return quantize(dequantize(x, *X) - dequantize(y, *Y), *OUT)

    monkeypatch.setattr(AtenToEspPass, "rules", dict(AtenToEspPass.rules))
    AtenToEspPass.register(exir_ops.edge.aten.sub.Tensor)(
        lambda node, _: (decide_nested(node), None)
    )
    edge, program = lower(model, A, B)
    assert [(m.operator, m.quantized) for m in report_of(edge).multiplies] == [("sub", True)]
    with pytest.raises(StrictError, match=r"forward: sub \[16, 16\]"):
        to_espnn_edge(program, strict=True)


def test_operator_refuses_what_it_cannot_take() -> None:
    mul = torch.ops.esp_nn.quantized_mul_int8
    x = torch.zeros(4, dtype=torch.int8)
    with pytest.raises(ValueError, match="equal shape"):
        mul(x, 0, x[:2], 0, 0, 2**30, 0)
    with pytest.raises(TypeError, match="int8"):
        mul(x.float(), 0, x, 0, 0, 2**30, 0)
    out = torch.empty_like(x)
    mul.out(x + 8, 0, x + 16, 0, 0, 2**30, 0, out=out)
    assert out.tolist() == [64] * 4
    assert np.array_equal(mul(x + 8, 0, x + 16, 0, 0, 2**30, 0).numpy(), out.numpy())
