"""What became of each multiply of a program."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any, Literal

from bench.errors import BenchError
from bench.espressif.reasons import Reason
from bench.numerics import QParams

Route = Literal["portable", "operator-library", "delegate"]

ROUTES: tuple[Route, ...] = ("portable", "operator-library", "delegate")
"""How a program may be exported; the first is what the others are held against."""


class StrictError(BenchError):
    """A quantized multiply was not lowered although ``strict`` was asked for."""


@dataclass(frozen=True)
class Multiply:
    """One multiply of the original graph, or one division by a constant.

    Attributes:
        method: Method of the program it stands in.
        name: Its node's name in the Edge graph.
        operator: ``"mul"``, ``"div"``, or what else has a rule in ``AtenToEspPass``.
        shapes: Shapes of its two inputs, dynamic dimensions as text.
        quantized: An input comes from a dequantizer or a quantizer takes the product.
        emitted: Operator or backend that computes it now, or None if it stayed portable.
        reason: Why it stayed portable, or None.
        detail: The reason as a sentence.
        inputs: Quantization parameters of its inputs, None where there are none.
        output: Quantization parameters of its output, or None.
        multiplier: Q31 multiplier, or None if it was not lowered.
        shift: Shift that goes with it, positive to the left, or None.
        constant: ``"scalar"`` or ``"tensor"`` if an input is a constant, else None.
        file: Source file of the multiply, or None if the graph does not say.
        line: Line in that file, or None.
    """

    method: str
    name: str
    operator: str
    shapes: tuple[tuple[int | str, ...], ...]
    quantized: bool
    emitted: str | None
    reason: Reason | None
    detail: str
    inputs: tuple[QParams | None, ...]
    output: QParams | None
    multiplier: int | None
    shift: int | None
    constant: str | None
    file: str | None
    line: int | None

    @property
    def lowered(self) -> bool:
        """True if the native kernel computes it."""
        return self.emitted is not None

    @property
    def source(self) -> str:
        """Return ``file:line``, the file relative to the working directory where it is inside."""
        if self.file is None:
            return "unknown source"
        relative = os.path.relpath(self.file)
        return f"{self.file if relative.startswith('..') else relative}:{self.line}"

    def __str__(self) -> str:
        """Return one line for people; a tensor's parameters are ``scale@zero point``."""
        sizes = " x ".join(str(list(shape)) for shape in self.shapes)
        head = f"{self.method}: {self.operator} {sizes} at {self.source}"
        qparams = ""
        if any((*self.inputs, self.output)):
            taken = " x ".join(map(_short, self.inputs))
            qparams = f", qparams {taken} -> {_short(self.output)}"
        if self.lowered:
            return f"lowered   {head} -> {self.emitted}{qparams}"
        assert self.reason is not None
        return f"portable  {head}: {self.reason.value} ({self.detail}){qparams}"

    def to_json(self) -> dict[str, Any]:
        """Return plain data for a JSON report."""

        def plain(qparams: QParams | None) -> dict[str, float | int] | None:
            if qparams is None:
                return None
            return {"scale": qparams.scale, "zero_point": qparams.zero_point}

        return {
            "method": self.method,
            "name": self.name,
            "operator": self.operator,
            "shapes": [list(shape) for shape in self.shapes],
            "quantized": self.quantized,
            "lowered": self.lowered,
            "emitted": self.emitted,
            "reason": self.reason.value if self.reason else None,
            "detail": self.detail,
            "inputs": [plain(q) for q in self.inputs],
            "output": plain(self.output),
            "multiplier": self.multiplier,
            "shift": self.shift,
            "constant": self.constant,
            "source": None if self.file is None else self.source,
        }


def _short(qparams: QParams | None) -> str:
    return "none" if qparams is None else f"{qparams.scale:.6g}@{qparams.zero_point}"


@dataclass
class Report:
    """All multiplies of a program by method; those in branches and loops after the others."""

    route: Route
    multiplies: list[Multiply] = field(default_factory=list)

    @property
    def lowered(self) -> list[Multiply]:
        """Those that the native kernel computes."""
        return [m for m in self.multiplies if m.lowered]

    @property
    def portable(self) -> list[Multiply]:
        """Those that kept the portable operators."""
        return [m for m in self.multiplies if not m.lowered]

    def summary(self) -> str:
        """Return one line: how many were lowered."""
        if not self.multiplies:
            return f"{self.route}: no multiply in this program, nothing to lower"
        return f"{self.route}: {len(self.lowered)} of {len(self.multiplies)} multiplies lowered"

    def __str__(self) -> str:
        """Return the summary and a line for each multiply."""
        return "\n".join([self.summary(), *(f"  {m}" for m in self.multiplies)])

    def to_json(self) -> dict[str, Any]:
        """Return plain data for a JSON report."""
        return {
            "route": self.route,
            "lowered": len(self.lowered),
            "portable": len(self.portable),
            "multiplies": [m.to_json() for m in self.multiplies],
        }

    def check_strict(self) -> None:
        """Raise if a quantized multiply was not lowered.

        Raises:
            StrictError: With a line for each of them.
        """
        left = [m for m in self.portable if m.quantized]
        if left:
            noun = "multiply was" if len(left) == 1 else "multiplies were"
            lines = "".join(f"\n  {m}" for m in left)
            raise StrictError(f"strict: {len(left)} quantized {noun} not lowered:{lines}")
