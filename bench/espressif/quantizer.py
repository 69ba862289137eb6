"""The PT2E quantizer: int8 activations around every multiply and its usual neighbours."""

from __future__ import annotations

import torch
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e import MinMaxObserver
from torchao.quantization.pt2e.quantizer import (
    QuantizationAnnotation,
    QuantizationSpec,
    Quantizer,
)

from bench.espressif.activations import multiply_out_activations

_aten = torch.ops.aten

_OVERLOADS = ("Tensor", "Scalar")
_MULTIPLIES = {
    getattr(getattr(_aten, name), overload)
    for name in ("mul", "mul_", "multiply", "multiply_")
    for overload in _OVERLOADS
}
# Divisions by a scalar are multiplies too; a quantized divisor that varies would soon be zero.
_DIVISIONS = {
    getattr(getattr(_aten, name), overload)
    for name in ("div", "div_", "divide", "divide_", "true_divide", "true_divide_")
    for overload in _OVERLOADS
}
# What usually stands beside a multiply: quantized too, a network's values stay int8 throughout.
_NEIGHBOURS = {
    _aten.add.Tensor,
    _aten.add_.Tensor,
    _aten.adaptive_avg_pool2d.default,
    _aten.conv1d.default,
    _aten.conv2d.default,
    _aten.hardsigmoid.default,
    _aten.hardsigmoid_.default,
    _aten.linear.default,
    _aten.mean.dim,
    _aten.relu.default,
    _aten.relu_.default,
    _aten.sigmoid.default,
    _aten.sigmoid_.default,
    _aten.slice.Tensor,
    _aten.tanh.default,
}
# Parts of a constant as torch.export writes it down.
_CONSTANT_PARTS = {
    _aten.lift_fresh_copy.default,
    _aten.detach_.default,
    _aten.detach.default,
    _aten.clone.default,
}

_ACTIVATION = QuantizationSpec(
    dtype=torch.int8,
    observer_or_fake_quant_ctr=MinMaxObserver,
    quant_min=-128,
    quant_max=127,
    qscheme=torch.per_tensor_affine,
)


class EspNNQuantizer(Quantizer):  # type: ignore[misc]
    """Annotates a model for ``prepare_pt2e``: the same for every route.

    Both inputs and the output of a multiply have scales and zero points of their own, over the
    full range [-128, 127]. Scalars are not quantized: the exporter represents them exactly.
    Weights and biases stay float32; so do values that are not float32 to begin with.
    """

    def transform_for_annotation(self, model: GraphModule) -> GraphModule:
        """Bring out the multiplies inside hard-swish, SiLU and GLU."""
        return multiply_out_activations(model)

    def annotate(self, model: GraphModule) -> GraphModule:
        """Annotate every multiply and its neighbours."""
        for node in model.graph.nodes:
            if not _wants_annotation(node):
                continue
            of_multiply = node.target not in _NEIGHBOURS
            inputs = [
                source
                for source in node.all_input_nodes
                if _is_float32(source) and _is_observed(source, of_multiply)
            ]
            node.meta["quantization_annotation"] = QuantizationAnnotation(
                input_qspec_map=dict.fromkeys(inputs, _ACTIVATION),
                output_qspec=_ACTIVATION,
                _annotated=True,
            )
        return model

    def validate(self, model: GraphModule) -> None:
        """Accept every annotated model: there is nothing an annotation of ours can break."""


def _wants_annotation(node: Node) -> bool:
    if node.target in _DIVISIONS:
        divisor = node.args[1]
        if isinstance(divisor, Node) and _is_observed(divisor, of_multiply=True):
            return False
    elif node.target not in _MULTIPLIES | _NEIGHBOURS:
        return False
    return _is_float32(node)


def _is_float32(node: Node) -> bool:
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.dtype == torch.float32


def _is_observed(source: Node, of_multiply: bool) -> bool:
    """Activations are observed, and tensor constants of multiplies; weights and scalars are not."""
    origin = source
    while origin.target in _CONSTANT_PARTS:
        origin = origin.all_input_nodes[0]
    if origin.op != "get_attr":
        return True
    return of_multiply and source.meta["val"].dim() > 0
