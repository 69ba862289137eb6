"""Program cases: a model exported by one route, with inputs and what they should give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.espressif.report import ROUTES, Route

__all__ = ["ROUTES", "Array", "ProgramCase", "Reference", "Route"]

Array = NDArray[np.generic]


@dataclass(frozen=True)
class Reference:
    """What one independent computation gives for each of a program case's inputs.

    Attributes:
        name: "runtime" (ExecuTorch's Python runtime, same kernels), "eager" (PyTorch with the
            integer reference) or "portable" (the same model's portable program on the board).
        outputs: For each input set, every output.
        allowed: Largest difference that is still right, in LSB; None if there is no such bound.
    """

    name: str
    outputs: Sequence[Sequence[Array]]
    allowed: int | None


@dataclass(frozen=True)
class ProgramCase:
    """One model by one route.

    Attributes:
        model: The model's name.
        route: How it was exported.
        pte: The program.
        inputs: Input sets; each gives one result for each reference.
        references: What the outputs are compared with.
        native_calls: Times one execution calls the native kernel through the operator library.
        delegate_calls: Times one execution calls the delegate.
        complaint: Why the export itself is not what the model's file expects, or None.
        facts: What the exporter reports of it: operators, what lowered, what did not and why.
    """

    model: str
    route: Route
    pte: bytes
    inputs: Sequence[Sequence[Array]]
    references: Sequence[Reference]
    native_calls: int
    delegate_calls: int
    complaint: str | None = None
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Model and route."""
        return f"{self.model}/{self.route}"
