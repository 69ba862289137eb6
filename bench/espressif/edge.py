"""The entry point: from exported programs to Edge programs with ESP-NN in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import executorch.kernels.quantized  # noqa: F401  out variants for to_executorch
from executorch.exir import EdgeCompileConfig, EdgeProgramManager, to_edge
from torch.export import ExportedProgram
from torch.fx import Node

from bench.errors import BenchError, first_line
from bench.espressif.backend import EspNNBackend, EspNNPartitioner
from bench.espressif.graph import nested_graphs, source_line
from bench.espressif.multiply import Decision
from bench.espressif.passes import AtenToEspPass, EspPassManager, decide_all
from bench.espressif.reasons import Reason
from bench.espressif.report import Multiply, Report, Route

_EMITTED = {"operator-library": "esp_nn::quantized_mul_int8", "delegate": EspNNBackend.__name__}


def to_espnn_edge(
    programs: ExportedProgram | Mapping[str, ExportedProgram],
    *,
    use_operator_library: bool = False,
    strict: bool = False,
    constant_methods: dict[str, Any] | None = None,
    compile_config: EdgeCompileConfig | None = None,
    generate_etrecord: bool = False,
) -> EdgeProgramManager:
    """Bring quantized programs to the Edge dialect and lower their int8 multiplies.

    What cannot be lowered safely keeps its portable operators; ``report_of`` says what and why.

    Args:
        programs: A program of ``torch.export.export``, or one for each method name.
        use_operator_library: Emit ``esp_nn`` operators, rather than delegates to EspNNBackend.
        strict: Make it an error if a quantized multiply is not lowered.
        constant_methods: Passed to ``executorch.exir.to_edge``.
        compile_config: Passed to ``executorch.exir.to_edge``.
        generate_etrecord: Passed to ``executorch.exir.to_edge``.

    Raises:
        StrictError: ``strict``, and a quantized multiply was not lowered.
        BenchError: The program is not valid in the Edge dialect.
    """
    route: Route = "operator-library" if use_operator_library else "delegate"
    edge = to_portable_edge(
        programs,
        constant_methods=constant_methods,
        compile_config=compile_config,
        generate_etrecord=generate_etrecord,
    )
    edge, report = lower_multiplies(edge, route, strict=strict)
    if route == "delegate":
        edge = to_delegates(edge)
    edge._espnn_report = report
    return edge


def report_of(edge: EdgeProgramManager) -> Report:
    """Return what became of each multiply.

    Raises:
        BenchError: The manager is not the one that ``to_espnn_edge`` returned.
    """
    report = getattr(edge, "_espnn_report", None)
    if not isinstance(report, Report):
        raise BenchError(
            "no lowering report: ask for it on what to_espnn_edge returned, before transform()"
        )
    return report


def to_portable_edge(
    programs: ExportedProgram | Mapping[str, ExportedProgram],
    *,
    constant_methods: dict[str, Any] | None = None,
    compile_config: EdgeCompileConfig | None = None,
    generate_etrecord: bool = False,
) -> EdgeProgramManager:
    """Bring programs to the Edge dialect and lower nothing.

    Raises:
        BenchError: What was given is no exported program, or not valid in the Edge dialect.
    """
    methods = dict(programs) if isinstance(programs, Mapping) else {"forward": programs}
    for name, program in methods.items():
        if not isinstance(program, ExportedProgram):
            raise BenchError(
                f"method {name!r} is a {type(program).__name__}, not an ExportedProgram: "
                "export the model with torch.export.export first"
            )
    if not methods:
        raise BenchError("no method to export: give an ExportedProgram or a dict of them")
    try:
        return to_edge(
            methods,
            constant_methods=constant_methods,
            compile_config=compile_config,
            generate_etrecord=generate_etrecord,
        )
    except Exception as error:
        # The passes in there raise whatever they trip over: AssertionError, RuntimeError and more.
        raise BenchError(
            f"the program is not valid in the Edge dialect: {first_line(error)}"
        ) from error


def lower_multiplies(
    edge: EdgeProgramManager, route: Route, *, strict: bool
) -> tuple[EdgeProgramManager, Report]:
    """Lower what may be lowered to the operator library, or nothing in the portable route.

    Raises:
        StrictError: ``strict``, and a quantized multiply was not lowered.
    """
    names = sorted(edge.methods)
    methods = {
        graph: name
        for name in names
        for program in [edge.exported_program(name)]
        for graph in (program.graph, *nested_graphs(program))
    }
    if route == "portable":
        decisions = [d for name in names for d in decide_all(edge.exported_program(name))]
    else:
        manager = EspPassManager()
        edge = edge.transform(manager)
        decisions = manager.decisions
    multiplies = [
        _multiply(methods[decision.node.graph], decision, _EMITTED.get(route))
        for decision in decisions
        if decision.lowering is not None or _is_original(decision.node)
    ]
    report = Report(route, sorted(multiplies, key=lambda multiply: multiply.method))
    if strict:
        report.check_strict()
    return edge, report


def to_delegates(edge: EdgeProgramManager) -> EdgeProgramManager:
    """Move the operators of the operator library into delegates to EspNNBackend."""
    return edge.to_backend(EspNNPartitioner())


def _is_original(node: Node) -> bool:
    """Tell an operator of the user's model from one that a decomposition (a hard-swish) made."""
    schema = getattr(node.meta.get("original_aten"), "_schema", None)
    ours = {operator._schema.name for operator in AtenToEspPass.rules}
    return schema is None or schema.name.rstrip("_") in ours


def _multiply(method: str, decision: Decision, emitted: str | None) -> Multiply:
    node = decision.node
    reason, detail = decision.reason, decision.detail
    if decision.lowering is not None and emitted is None:
        reason, detail = Reason.PORTABLE_ROUTE, Reason.PORTABLE_ROUTE.sentence
    params = decision.lowering.params if decision.lowering is not None and emitted else None
    file, line = source_line(node) or (None, None)
    return Multiply(
        method=method,
        name=node.name,
        operator=node.target._schema.name.split("::")[1],
        shapes=decision.shapes,
        quantized=decision.quantized,
        emitted=emitted if decision.lowering is not None else None,
        reason=reason,
        detail=detail,
        inputs=decision.inputs,
        output=decision.output,
        multiplier=params.multiplier if params else None,
        shift=params.shift if params else None,
        constant=decision.constant,
        file=file,
        line=line,
    )
