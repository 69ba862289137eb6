"""The multiply: when it may be lowered, and how. One decision for every route and the report.

A multiply is lowered if it is ``quantize(dequantize(x) * dequantize(y))`` with static, contiguous
int8 tensors of equal shape, constant per-tensor parameters over the full range [-128, 127], a
float32 pattern that cannot overflow and integer steps that cannot overflow either. One of the two
inputs may be a constant:

* A **tensor of equal shape** is quantized at export: by its own quantizer if it has one, else with
  parameters made from its own values.
* A **scalar** c (a number or a 0-d constant) is exact: an int8 factor of +1, -1 or 0 with scale
  ``|c|``. c is taken as the program has it, rounded to float32. The factor is stored as a tensor of
  zeros with zero point -1, +1 or 0, so that one tensor serves every scalar of that shape.
* A **division** by a scalar c is a multiply by ``1/c``, in double. It is lowered only if the Q31
  multiplier is the one that the quotient ``s1 / (|c| so)``, rounded to double once, gives.

The overflow checks take the full int8 range of both inputs, of constants too: they refuse a little
more than a constant's own values would need.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

import torch
from executorch.exir.dialects._ops import ops as exir_ops
from torch.export import ExportedProgram
from torch.fx import Node

from bench.espressif.graph import arguments, constant_value, is_static, tensor_of
from bench.espressif.reasons import Reason
from bench.numerics import (
    INT8_MAX,
    INT8_MIN,
    MulParams,
    QParams,
    float32_guard,
    native_bounds,
    quantize_multiplier,
)

EDGE_MUL = exir_ops.edge.aten.mul.Tensor
EDGE_MUL_SCALAR = exir_ops.edge.aten.mul.Scalar
EDGE_DIV = exir_ops.edge.aten.div.Tensor
EDGE_DIV_SCALAR = exir_ops.edge.aten.div.Scalar
# A division only without a rounding mode.
EDGE_DIV_MODE = exir_ops.edge.aten.div.Tensor_mode
EDGE_DIV_SCALAR_MODE = exir_ops.edge.aten.div.Scalar_mode
DIVISIONS = (EDGE_DIV, EDGE_DIV_SCALAR, EDGE_DIV_MODE, EDGE_DIV_SCALAR_MODE)
EDGE_QUANTIZE = exir_ops.edge.quantized_decomposed.quantize_per_tensor.default
EDGE_DEQUANTIZE = exir_ops.edge.quantized_decomposed.dequantize_per_tensor.default

# An input of a multiply in the graph: a node, or the number of a ``Scalar`` overload.
Source: TypeAlias = Node | float


@dataclass(frozen=True)
class Operand:
    """An int8 input of a lowered multiply.

    Attributes:
        qparams: Its quantization parameters.
        value: The node that yields it, or its values if the exporter makes the constant.
        note: What was done to make the constant, for the report.
    """

    qparams: QParams
    value: Node | torch.Tensor
    note: str = ""


@dataclass(frozen=True)
class Lowering:
    """How a multiply is lowered: the operator takes its output quantizer's place."""

    quantizer: Node
    operands: tuple[Operand, Operand]
    params: MulParams


@dataclass(frozen=True)
class Decision:
    """What becomes of a multiply: a lowering, or a reason against it.

    Attributes:
        node: The multiply, or division by a scalar constant.
        quantized: An input comes from a dequantizer or a quantizer takes its product.
        shapes: Shapes of its inputs, dynamic dimensions as text.
        inputs: Quantization parameters of its inputs, None where there are none.
        output: Quantization parameters of its output, None if there are none.
        constant: ``"scalar"`` or ``"tensor"`` if an input is a constant, else None.
        lowering: How it is lowered, or None.
        reason: Why it is not, or None.
        detail: The reason, or what was done, as a sentence.
    """

    node: Node
    quantized: bool
    shapes: tuple[tuple[int | str, ...], ...]
    inputs: tuple[QParams | None, ...]
    output: QParams | None
    constant: str | None
    lowering: Lowering | None = None
    reason: Reason | None = None
    detail: str = ""


class _Refusal(Exception):
    def __init__(self, reason: Reason, detail: str = "") -> None:
        super().__init__(reason, detail)
        self.reason = reason
        self.detail = detail or reason.sentence


