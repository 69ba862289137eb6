"""What a run hands around and the store keeps: boards, verdicts, timings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Level = Literal["kernel", "program"]
Verdict = Literal["pass", "fail", "error", "not-run"]
Unit = Literal["cycles", "ns", "instructions"]
RunKind = Literal["correctness", "latency", "nightly"]


@dataclass(frozen=True, kw_only=True)
class BoardInfo:
    """A board as it took part in a run.

    Attributes:
        name: Name in the lab's inventory.
        target: Kind of machine: host, qemu, esp32s3.
        url: Serial URL it was reached by.
        virtual: True if it is not real hardware; its figures never judge a real board.
        board_id: MAC of a real board; "" if it was never learnt.
        firmware: Hash the board itself reported; "" if it never answered.
        hello: The board's whole hello; {} if it never answered.
    """

    name: str
    target: str
    url: str
    virtual: bool
    board_id: str
    firmware: str
    hello: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class CaseResult:
    """One verdict on one case against one reference.

    The numbers are those of ``bench.numerics.Comparison``; a case that could not run has
    ``elements == 0`` and says why in `detail`.

    Attributes:
        name: Name of the case, the same for every variant or route of it.
        level: A kernel on raw buffers, or a whole program.
        group: What belongs together in reports, e.g. the kernel's or the model's name.
        variant: Kernel variant that ran, or None.
        route: How the program was exported, or None.
        model: Model of the program, or None.
        reference: What it was compared with: integer, float32, portable, runtime, eager.
        attempt: 1 for the first execution; a repeated case counts on.
        params: What else identifies the case: qparams, size, alignment, placement, in_place.
        fault: What was wrong beside the numbers (guard bytes, another variant ran); no rule that
            judges the numbers again makes it good.
        counters: What device and link counted meanwhile.
        ticks: Ticks the device reported for the run, in its own clock, or None.
    """

    name: str
    level: Level
    reference: str
    verdict: Verdict
    group: str = ""
    variant: str | None = None
    route: str | None = None
    model: str | None = None
    elements: int = 0
    max_abs_diff: int = 0
    mismatches: int = 0
    violations: int = 0
    signed_mean: float = 0.0
    histogram: Mapping[int, int] = field(default_factory=dict)
    first_bad_index: int | None = None
    expected: int | None = None
    got: int | None = None
    detail: str = ""
    fault: str = ""
    attempt: int = 1
    params: Mapping[str, Any] = field(default_factory=dict)
    counters: Mapping[str, Any] = field(default_factory=dict)
    ticks: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON has them (the histogram's keys become strings)."""
        return asdict(self) | {"histogram": {str(k): v for k, v in self.histogram.items()}}


@dataclass(frozen=True, kw_only=True)
class LatencyResult:
    """The timing of one case by one clock; identified as in `CaseResult`.

    Attributes:
        samples: Ticks of each timed call as the device counted them, overhead included.
        unit: What a tick is: a cycle, a nanosecond, an emulated instruction.
        hz: Ticks a second; None where ticks are no time (instructions).
        elements: Output elements of one call.
        first_ticks: The cold first call, overhead included, not among `samples`.
        overhead_ticks: An empty call; subtracted in every figure.
        verdict: Whether the OUTPUT of the timed run was right; a wrong one has no valid timing.
        operators: Ticks of one call of each operator in a program, where the target tells; keys
            are "<number of the instruction> <name>", or a name alone.
    """

    name: str
    level: Level
    samples: Sequence[int]
    unit: Unit
    hz: int | None
    elements: int
    verdict: Verdict
    group: str = ""
    variant: str | None = None
    route: str | None = None
    model: str | None = None
    first_ticks: int = 0
    overhead_ticks: int = 0
    detail: str = ""
    attempt: int = 1
    params: Mapping[str, Any] = field(default_factory=dict)
    counters: Mapping[str, Any] = field(default_factory=dict)
    operators: Mapping[str, int] = field(default_factory=dict)


def operator_name(key: str) -> str:
    """Return the name in a key of `LatencyResult.operators`."""
    number, _, name = key.partition(" ")
    return name if name and number.isdigit() else key
