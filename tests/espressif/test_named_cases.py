"""The named cases: what becomes of each multiply, in the dialect and in the runtime."""

from __future__ import annotations

import pytest
import torch
from executorch.backends.test.harness.stages import StageType

from bench.errors import BenchError
from bench.espressif import EspTester
from bench.espressif.multiply import EDGE_DIV, EDGE_MUL
from bench.espressif.passes import EDGE_MUL_INT8
from bench.espressif.testing import CASES, MultiplyCase
from bench.espressif.testing.cases import OUT, X, dequantize, quantize

# Here the product itself is wanted besides its int8 form, so the float multiply stays as well.
KEPT = {"shared_float_consumer": 1}


def test_names_are_unique() -> None:
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case: MultiplyCase, run_pte) -> None:
    multiplies = case.lowered + len(case.reasons)
    before = {EDGE_DIV if case.name.startswith("division") else EDGE_MUL: multiplies}
    after = {
        EDGE_MUL_INT8: case.lowered,
        EDGE_MUL: len(case.reasons) + KEPT.get(case.name, 0),
        EDGE_DIV: 0,
    }
    tester = EspTester.of_case(case, lambda pte, inputs: (run_pte(pte, inputs), None))
    tester.test_dialect(before, after, qtol=case.qtol)
    assert [m.reason for m in tester.report.portable] == list(case.reasons)
    assert len(tester.report.lowered) == case.lowered
    if case.runs:
        tester.test_implementation(qtol=max(case.qtol, 1))


def _gate(module: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
    x = dequantize(x, *X)
    return dequantize(quantize(x * x, *OUT), *OUT)


def test_wrong_numbers_are_found(run_pte) -> None:
    case = MultiplyCase("square", _gate, (torch.arange(-8, 8, dtype=torch.int8),), 1)

    def off_by_one(pte, inputs):
        return [output + 0.03 for output in run_pte(pte, inputs)], 1

    with pytest.raises(AssertionError, match="board against dialect"):
        EspTester.of_case(case, off_by_one).test_implementation()
    with pytest.raises(AssertionError, match="ran 0 times, the program calls it 1 times"):
        fallen_back = EspTester.of_case(case, lambda pte, inputs: (run_pte(pte, inputs), 0))
        fallen_back.test_implementation()
    with pytest.raises(AssertionError, match="Expected 2"):
        EspTester.of_case(case).test_dialect({EDGE_MUL: 2}, {})


def test_the_board_is_the_virtual_one_by_default() -> None:
    x = torch.arange(-8, 8, dtype=torch.int8)
    tester = EspTester.of_case(MultiplyCase("square", _gate, (x,), 1)).test_implementation()
    assert tester.stages[StageType.SERIALIZE].native_calls == 1


def test_operators_by_the_names_of_the_harness() -> None:
    prefix = "executorch_exir_dialects_edge__ops"
    mul, lowered = f"{prefix}_aten_mul_Tensor", f"{prefix}_esp_nn_quantized_mul_int8_default"
    case = MultiplyCase("square", _gate, (torch.arange(-8, 8, dtype=torch.int8),), 1)
    EspTester.of_case(case).test_dialect({mul: 1, lowered: 0}, {mul: 0, lowered: 1, EDGE_MUL: 0})
    with pytest.raises(AssertionError, match=f"Expected 2 {mul} but found 1"):
        EspTester.of_case(case).test_dialect({mul: 2}, {})


def test_no_report_before_the_passes() -> None:
    case = MultiplyCase("square", _gate, (torch.arange(-8, 8, dtype=torch.int8),), 1)
    with pytest.raises(BenchError, match=r"call test_dialect\(\)"):
        _ = EspTester.of_case(case).report