def decide_multiply(node: Node, program: ExportedProgram) -> Decision:
    """Decide about an Edge ``aten.mul``, or an ``aten.div`` by a scalar constant."""
    sources = node.args[:2]
    quantizers = [user for user in node.users if _is_quantizer(user)]
    decision = replace(_described(node, quantizers), constant=_constant_kind(sources, program))
    try:
        lowering = _lower(decision, sources, quantizers, program)
    except _Refusal as refusal:
        return replace(decision, reason=refusal.reason, detail=refusal.detail)
    return replace(
        decision,
        inputs=tuple(operand.qparams for operand in lowering.operands),
        lowering=lowering,
        detail="; ".join(operand.note for operand in lowering.operands if operand.note),
    )


def decide_nested(node: Node) -> Decision:
    """Decide about a multiply or division in a branch or loop, where nothing is lowered."""
    quantizers = [user for user in node.users if _is_quantizer(user)]
    reason = Reason.CONTROL_FLOW
    return replace(_described(node, quantizers), reason=reason, detail=reason.sentence)


def _described(node: Node, quantizers: list[Node]) -> Decision:
    """Return what the graph says about a multiply, undecided."""
    sources = node.args[:2]
    return Decision(
        node,
        quantized=bool(quantizers) or any(_is_dequantizer(source) for source in sources),
        shapes=tuple(_shape(source) for source in sources),
        inputs=tuple(_peek_qparams(source) for source in sources),
        output=_peek_qparams(quantizers[0]) if quantizers else None,
        constant=None,
    )


def scalar_constant(source: Source, program: ExportedProgram) -> float | None:
    """Return the value of a number or 0-d constant, dequantized if need be, else None."""
    if isinstance(source, Node) and source.target == EDGE_DEQUANTIZE:
        stored = _stored_int8(source, program)
        if stored is None or stored.dim() != 0:
            return None
        args = arguments(source)
        return float((stored.float() - args["zero_point"]) * args["scale"])
    value = _constant(source, program)
    if value is None or value.dim() != 0:
        return None
    return float(value)


def _constant(source: Source, program: ExportedProgram) -> torch.Tensor | None:
    """Return the float value of a constant input, None if it is no constant."""
    if isinstance(source, Node):
        return constant_value(source, program)
    return torch.tensor(source, dtype=torch.float32)


def _lower(
    decision: Decision, sources: Sequence[Source], quantizers: list[Node], program: ExportedProgram
) -> Lowering:
    """Return how to lower the multiply.

    Raises:
        _Refusal: It must stay portable.
    """
    if not decision.quantized:
        raise _Refusal(Reason.NOT_QUANTIZED)
    dequantized = [source for source in sources if _is_dequantizer(source)]
    for source in sources:
        if source not in dequantized and _constant(source, program) is None:
            raise _Refusal(Reason.INPUT_NOT_QUANTIZED)
    if not dequantized:
        raise _Refusal(Reason.INPUT_NOT_QUANTIZED, "both inputs are unquantized constants")
    if not quantizers:
        raise _Refusal(Reason.NO_OUTPUT_QUANTIZER)
    if len(quantizers) > 1:
        raise _Refusal(
            Reason.SEVERAL_OUTPUT_QUANTIZERS, f"{len(quantizers)} quantizers take its product"
        )
    quantizer = quantizers[0]
    output = _read_qparams(quantizer)
    for source in dequantized:
        _read_qparams(source)

    shape = _check_product(decision.node, quantizer)
    if decision.node.target in DIVISIONS:
        operands = (
            _operand(sources[0], shape, program),
            _reciprocal(sources[1], shape, program),
        )
    else:
        operands = (_operand(sources[0], shape, program), _operand(sources[1], shape, program))

    q1, q2 = (operand.qparams for operand in operands)
    if overflow := float32_guard(q1, q2, output):
        raise _Refusal(Reason.FLOAT32_OVERFLOW, overflow)
    if any(_is_zero(operand) for operand in operands):
        # The product is zero whatever the scales, so nothing can be out of bounds.
        params = MulParams(q1.zero_point, q2.zero_point, output.zero_point, 0, 0)
    else:
        # Scales that are normal in float32 keep the rescale normal in double.
        params = MulParams.from_qparams(q1, q2, output)
    if out_of_bounds := native_bounds(params):
        raise _Refusal(Reason.SHIFT_OUT_OF_BOUNDS, out_of_bounds)
    if decision.node.target in DIVISIONS:
        divisor = scalar_constant(sources[1], program)
        assert divisor is not None
        quotient = Fraction(q1.scale) / (abs(Fraction(divisor)) * Fraction(output.scale))
        if quantize_multiplier(float(quotient)) != (params.multiplier, params.shift):
            raise _Refusal(Reason.INEXACT_RECIPROCAL)
    return Lowering(quantizer, operands, params)


