"""Why a multiply was not lowered: stable names, each with a sentence."""

from __future__ import annotations

from enum import Enum


class Reason(Enum):
    """A reason to keep the portable operators. The value is the stable name used in reports."""

    NOT_QUANTIZED = "not-quantized"
    INPUT_NOT_QUANTIZED = "input-not-quantized"
    NO_OUTPUT_QUANTIZER = "no-output-quantizer"
    SEVERAL_OUTPUT_QUANTIZERS = "several-output-quantizers"
    DYNAMIC_QPARAMS = "dynamic-qparams"
    PER_CHANNEL = "per-channel"
    INVALID_QPARAMS = "invalid-qparams"
    NOT_INT8 = "not-int8"
    NARROWED_RANGE = "narrowed-range"
    NOT_FLOAT32 = "not-float32"
    CONTROL_FLOW = "control-flow"
    DYNAMIC_SHAPE = "dynamic-shape"
    BROADCAST = "broadcast"
    NOT_CONTIGUOUS = "not-contiguous"
    CONSTANT_NOT_FINITE = "constant-not-finite"
    DIVISION_BY_ZERO = "division-by-zero"
    INEXACT_RECIPROCAL = "inexact-reciprocal"
    FLOAT32_OVERFLOW = "float32-overflow"
    SHIFT_OUT_OF_BOUNDS = "shift-out-of-bounds"
    PORTABLE_ROUTE = "portable-route"

    @property
    def sentence(self) -> str:
        """What the name means, for people."""
        return _SENTENCES[self]


_SENTENCES = {
    Reason.NOT_QUANTIZED: "neither its inputs nor its output are quantized",
    Reason.INPUT_NOT_QUANTIZED: "an input is neither dequantized int8 nor a constant",
    Reason.NO_OUTPUT_QUANTIZER: "no quantizer takes its product",
    Reason.SEVERAL_OUTPUT_QUANTIZERS: "more than one quantizer takes its product",
    Reason.DYNAMIC_QPARAMS: "its scales and zero points are not constants of the graph",
    Reason.PER_CHANNEL: "it is quantized per channel, not per tensor",
    Reason.INVALID_QPARAMS: "a scale or zero point is not valid for int8",
    Reason.NOT_INT8: "it is quantized to another type than int8",
    Reason.NARROWED_RANGE: "its quantized range is not the full [-128, 127]",
    Reason.NOT_FLOAT32: "it does not compute in float32",
    Reason.CONTROL_FLOW: "it stands in a branch or loop of the program",
    Reason.DYNAMIC_SHAPE: "its shape is not static",
    Reason.BROADCAST: "its inputs differ in shape",
    Reason.NOT_CONTIGUOUS: "a tensor is not contiguous in memory",
    Reason.CONSTANT_NOT_FINITE: "its constant is infinite or not a number",
    Reason.DIVISION_BY_ZERO: "it divides by zero",
    Reason.INEXACT_RECIPROCAL: "the divisor's reciprocal would move the multiplier by one unit",
    Reason.FLOAT32_OVERFLOW: "the float32 pattern can overflow, so its result must be kept",
    Reason.SHIFT_OUT_OF_BOUNDS: "the integer kernel's 32-bit intermediates can overflow",
    Reason.PORTABLE_ROUTE: "the portable route was asked for",
}
