"""Named multiply cases: small quantized modules, and what has to become of their multiplies.

One list, used by ``EspTester.test_dialect`` and ``EspTester.test_implementation``. The modules
hold their quantizers themselves, so every parameter is in sight; they take quantized tensors and
return what a dequantizer yields.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.export import Dim

from bench.espressif.reasons import Reason

Forward = Callable[..., torch.Tensor | tuple[torch.Tensor, ...]]

_ops = torch.ops.quantized_decomposed


@dataclass(frozen=True)
class MultiplyCase:
    """A quantized module and what has to become of its multiplies.

    Attributes:
        name: Its name, unique in the list.
        forward: The module's forward, after ``self``: its buffers are attributes of that.
        inputs: Example inputs.
        lowered: Multiplies that have to be lowered.
        reasons: Why the others have to stay portable, in graph order.
        qtol: Largest difference from the portable result allowed, in output steps. A lowered
            multiply may differ by 1; behind it the difference grows with the gain.
        buffers: Constants of the module.
        dynamic_shapes: As ``torch.export.export`` takes them, None for static ones.
        runs: False if ExecuTorch's runtime refuses its inputs, so that only its dialect is tested.
    """

    name: str
    forward: Forward
    inputs: tuple[torch.Tensor, ...]
    lowered: int
    reasons: tuple[Reason, ...] = ()
    qtol: int = 1
    buffers: dict[str, torch.Tensor] = field(default_factory=dict)
    dynamic_shapes: Any = None
    runs: bool = True

    def module(self) -> torch.nn.Module:
        """Return the module."""
        return _Pattern(self.forward, self.buffers)


class _Pattern(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, forward: Forward, buffers: dict[str, torch.Tensor]) -> None:
        super().__init__()
        self._forward = forward
        for name, value in buffers.items():
            self.register_buffer(name, value)

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor | tuple[torch.Tensor, ...]:
        return self._forward(self, *inputs)


def quantize(
    x: torch.Tensor,
    scale: float,
    zero_point: int,
    low: int = -128,
    high: int = 127,
    dtype: torch.dtype = torch.int8,
) -> torch.Tensor:
    """Quantize per tensor, by the operator that PT2E inserts."""
    result: torch.Tensor = _ops.quantize_per_tensor(x, scale, zero_point, low, high, dtype)
    return result


def dequantize(
    x: torch.Tensor,
    scale: float,
    zero_point: int,
    low: int = -128,
    high: int = 127,
    dtype: torch.dtype = torch.int8,
) -> torch.Tensor:
    """Dequantize per tensor, by the operator that PT2E inserts."""
    result: torch.Tensor = _ops.dequantize_per_tensor(x, scale, zero_point, low, high, dtype)
    return result


def _random(
    *shape: int, dtype: torch.dtype = torch.int8, seed: int = 0, low: int = -128, high: int = 127
) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    values = torch.randint(low, high + 1, shape, generator=generator)
    return values.to(dtype)


def _pair(*shape: int) -> tuple[torch.Tensor, torch.Tensor]:
    return _random(*shape, seed=1), _random(*shape, seed=2)


X = (0.05, 3)
Y = (0.02, -7)
OUT = (0.03, -5)


def _requantize(x: torch.Tensor, qparams: tuple[float, int] = OUT) -> torch.Tensor:
    return dequantize(quantize(x, *qparams), *qparams)


def _with_qparams(
    x_qparams: tuple[float, int], y_qparams: tuple[float, int], out: tuple[float, int]
) -> Forward:
    def forward(module: torch.nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return _requantize(dequantize(x, *x_qparams) * dequantize(y, *y_qparams), out)

    return forward


_plain = _with_qparams(X, Y, OUT)


def _zero_points_at_both_ends(
    module: torch.nn.Module, x: torch.Tensor, y: torch.Tensor
) -> tuple[torch.Tensor, ...]:
    return tuple(
        _requantize(dequantize(x, 0.05, z1) * dequantize(y, 0.02, z2), (0.3, zo))
        for z1, z2, zo in itertools.product((-128, 127), repeat=3)
    )


def _square(module: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
    x = dequantize(x, *X)
    return _requantize(x * x, (0.1, -128))


def _chain(module: torch.nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    product = _requantize(dequantize(x, *X) * dequantize(y, *Y), (0.12, 0))
    return _requantize(product * dequantize(y, *Y), (0.2, 0))


def _in_place(module: torch.nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    product = dequantize(x, *X)
    product.mul_(dequantize(y, *Y))
    return _requantize(product)


def _shared_dequantizer(
    module: torch.nn.Module, x: torch.Tensor, y: torch.Tensor
) -> tuple[torch.Tensor, ...]:
    a, b = dequantize(x, *X), dequantize(y, *Y)
    return _requantize(a * b), _requantize(a * a, (0.2, -128)), a


def _float_consumer(
    module: torch.nn.Module, x: torch.Tensor, y: torch.Tensor
) -> tuple[torch.Tensor, ...]:
    product = dequantize(x, *X) * dequantize(y, *Y)
    return _requantize(product), torch.relu(product)


def _several_quantizers(
    module: torch.nn.Module, x: torch.Tensor, y: torch.Tensor
) -> tuple[torch.Tensor, ...]:
    product = dequantize(x, *X) * dequantize(y, *Y)
    return _requantize(product), _requantize(product, (0.07, 2))


def _several_dequantizers(
    module: torch.nn.Module, x: torch.Tensor, y: torch.Tensor
) -> tuple[torch.Tensor, ...]:
    product = quantize(dequantize(x, *X) * dequantize(y, *Y), *OUT)
    return dequantize(product, *OUT), torch.relu(dequantize(product, *OUT))


def _by_scalar(scalar: float, out: tuple[float, int]) -> Forward:
    def forward(module: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
        return _requantize(dequantize(x, *X) * scalar, out)

    return forward


def _divided_by(scalar: float, out: tuple[float, int]) -> Forward:
    def forward(module: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
        return _requantize(dequantize(x, *X) / scalar, out)

    return forward


def _by_float_buffer(module: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
    return _requantize(dequantize(x, *X) * module.constant)


def _by_quantized_buffer(module: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
    constant = dequantize(quantize(module.constant, 0.01, 4), 0.01, 4)
    return _requantize(dequantize(x, *X) * constant)


def _by_int8_buffer(module: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
    return _requantize(dequantize(x, *X) * dequantize(module.constant, *Y))


def _unquantized(module: torch.nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x.float() * y.float()


def _half_quantized(module: torch.nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return _requantize(dequantize(x, *X) * y.float())


def _float_output(module: torch.nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return dequantize(x, *X) * dequantize(y, *Y)


def _channels_last(module: torch.nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    x = x.clone(memory_format=torch.channels_last)
    y = y.clone(memory_format=torch.channels_last)
    product = quantize(dequantize(x, *X) * dequantize(y, *Y), *OUT)
    return dequantize(product.clone(memory_format=torch.contiguous_format), *OUT)


def _per_channel(module: torch.nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    scales, zero_points = module.scales, module.zero_points
    per_channel = _ops.dequantize_per_channel(y, scales, zero_points, 0, -128, 127, torch.int8)
    return _requantize(dequantize(x, *X) * per_channel)


def _typed(dtype: torch.dtype, low: int, high: int) -> Forward:
    def forward(module: torch.nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        a = dequantize(x, 0.05, 3, low, high, dtype)
        b = dequantize(y, 0.02, 7, low, high, dtype)
        return dequantize(quantize(a * b, 0.03, 5, low, high, dtype), 0.03, 5, low, high, dtype)

    return forward


def _narrow_output(module: torch.nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    product = dequantize(x, *X) * dequantize(y, *Y)
    return dequantize(quantize(product, *OUT, -127, 127), *OUT)


def _portable(
    name: str, forward: Forward, reason: Reason, inputs: tuple[torch.Tensor, ...], **more: Any
) -> MultiplyCase:
    return MultiplyCase(name, forward, inputs, lowered=0, reasons=(reason,), qtol=0, **more)


_RANKS = ((), (7,), (3, 5), (2, 3, 4), (1, 2, 3, 5), (2, 1, 3, 2, 2))
# The largest float32 whose square times 128 * 128 is still finite in float32.
_LARGEST = float.fromhex("0x1.fffffep+56")
_WINDOW = torch.linspace(-1.0, 1.5, 12).reshape(3, 4)

CASES: tuple[MultiplyCase, ...] = (
    *(MultiplyCase(f"rank_{len(s)}", _plain, _pair(*s), 1) for s in _RANKS),
    MultiplyCase("self_multiply", _square, (_random(4, 9),), 1),
    MultiplyCase("chained", _chain, _pair(4, 9), 2, qtol=3),
    MultiplyCase("in_place", _in_place, _pair(4, 9), 1),
    MultiplyCase("shared_dequantizer", _shared_dequantizer, _pair(4, 9), 2),
    MultiplyCase("shared_float_consumer", _float_consumer, _pair(4, 9), 1),
    MultiplyCase("several_dequantizers", _several_dequantizers, _pair(4, 9), 1),
    _portable(
        "several_quantizers",
        _several_quantizers,
        Reason.SEVERAL_OUTPUT_QUANTIZERS,
        _pair(4, 9),
    ),
    MultiplyCase(
        "constant_float_tensor",
        _by_float_buffer,
        (_random(3, 4),),
        1,
        # The exporter quantizes the constant, so the portable result has another one.
        qtol=2,
        buffers={"constant": _WINDOW},
    ),
    MultiplyCase(
        "constant_quantized_in_graph",
        _by_quantized_buffer,
        (_random(3, 4),),
        1,
        buffers={"constant": _WINDOW},
    ),
    MultiplyCase(
        "constant_int8",
        _by_int8_buffer,
        (_random(3, 4),),
        1,
        buffers={"constant": _random(3, 4, seed=3)},
    ),
    MultiplyCase(
        "constant_int8_transposed",
        _by_int8_buffer,
        (_random(3, 4),),
        1,
        buffers={"constant": _random(4, 3, seed=3).t()},
    ),
    MultiplyCase(
        "constant_int8_scalar",
        _by_int8_buffer,
        (_random(3, 4),),
        1,
        buffers={"constant": torch.tensor(101, dtype=torch.int8)},
    ),
    MultiplyCase(
        "constant_scalar_tensor",
        _by_float_buffer,
        (_random(3, 4),),
        1,
        buffers={"constant": torch.tensor(-0.7)},
    ),
    MultiplyCase("scalar", _by_scalar(3.0, (0.15, 3)), (_random(3, 4),), 1),
    MultiplyCase("scalar_integer", _by_scalar(3, (0.15, 3)), (_random(3, 4),), 1),
    MultiplyCase("scalar_negative", _by_scalar(-0.3, (0.02, 1)), (_random(3, 4),), 1),
    MultiplyCase("scalar_zero", _by_scalar(0.0, (0.02, 17)), (_random(3, 4),), 1),
    MultiplyCase("division", _divided_by(2.0, (0.025, 0)), (_random(3, 4),), 1),
    MultiplyCase("division_negative", _divided_by(-3.0, (0.02, 5)), (_random(3, 4),), 1),
    _portable("unquantized", _unquantized, Reason.NOT_QUANTIZED, _pair(3, 4)),
    _portable("half_quantized", _half_quantized, Reason.INPUT_NOT_QUANTIZED, _pair(3, 4)),
    _portable("float_output", _float_output, Reason.NO_OUTPUT_QUANTIZER, _pair(3, 4)),
    _portable(
        "non_contiguous",
        _plain,
        Reason.NOT_CONTIGUOUS,
        (_random(4, 3).t(), _random(4, 3, seed=1).t()),
        # "should be contiguous or channels-last"
        runs=False,
    ),
    _portable("channels_last", _channels_last, Reason.NOT_CONTIGUOUS, _pair(1, 3, 4, 5)),
    _portable("broadcast", _plain, Reason.BROADCAST, (_random(2, 3, 4), _random(2, 3, 1, seed=1))),
    _portable("broadcast_rank", _plain, Reason.BROADCAST, (_random(3, 4), _random(4, seed=1))),
    _portable(
        "broadcast_constant",
        _by_float_buffer,
        Reason.BROADCAST,
        (_random(3, 4),),
        buffers={"constant": torch.linspace(0.0, 1.0, 4)},
    ),
    _portable(
        "dynamic_shape",
        _plain,
        Reason.DYNAMIC_SHAPE,
        _pair(8, 3),
        dynamic_shapes=(({0: Dim("rows", min=2, max=8)}, {0: Dim("rows", min=2, max=8)}),),
    ),
    _portable(
        "per_channel",
        _per_channel,
        Reason.PER_CHANNEL,
        _pair(3, 4),
        buffers={
            "scales": torch.tensor([0.01, 0.02, 0.03]),
            "zero_points": torch.zeros(3, dtype=torch.int64),
        },
    ),
    _portable(
        "int16",
        _typed(torch.int16, -32768, 32767),
        Reason.NOT_INT8,
        (_random(3, 4, dtype=torch.int16), _random(3, 4, dtype=torch.int16, seed=1)),
    ),
    _portable(
        "uint8",
        _typed(torch.uint8, 0, 255),
        Reason.NOT_INT8,
        (
            _random(3, 4, dtype=torch.uint8, low=0, high=255),
            _random(3, 4, dtype=torch.uint8, low=0, high=255, seed=1),
        ),
    ),
    _portable("narrowed_inputs", _typed(torch.int8, -127, 127), Reason.NARROWED_RANGE, _pair(3, 4)),
    _portable("narrowed_output", _narrow_output, Reason.NARROWED_RANGE, _pair(3, 4)),
    MultiplyCase("zero_points_at_both_ends", _zero_points_at_both_ends, _pair(16, 16), 8),
    # The operands of these stay small enough for float32, the full range would not.
    _portable(
        "scale_overflows_float32",
        _with_qparams((1e19, 0), (1e19, 0), (1e38, 0)),
        Reason.FLOAT32_OVERFLOW,
        (_random(3, 4, low=-1, high=1), _random(3, 4, low=-1, high=1, seed=1)),
    ),
    MultiplyCase(
        "scale_large",
        _with_qparams((_LARGEST, 0), (_LARGEST, 0), (2.0**120, 0)),
        _pair(16, 16),
        1,
    ),
    _portable(
        "scale_subnormal",
        _with_qparams((2.0**-127, 0), (1.0, 0), (2.0**-120, 0)),
        Reason.FLOAT32_OVERFLOW,
        _pair(3, 4),
    ),
    MultiplyCase(
        "scale_small",
        _with_qparams((2.0**-126, 0), (1.0, 0), (2.0**-120, 0)),
        _pair(16, 16),
        1,
    ),
    MultiplyCase(
        "shift_left_15",
        _with_qparams((0.5, -128), (65535.0, -128), (1.0, 0)),
        (_random(3, 4), _random(3, 4, seed=1)),
        1,
    ),
    _portable(
        "shift_left_16",
        _with_qparams((0.5, -128), (131071.0, -128), (1.0, 0)),
        Reason.SHIFT_OUT_OF_BOUNDS,
        (_random(3, 4), _random(3, 4, seed=1)),
    ),
    MultiplyCase(
        "multiplier_zero",
        _with_qparams((1e-8, 5), (1e-8, 5), (1.0, 9)),
        _pair(16, 16),
        1,
    ),
)