def _operand(source: Source, shape: torch.Size, program: ExportedProgram) -> Operand:
    """Return an input of the multiply as int8 of the product's shape."""
    constant = _constant(source, program)
    if constant is not None:
        if constant.dim() == 0:
            return _scalar(float(constant), shape)
        _check_equal(constant.shape, shape)
        return _tensor_constant(constant)

    assert isinstance(source, Node)
    qparams = _read_qparams(source)
    stored = _stored_int8(source, program)
    int8 = source.all_input_nodes[0]
    if stored is not None and stored.dim() == 0 and shape != stored.shape:
        return Operand(qparams, stored.expand(shape).contiguous())
    fake = tensor_of(int8)
    assert fake is not None
    _check_equal(fake.shape, shape)
    if stored is not None and constant_value(int8, program) is None:
        return Operand(qparams, stored.contiguous())
    if not fake.is_contiguous():
        raise _Refusal(Reason.NOT_CONTIGUOUS, f"input {int8.name} has strides {fake.stride()}")
    return Operand(qparams, int8)


def _reciprocal(source: Source, shape: torch.Size, program: ExportedProgram) -> Operand:
    divisor = scalar_constant(source, program)
    assert divisor is not None
    if divisor == 0:
        raise _Refusal(Reason.DIVISION_BY_ZERO)
    if not math.isfinite(divisor):
        raise _Refusal(Reason.CONSTANT_NOT_FINITE, f"its divisor is {divisor}")
    return replace(_scalar(1.0 / divisor, shape), note=f"division by {divisor!r}")


def _scalar(value: float, shape: torch.Size) -> Operand:
    """Return a factor that is exact: +1, -1 or 0 times the scale ``|value|``.

    Its int8 values are zeros and its zero point the factor's negative.
    """
    if not math.isfinite(value):
        raise _Refusal(Reason.CONSTANT_NOT_FINITE, f"its constant is {value}")
    sign = (value > 0) - (value < 0)
    qparams = QParams(abs(value) if sign else 1.0, -sign)
    return Operand(qparams, torch.zeros(shape, dtype=torch.int8), f"multiply by {value!r}")


def _tensor_constant(value: torch.Tensor) -> Operand:
    """Quantize a float constant with parameters of its own.

    Exact if all its values are 0 or one magnitude, else affine over its range and zero.
    """
    values = value.double()
    if not bool(torch.isfinite(values).all()):
        raise _Refusal(Reason.CONSTANT_NOT_FINITE)
    magnitudes = values.abs()[values != 0].unique()
    if magnitudes.numel() <= 1:
        scale, zero_point = float(magnitudes[0]) if magnitudes.numel() else 1.0, 0
    else:
        low, high = min(float(values.min()), 0.0), max(float(values.max()), 0.0)
        scale = (high - low) / (INT8_MAX - INT8_MIN)
        zero_point = round(INT8_MIN - low / scale)
    steps = (values / scale).round() + zero_point
    quantized = steps.clamp(INT8_MIN, INT8_MAX)
    error = float(((quantized - zero_point) * scale - values).abs().max()) if values.numel() else 0
    return Operand(
        QParams(scale, zero_point),
        quantized.to(torch.int8).contiguous(),
        f"constant quantized at export, largest error {error:.3g}",
    )


def _is_zero(operand: Operand) -> bool:
    value = operand.value
    return isinstance(value, torch.Tensor) and bool((value == operand.qparams.zero_point).all())


