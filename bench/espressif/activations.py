"""Gated activations as the multiplies they are, so that these get quantizers of their own."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import GraphModule, Node

_aten = torch.ops.aten


def multiply_out_activations(model: GraphModule) -> GraphModule:
    """Replace hard-swish, SiLU and GLU by a gate and an equal-shape multiply.

    ``hardswish(x) = x * hardsigmoid(x)``, ``silu(x) = x * sigmoid(x)``,
    ``glu(x) = a * sigmoid(b)`` with the halves a and b of x.
    """
    rules = {
        _aten.hardswish.default: _hardswish,
        _aten.hardswish_.default: _hardswish,
        _aten.silu.default: _silu,
        _aten.silu_.default: _silu,
        _aten.glu.default: _glu,
    }
    for node in list(model.graph.nodes):
        rule = rules.get(node.target)
        if rule is None:
            continue
        with model.graph.inserting_before(node):
            product = rule(node)
        node.replace_all_uses_with(product)
        model.graph.erase_node(node)
    model.recompile()
    return model


def _hardswish(node: Node) -> Node:
    x = node.args[0]
    return _call(node, _aten.mul.Tensor, x, _call(node, _aten.hardsigmoid.default, x))


def _silu(node: Node) -> Node:
    x = node.args[0]
    return _call(node, _aten.mul.Tensor, x, _call(node, _aten.sigmoid.default, x))


def _glu(node: Node) -> Node:
    x, dim = node.args[0], node.args[1] if len(node.args) > 1 else -1
    assert isinstance(x, Node)
    half = x.meta["val"].shape[dim] // 2
    a = _call(node, _aten.slice.Tensor, x, dim, 0, half)
    b = _call(node, _aten.slice.Tensor, x, dim, half, 2 * half)
    return _call(node, _aten.mul.Tensor, a, _call(node, _aten.sigmoid.default, b))


def _call(origin: Node, operator: Any, *args: Any) -> Node:
    """Insert a call that carries the source line and scope of the node it comes from."""
    call = origin.graph.call_function(operator, args)
    call.meta = {key: value for key, value in origin.meta.items() if key != "val"}
    fakes = [arg.meta["val"] if isinstance(arg, Node) else arg for arg in args]
    call.meta["val"] = operator(*fakes)
    return call
