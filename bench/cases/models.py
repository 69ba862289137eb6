"""Program cases from the files in models/: export each by each route, compute the references."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bench.cases.program import Array, ProgramCase, Reference, Route
from bench.cases.runtime import Runtime, RuntimeDied
from bench.errors import BenchError
from bench.espressif.models import Model, find_model, list_models, load_model

if TYPE_CHECKING:
    from bench.espressif.export import ExportResult

__all__ = ["find_model", "list_models", "program_cases"]

# How many of a model's calibration inputs are run, and how many random sets beside them.
_CALIBRATION_SETS = 3
_RANDOM_SETS = 3

# A program of nothing else computes in integers alone, so it must equal eager execution exactly.
_EXACT_OPERATORS = {"esp_nn::quantized_mul_int8.out"}


def program_cases(
    name_or_path: str, routes: Sequence[Route], runtime: Runtime
) -> list[ProgramCase]:
    """Export a model by some routes and compute what each program should give.

    Args:
        name_or_path: A model in models/, or the path of a model file.
        routes: Some of ``bench.cases.program.ROUTES``.
        runtime: The host reference, with the firmware's kernels.

    Raises:
        BenchError: There is no such model, or it cannot be exported.
    """
    from bench.espressif.edge import to_portable_edge
    from bench.espressif.export import export_quantized, quantize_model

    model = load_model(name_or_path)
    quantized = quantize_model(model.module, model.example_inputs, model.calibration)
    edge = to_portable_edge(quantized)
    # torch.export's own program does not list what it writes in place.
    if state := edge.exported_program().graph_signature.buffers_to_mutate:
        raise BenchError(
            f"{model.path}: the model changes its buffer {', '.join(state.values())} when it runs; "
            "a case must give the same each time, so make that an input and an output"
        )
    portable = export_quantized(quantized, model.example_inputs, "portable", portable_edge=edge)
    inputs = _input_sets(model, portable)
    on_portable = runtime.run(portable.pte, inputs)
    # Float32 operators of two implementations may round a near tie either way, and what follows
    # may amplify it. How far shows in the portable program, where no kernel of ours takes part.
    float32 = max(1, _largest_difference(_eager(portable, inputs), on_portable))
    cases = []
    for route in routes:
        exported, outputs, crash = portable, on_portable, None
        if route != "portable":
            exported = export_quantized(quantized, model.example_inputs, route, portable_edge=edge)
            try:
                outputs = runtime.run(exported.pte, inputs)
            except RuntimeDied as error:
                crash = str(error)
        exact = set(exported.operators) <= _EXACT_OPERATORS
        # Float outputs are shown, not judged: LSB are no measure of them.
        quantized_out = all(info.dtype == "int8" for info in exported.outputs)
        allowed = 0 if exact else float32 if quantized_out else None
        references = [Reference("eager", _eager(exported, inputs), allowed)]
        if crash is None:
            references.insert(0, Reference("runtime", outputs, 0))
        if route != "portable":
            # The board's own portable program is held to equal the runtime's, so this one will do.
            # Each multiply may differ by one LSB; in a chain the next one may amplify it.
            single = exact and len(exported.report.multiplies) == 1
            references.append(Reference("portable", on_portable, 1 if single else None))
        cases.append(_case(model, exported, inputs, references, crash))
    return cases


def _eager(exported: ExportResult, inputs: Sequence[Sequence[Array]]) -> list[list[Array]]:
    return [exported.reference(arrays) for arrays in inputs]


def _largest_difference(a: Sequence[Sequence[Array]], b: Sequence[Sequence[Array]]) -> int:
    """Return the largest difference between int8 outputs, in LSB."""
    differences = [
        int(np.abs(left.astype(np.int64) - right.astype(np.int64)).max(initial=0))
        for lefts, rights in zip(a, b, strict=True)
        for left, right in zip(lefts, rights, strict=True)
        if left.dtype == np.int8
    ]
    return max(differences, default=0)


def _input_sets(model: Model, exported: ExportResult) -> list[tuple[Array, ...]]:
    """Return calibration inputs as the program takes them, then random ones over all of int8."""
    sets = [exported.as_taken(sample) for sample in model.calibration[:_CALIBRATION_SETS]]
    rng = np.random.default_rng(zlib.crc32(model.name.encode()))
    if all(info.dtype == "int8" for info in exported.inputs):
        sets += [
            tuple(rng.integers(-128, 128, info.shape, np.int8) for info in exported.inputs)
            for _ in range(_RANDOM_SETS)
        ]
    return sets


def _case(
    model: Model,
    exported: ExportResult,
    inputs: Sequence[Sequence[Array]],
    references: Sequence[Reference],
    crash: str | None,
) -> ProgramCase:
    report = exported.report
    calls = len(report.lowered)
    complaint = crash
    counts = {"lowered": calls, "portable": len(report.portable)}
    if model.expect and exported.route != "portable" and counts != model.expect:
        complaint = f"its multiplies are {counts}, {model.path.name} expects {model.expect}"
    return ProgramCase(
        model=model.name,
        route=exported.route,
        pte=exported.pte,
        inputs=inputs,
        references=references,
        native_calls=calls if exported.route == "operator-library" else 0,
        delegate_calls=exported.delegate_calls,
        complaint=complaint,
        facts={
            "lowered": calls,
            "lowered_text": f"{calls} of {len(report.multiplies)}",
            "report": report.to_json(),
            "operators": exported.operators,
            "calls": sum(exported.operators.values()) + exported.delegate_calls,
        },
    )