def _stored_int8(dequantizer: Node, program: ExportedProgram) -> torch.Tensor | None:
    """Return the constant a dequantizer takes: int8 itself, or quantized here; else None."""
    source = dequantizer.all_input_nodes[0]
    if source.target == EDGE_QUANTIZE:
        args = arguments(source)
        value = constant_value(args["input"], program)
        if value is None:
            return None
        quantize = torch.ops.quantized_decomposed.quantize_per_tensor.default
        quantized: torch.Tensor = quantize(
            value,
            args["scale"],
            args["zero_point"],
            args["quant_min"],
            args["quant_max"],
            args["dtype"],
        )
        return quantized
    return constant_value(source, program)


def _check_product(node: Node, quantizer: Node) -> torch.Size:
    """Return the product's shape."""
    product, int8 = tensor_of(node), tensor_of(quantizer)
    assert product is not None and int8 is not None
    if not is_static(product):
        raise _Refusal(Reason.DYNAMIC_SHAPE, f"its shape {list(product.shape)} is not static")
    if not int8.is_contiguous():
        raise _Refusal(Reason.NOT_CONTIGUOUS, f"its output has strides {int8.stride()}")
    return product.shape


def _check_equal(shape: torch.Size, product: torch.Size) -> None:
    if shape != product:
        raise _Refusal(
            Reason.BROADCAST, f"an input of shape {list(shape)} is broadcast to {list(product)}"
        )


def _read_qparams(node: Node) -> QParams:
    """Return the parameters of a quantizer or dequantizer of the contract.

    Raises:
        _Refusal: They are not constant, per-tensor, int8 and over the full range.
    """
    if node.target not in (EDGE_QUANTIZE, EDGE_DEQUANTIZE):
        name = str(getattr(node.target, "_name", node.target))
        if "per_channel" in name:
            raise _Refusal(Reason.PER_CHANNEL)
        raise _Refusal(Reason.DYNAMIC_QPARAMS, f"{name} takes scale and zero point as tensors")
    args = arguments(node)
    int8 = tensor_of(node if node.target == EDGE_QUANTIZE else node.all_input_nodes[0])
    for dtype in (args["dtype"], None if int8 is None else int8.dtype):
        if dtype != torch.int8:
            raise _Refusal(Reason.NOT_INT8, f"{node.name} is of type {_name(dtype)}")
    if args.get("out_dtype") not in (None, torch.float32):
        raise _Refusal(Reason.NOT_FLOAT32, f"{node.name} yields {_name(args['out_dtype'])}")
    limits = (args["quant_min"], args["quant_max"])
    if limits != (INT8_MIN, INT8_MAX):
        raise _Refusal(Reason.NARROWED_RANGE, f"{node.name} has the range {list(limits)}")
    try:
        return QParams(float(args["scale"]), int(args["zero_point"]))
    except ValueError as error:
        raise _Refusal(Reason.INVALID_QPARAMS, f"{node.name}: {error}") from None


def _peek_qparams(source: Source) -> QParams | None:
    if not isinstance(source, Node) or not (_is_quantizer(source) or _is_dequantizer(source)):
        return None
    try:
        return _read_qparams(source)
    except _Refusal:
        return None


def _constant_kind(sources: Sequence[Source], program: ExportedProgram) -> str | None:
    for source in sources:
        if scalar_constant(source, program) is not None:
            return "scalar"
        if isinstance(source, Node) and _is_dequantizer(source):
            value = _stored_int8(source, program)
        else:
            value = _constant(source, program)
        if value is not None:
            return "tensor"
    return None


def _shape(source: Source) -> tuple[int | str, ...]:
    fake = tensor_of(source) if isinstance(source, Node) else None
    sizes = () if fake is None else tuple(fake.shape)
    return tuple(size if isinstance(size, int) else str(size) for size in sizes)


def _is_quantizer(node: Node) -> bool:
    return _operator_name(node).startswith("quantized_decomposed::quantize_")


def _is_dequantizer(source: Source) -> bool:
    return isinstance(source, Node) and _operator_name(source).startswith(
        "quantized_decomposed::dequantize_"
    )


def _operator_name(node: Node) -> str:
    schema = getattr(node.target, "_schema", None)
    return "" if schema is None else str(schema.name)


def _name(dtype: object) -> str:
    return str(dtype).removeprefix("torch.")
