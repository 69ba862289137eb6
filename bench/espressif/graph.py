"""Reading and changing Edge graphs: constants, call arguments, source lines."""

from __future__ import annotations

import itertools
import os
import re
from typing import Any

import torch
from executorch.backends.transforms.utils import (
    create_constant_placeholder,
    delete_constant_placeholder,
    get_param_tensor,
    is_param_node,
)
from executorch.exir.dialects._ops import ops as exir_ops
from torch._subclasses import FakeTensor
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx import Graph, GraphModule, Node

# Operators between a constant and its use that only copy or convert it.
_COPIES = {
    exir_ops.edge.dim_order_ops._to_dim_order_copy.default,
    exir_ops.edge.dim_order_ops._clone_dim_order.default,
    exir_ops.edge.aten._to_copy.default,
    exir_ops.edge.aten.clone.default,
}
_TORCH = os.path.dirname(torch.__file__) + os.sep
_FRAME = re.compile(r'File "([^"]+)", line (\d+)')


def arguments(node: Node) -> dict[str, Any]:
    """Return a call's arguments by the names of its schema, positional or not."""
    schema = node.target._schema
    named = {
        argument.name: value for argument, value in zip(schema.arguments, node.args, strict=False)
    }
    return {**named, **node.kwargs}


def tensor_of(node: Node) -> torch.Tensor | None:
    """Return the fake tensor a node yields, or None if it yields something else."""
    value = node.meta.get("val")
    return value if isinstance(value, torch.Tensor) else None


def constant_value(node: Node, program: ExportedProgram) -> torch.Tensor | None:
    """Return the value of a node that is the same in every run, else None.

    Parameters, buffers that nothing writes to, lifted constants and filled tensors are
    constants, and so are copies and conversions of them. The value must be known, which it is not
    in the programs that partitioners are given.
    """
    value = _constant_value(node, program)
    return None if isinstance(value, FakeTensor) else value


def _constant_value(node: Node, program: ExportedProgram) -> torch.Tensor | None:
    if node.op == "placeholder":
        if not is_param_node(program, node):
            return None
        signature = program.graph_signature
        if signature.inputs_to_buffers.get(node.name) in signature.buffers_to_mutate.values():
            return None
        value = get_param_tensor(program, node)
        return None if value is None else value.detach()
    fake = tensor_of(node)
    if node.op != "call_function" or fake is None:
        return None
    if node.target in _COPIES:
        source = node.args[0]
        value = _constant_value(source, program) if isinstance(source, Node) else None
        return None if value is None else value.to(fake.dtype)
    if node.target == exir_ops.edge.aten.full.default and is_static(fake):
        fill = arguments(node)["fill_value"]
        return torch.full(tuple(fake.shape), fill, dtype=fake.dtype)
    return None


def is_static(tensor: torch.Tensor) -> bool:
    """Tell whether every dimension is a plain number."""
    return all(isinstance(size, int) for size in tensor.shape)


def nested_graphs(program: ExportedProgram) -> list[Graph]:
    """Return the graphs of the program's branches and loops."""
    root = program.graph_module
    return [m.graph for m in root.modules() if isinstance(m, GraphModule) and m is not root]


def source_line(node: Node) -> tuple[str, int] | None:
    """Return file and line of the code that made the node: the innermost frame outside torch."""
    frames = _FRAME.findall(node.meta.get("stack_trace") or "")
    if not frames:
        return None
    own = [frame for frame in frames if not frame[0].startswith((_TORCH, "<"))]
    file, line = (own or frames)[-1]
    return file, int(line)


def own_constants(program: ExportedProgram) -> None:
    """Give a program tables of constants of its own: Edge programs share the caller's."""
    program._constants = dict(program.constants)
    program._state_dict = dict(program.state_dict)


def add_constant(program: ExportedProgram, stem: str, value: torch.Tensor) -> Node:
    """Return a placeholder that holds ``value``, a new one in front of the others.

    Its name is the stem and the first number that makes it new.
    """
    graph = program.graph_module.graph
    taken = {*program.state_dict, *program.constants, *(node.name for node in graph.nodes)}
    name = next(name for i in itertools.count() if (name := f"{stem}_{i}") not in taken)
    first = next(iter(graph.nodes))
    with graph.inserting_before(first):
        return create_constant_placeholder(
            program, graph, name, InputKind.BUFFER, value, persistent_buffer=True
        )


def erase_unused(nodes: list[Node], program: ExportedProgram) -> None:
    """Erase the nodes that nothing uses, and what only they used, constants included.

    Nothing else is touched: what was unused before stays.
    """
    pending = list(nodes)
    erased: set[Node] = set()
    while pending:
        node = pending.pop()
        if node.users or node in erased:
            continue
        if node.op == "placeholder":
            if constant_value(node, program) is not None:
                delete_constant_placeholder(program, node)
                erased.add(node)
            continue
        pending += node.all_input_nodes
        node.graph.erase_node(node)
        erased.add(node)
