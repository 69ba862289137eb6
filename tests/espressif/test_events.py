"""Runtime events lead back to the source line of the multiply."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest
import torch
from torch.export import export

from bench.espressif import EspNNQuantizer, export_model, to_espnn_edge
from bench.espressif.models import load_model
from bench.espressif.testing.cases import OUT, X, dequantize, quantize


class Two(torch.nn.Module):
    def forward(self, x, y):
        first = dequantize(quantize(dequantize(x, *X) * dequantize(y, *X), *OUT), *OUT)
        bent = dequantize(quantize(torch.relu(first), *OUT), *OUT)
        return quantize(bent * first, *OUT)


def lines(offsets: list[int]) -> list[int]:
    start = inspect.getsourcelines(Two.forward)[1]
    return [start + offset for offset in offsets]


@pytest.mark.parametrize("use_operator_library, event_name", [
    (True, "esp_nn::quantized_mul_int8.out"),
    (False, "DELEGATE_CALL"),
])  # fmt: skip
def test_events_map_to_source_lines(
    run_pte, tmp_path: Path, use_operator_library: bool, event_name: str
) -> None:
    from executorch.devtools import Inspector
    from executorch.extension.pybindings import portable_lib

    x = torch.arange(-8, 8, dtype=torch.int8)
    edge = to_espnn_edge(
        export(Two(), (x, x.clone())),
        use_operator_library=use_operator_library,
        generate_etrecord=True,
    )
    program = edge.to_executorch()
    program.get_etrecord().save(str(tmp_path / "etrecord.bin"))
    loaded = portable_lib._load_for_executorch_from_buffer(program.buffer, enable_etdump=True)
    loaded.run_method("forward", (x, x))
    loaded.write_etdump_result_to_file(str(tmp_path / "etdump.etdp"))
    inspector = Inspector(
        etdump_path=str(tmp_path / "etdump.etdp"), etrecord=str(tmp_path / "etrecord.bin")
    )
    events = [
        event
        for block in inspector.event_blocks
        for event in block.events
        if event.name == event_name
    ]
    assert len(events) == 2
    for event, line in zip(events, lines([1, 3]), strict=True):
        assert any(
            f'"{__file__}", line {line}' in trace for trace in event.stack_traces.values() if trace
        )


def test_quantized_models_keep_their_lines() -> None:
    model = load_model("chained_mul")
    exported = export_model(
        model.module, model.example_inputs, model.calibration, quantizer=EspNNQuantizer()
    )
    assert {multiply.file for multiply in exported.report.multiplies} == {str(model.path)}
    source = model.path.read_text().splitlines()
    for multiply in exported.report.multiplies:
        assert multiply.line is not None and "*" in source[multiply.line - 1]
