"""What is right: the Q31 encoder, the integer and float references, safe bounds, comparison."""

from bench.numerics.bounds import float32_guard, native_bounds
from bench.numerics.compare import Comparison, compare
from bench.numerics.multiply import multiply_int8, products
from bench.numerics.portable import multiply_portable, tie_zone
from bench.numerics.qparams import (
    INT8_MAX,
    INT8_MIN,
    MulParams,
    QParams,
    quantize_multiplier,
    rescale,
)

__all__ = [
    "INT8_MAX",
    "INT8_MIN",
    "Comparison",
    "MulParams",
    "QParams",
    "compare",
    "float32_guard",
    "multiply_int8",
    "multiply_portable",
    "native_bounds",
    "products",
    "quantize_multiplier",
    "rescale",
    "tie_zone",
]
