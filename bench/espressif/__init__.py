"""The exporter: int8 multiplies of PyTorch models to ESP-NN, for ExecuTorch.

Everything here is imported on first use: torch and executorch take seconds, and the model loader
(``bench.espressif.models``) must not wait for them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bench.espressif.backend import EspNNBackend, EspNNPartitioner
    from bench.espressif.edge import report_of, to_espnn_edge
    from bench.espressif.export import (
        ExportResult,
        TensorInfo,
        export_model,
        export_quantized,
        quantize_model,
    )
    from bench.espressif.passes import AtenToEspPass, EspPassManager
    from bench.espressif.quantizer import EspNNQuantizer
    from bench.espressif.reasons import Reason
    from bench.espressif.report import Multiply, Report, StrictError
    from bench.espressif.tester import EspTester

_HOMES = {
    "AtenToEspPass": "passes",
    "EspNNBackend": "backend",
    "EspNNPartitioner": "backend",
    "EspNNQuantizer": "quantizer",
    "EspPassManager": "passes",
    "EspTester": "tester",
    "ExportResult": "export",
    "Multiply": "report",
    "Reason": "reasons",
    "Report": "report",
    "StrictError": "report",
    "TensorInfo": "export",
    "export_model": "export",
    "export_quantized": "export",
    "quantize_model": "export",
    "report_of": "edge",
    "to_espnn_edge": "edge",
}

__all__ = [
    "AtenToEspPass",
    "EspNNBackend",
    "EspNNPartitioner",
    "EspNNQuantizer",
    "EspPassManager",
    "EspTester",
    "ExportResult",
    "Multiply",
    "Reason",
    "Report",
    "StrictError",
    "TensorInfo",
    "export_model",
    "export_quantized",
    "quantize_model",
    "report_of",
    "to_espnn_edge",
]


def __getattr__(name: str) -> Any:
    """Import the module a public name lives in."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    """Name what is imported on first use too."""
    return sorted({*globals(), *__all__})
