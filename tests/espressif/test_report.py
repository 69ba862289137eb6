"""The report and strict mode."""

from __future__ import annotations

import json

import pytest
import torch
from torch.export import export

from bench.errors import BenchError
from bench.espressif import Reason, report_of, to_espnn_edge
from bench.espressif.edge import lower_multiplies, to_portable_edge
from bench.espressif.report import StrictError
from bench.espressif.testing.cases import OUT, X, Y, dequantize, quantize
from bench.numerics import QParams

A = torch.arange(0, 24, dtype=torch.int8).reshape(4, 6)


class Mixed(torch.nn.Module):
    def forward(self, x, y):
        a, b = dequantize(x, *X), dequantize(y, *Y)
        lowered = quantize(a * b, *OUT)
        broadcast = quantize(a * b[:1], *OUT)
        decomposed = torch.nn.functional.hardswish(a)
        unquantized = decomposed * decomposed
        return lowered, broadcast, unquantized


def line(offset: int) -> int:
    return Mixed.forward.__code__.co_firstlineno + offset


@pytest.fixture(scope="module")
def program():
    return export(Mixed(), (A, A.clone()))


def test_every_multiply_of_the_model_is_listed_and_no_other(program) -> None:
    multiplies = report_of(to_espnn_edge(program, use_operator_library=True)).multiplies
    # The hard-swish's own multiply, made by a decomposition, is not the model's.
    assert [(m.line, m.reason, m.quantized) for m in multiplies] == [
        (line(2), None, True),
        (line(3), Reason.INPUT_NOT_QUANTIZED, True),
        (line(5), Reason.NOT_QUANTIZED, False),
    ]
    first = multiplies[0]
    assert first.shapes == ((4, 6), (4, 6))
    assert first.inputs == (QParams(*X), QParams(*Y))
    assert first.output == QParams(*OUT)
    assert first.emitted == "esp_nn::quantized_mul_int8"
    assert f"test_report.py:{line(2)} -> esp_nn::quantized_mul_int8" in str(first)
    assert f"test_report.py:{line(3)}: input-not-quantized (" in str(multiplies[1])
    a, b, out = (f"{scale:.6g}@{zero_point}" for scale, zero_point in (X, Y, OUT))
    assert str(first).endswith(f", qparams {a} x {b} -> {out}")
    assert str(multiplies[1]).endswith(f", qparams {a} x none -> {out}")
    assert "qparams" not in str(multiplies[2])


def test_json(program) -> None:
    report = report_of(to_espnn_edge(program, use_operator_library=True))
    data = json.loads(json.dumps(report.to_json()))
    assert (data["route"], data["lowered"], data["portable"]) == ("operator-library", 1, 2)
    first, second, _ = data["multiplies"]
    assert first["output"] == {"scale": OUT[0], "zero_point": OUT[1]}
    assert first["reason"] is None and second["reason"] == "input-not-quantized"
    assert second["emitted"] is None


@pytest.mark.parametrize("use_operator_library", [True, False])
def test_strict_lists_the_quantized_multiplies_that_stayed(program, use_operator_library) -> None:
    with pytest.raises(StrictError) as error:
        to_espnn_edge(program, use_operator_library=use_operator_library, strict=True)
    assert isinstance(error.value, BenchError)
    text = str(error.value)
    assert text.startswith("strict: 1 quantized multiply was not lowered:\n")
    assert f"test_report.py:{line(3)}" in text
    # What was never quantized is not the exporter's to lower.
    assert f"test_report.py:{line(5)}" not in text


def test_portable_route_lists_what_could_be_lowered(program) -> None:
    _, report = lower_multiplies(to_portable_edge(program), "portable", strict=False)
    assert [m.reason for m in report.multiplies] == [
        Reason.PORTABLE_ROUTE,
        Reason.INPUT_NOT_QUANTIZED,
        Reason.NOT_QUANTIZED,
    ]
    assert report.summary() == "portable: 0 of 3 multiplies lowered"


def test_every_reason_has_a_sentence_and_a_plain_name() -> None:
    for reason in Reason:
        assert reason.sentence
        assert reason.value == reason.value.lower() and " " not in reason.value


def test_report_is_the_entry_points_own(program) -> None:
    edge = to_espnn_edge(program, use_operator_library=True).transform([])
    with pytest.raises(BenchError, match="before transform"):
        report_of(edge)
