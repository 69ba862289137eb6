"""Lowering of Edge programs to the operator library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from executorch.exir._program_utils import _get_updated_graph_signature
from executorch.exir.dialects._ops import ops as exir_ops
from executorch.exir.pass_base import ExportedProgramPassBase, ExportedProgramPassResult
from executorch.exir.pass_manager import ExportedProgramPassManager
from torch.export import ExportedProgram
from torch.fx import Node

from bench.espressif import operators  # noqa: F401  defines the esp_nn operators
from bench.espressif.graph import (
    add_constant,
    erase_unused,
    nested_graphs,
    own_constants,
    tensor_of,
)
from bench.espressif.multiply import (
    DIVISIONS,
    EDGE_MUL,
    EDGE_MUL_SCALAR,
    Decision,
    decide_multiply,
    decide_nested,
    scalar_constant,
)

EDGE_MUL_INT8 = exir_ops.edge.esp_nn.quantized_mul_int8.default


@dataclass(frozen=True)
class Replacement:
    """A node of the operator library in place of one of the graph.

    Attributes:
        replaced: The output quantizer whose uses take the new node's result.
        operator: Edge operator of the new node.
        args: Its arguments; a tensor becomes a constant of the program.
    """

    replaced: Node
    operator: object
    args: tuple[Node | torch.Tensor | int, ...]


Outcome = tuple[Decision | None, Replacement | None]
Rule = Callable[[Node, ExportedProgram], Outcome]


class AtenToEspPass(ExportedProgramPassBase):  # type: ignore[misc]
    """Replaces quantized operators by the operator library's, one function an operator.

    A function registered for an operator reads the quantizers and dequantizers around a node,
    decides, and returns its decision (for the report; None if the report has no place for it) and
    what replaces the pattern (None if it stays as it is).

    All uses of the output quantizer take the new node's result; the node and its dequantizers stay
    for whoever else uses them; only what is left without a use is erased.
    """

    rules: ClassVar[dict[Any, Rule]] = {}

    def __init__(self) -> None:
        """Create the pass; every decision it makes is appended to ``decisions``."""
        super().__init__()
        self.decisions: list[Decision] = []

    @classmethod
    def register(cls, *overloads: object) -> Callable[[Rule], Rule]:
        """Return a decorator that makes a function the rule for overloads of an Edge operator."""

        def decorator(rule: Rule) -> Rule:
            cls.rules.update(dict.fromkeys(overloads, rule))
            return rule

        return decorator

    def call(self, exported_program: ExportedProgram) -> ExportedProgramPassResult:
        """Run every rule over the program, in graph order."""
        modified = False
        own_constants(exported_program)
        for node in list(exported_program.graph.nodes):
            rule = self.rules.get(node.target)
            if rule is None or node._erased:
                continue
            decision, replacement = rule(node, exported_program)
            if decision is not None:
                self.decisions.append(decision)
            if replacement is not None:
                self._replace(node, replacement, exported_program)
                modified = True
        self.decisions += _decide_nested(exported_program)
        if modified:
            # A quantizer that was an output of the program has another name now.
            exported_program._graph_signature = _get_updated_graph_signature(
                exported_program.graph_signature, exported_program.graph_module
            )
        return ExportedProgramPassResult(exported_program, modified)

    @staticmethod
    def _replace(node: Node, replacement: Replacement, program: ExportedProgram) -> None:
        replaced = replacement.replaced
        args = [
            _constant(program, arg) if isinstance(arg, torch.Tensor) else arg
            for arg in replacement.args
        ]
        graph = program.graph
        with graph.inserting_before(replaced):
            new = graph.call_function(replacement.operator, tuple(args))
        # The quantizer's value and debug handle are the new node's; the source line is the
        # multiply's, which a quantizer written by hand or inserted by a tool may not have.
        new.meta = dict(replaced.meta)
        if "stack_trace" in node.meta:
            new.meta["stack_trace"] = node.meta["stack_trace"]
        replaced.replace_all_uses_with(new)
        erase_unused([replaced], program)


@AtenToEspPass.register(EDGE_MUL, EDGE_MUL_SCALAR)
def _mul(node: Node, program: ExportedProgram) -> Outcome:
    decision = decide_multiply(node, program)
    if decision.lowering is None:
        return decision, None
    first, second = decision.lowering.operands
    params = decision.lowering.params
    args = (
        first.value,
        params.z1,
        second.value,
        params.z2,
        params.zo,
        params.multiplier,
        params.shift,
    )
    return decision, Replacement(decision.lowering.quantizer, EDGE_MUL_INT8, args)


@AtenToEspPass.register(*DIVISIONS)
def _div(node: Node, program: ExportedProgram) -> Outcome:
    if _is_rounded(node) or scalar_constant(node.args[1], program) is None:
        return None, None
    return _mul(node, program)


class EspPassManager(ExportedProgramPassManager):  # type: ignore[misc]
    """Runs the passes of the operator library over an Edge program.

    ``EdgeProgramManager.transform`` takes it, and ``transform`` runs it over the program it was
    made with. ``decisions`` holds what was decided about each multiply, program by program; those
    in branches and loops come after the others.
    """

    pass_list: ClassVar[list[type[ExportedProgramPassBase]]] = [AtenToEspPass]

    def __init__(
        self,
        exported_program: ExportedProgram | None = None,
        passes: Sequence[type[ExportedProgramPassBase]] | None = None,
    ) -> None:
        """Create the passes, those of ``pass_list`` by default."""
        instances = [cls() for cls in (self.pass_list if passes is None else passes)]
        super().__init__(instances)
        self.exported_program = exported_program
        self.decisions: list[Decision] = []
        for instance in instances:
            if isinstance(instance, AtenToEspPass):
                instance.decisions = self.decisions

    def transform(self) -> ExportedProgram:
        """Return the lowered program.

        Raises:
            ValueError: The manager was made without a program.
        """
        if self.exported_program is None:
            raise ValueError("EspPassManager.transform() needs an exported program")
        return self(self.exported_program).exported_program


def decide_all(program: ExportedProgram) -> list[Decision]:
    """Return the decisions of every rule without changing the program."""
    decisions = (
        rule(node, program)[0]
        for node in program.graph.nodes
        if (rule := AtenToEspPass.rules.get(node.target))
    )
    at_top = [decision for decision in decisions if decision is not None]
    return at_top + _decide_nested(program)


def _decide_nested(program: ExportedProgram) -> list[Decision]:
    nodes = (node for graph in nested_graphs(program) for node in graph.nodes)
    return [
        decide_nested(node)
        for node in nodes
        if node.target in AtenToEspPass.rules
        and (node.target not in DIVISIONS or _divides_by_scalar(node))
    ]


def _divides_by_scalar(node: Node) -> bool:
    """Tell a division in a branch that is a multiply."""
    # There a constant of the program is an operand like any other: only its rank tells.
    divisor = node.args[1]
    fake = tensor_of(divisor) if isinstance(divisor, Node) else None
    return not _is_rounded(node) and (fake is None or fake.dim() == 0)


def _is_rounded(division: Node) -> bool:
    return division.kwargs.get("rounding_mode") is not None


def _constant(program: ExportedProgram, value: torch.Tensor) -> Node:
    """Return the constant of these values, made once for all its uses."""
    for node in program.graph.nodes:
        if node.op != "placeholder":
            break
        known = node.meta.get("espnn_constant")
        if known is not None and known.shape == value.shape and torch.equal(known, value):
            return node
    node = add_constant(program, "b_espnn_constant", value)
    node.meta["espnn_constant"] = value
    return node
