"""What a latency run found: figures, ratios, what to look at, and what the bench itself cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bench.runs.effort import device_seconds, overhead
from bench.runs.run import Run
from bench.runs.side_by_side import SideBySide, compare_builds
from bench.store.document import flag_document, pair_document, timing_document
from bench.store.results import Timing, load_timings
from bench.store.sanity import Flag, Pair, flags, pairs


@dataclass(frozen=True)
class LatencyReport:
    """A latency run, of one board or of two builds side by side.

    Attributes:
        run: The run.
        timings: All timings of its board, in order.
        pairs: Each of something native with its portable counterpart.
        flags: Timings to look at.
        beside: The comparison with another build, if there was one.
        seconds: How long the measuring took.
        device_seconds: How long boards were at work meanwhile; None if their ticks are no time.
    """

    run: Run
    timings: Sequence[Timing]
    pairs: Sequence[Pair]
    flags: Sequence[Flag]
    beside: SideBySide | None
    seconds: float
    device_seconds: float | None

    @property
    def overhead(self) -> float | None:
        """What the bench took beyond the boards' time, as a share of that."""
        return overhead(self.seconds, self.device_seconds)

    def to_json(self) -> dict[str, Any]:
        """Return one object with every figure; raw samples are in the store."""
        run = self.run
        return {
            "verdict": run.verdict,
            "store": str(run.store.path),
            "target": run.board.type.target,
            "virtual": run.virtual,
            "clock": run.clock,
            "lost": str(run.lost) if run.lost else None,
            "seconds": self.seconds,
            "device_seconds": self.device_seconds,
            "overhead": self.overhead,
            "latency": [timing_document(timing) for timing in self.timings],
            "ratios": [pair_document(pair) for pair in self.pairs],
            "flags": [flag_document(flag) for flag in self.flags],
            "beside": _beside_document(self.beside) if self.beside else None,
        }


def report_latency(run: Run, rival: Run | None, seconds: float) -> LatencyReport:
    """Sum a latency run up; the store must still be open.

    A kernel that is slower than the one beside it fails the run.

    Args:
        run: The run.
        rival: The run of another build beside it.
        seconds: How long the measuring took.
    """
    timings = load_timings(run.store, [run.row])
    found = pairs(timings)
    device = [
        device_seconds(one.timings, one.session.link.hello)
        for one in (run, rival)
        if one is not None and one.lost is None
    ]
    known = [s for s in device if s is not None]
    beside = compare_builds(run.timings, rival.timings) if rival else None
    if beside is not None and beside.slower:
        run.complaint = "the kernel is slower than the one beside it"
    return LatencyReport(
        run=run,
        timings=timings,
        pairs=found,
        flags=flags(timings, found),
        beside=beside,
        seconds=seconds,
        device_seconds=sum(known) if known else None,
    )


def _beside_document(beside: SideBySide) -> dict[str, Any]:
    return {
        "slower": beside.slower,
        "overall": asdict(beside.overall) if beside.overall else None,
        "judged": beside.judged,
        "slower_sizes": {str(size): list(ends) for size, ends in beside.slower_sizes.items()},
        "cases": [
            {"name": result.name, "params": dict(result.params), **asdict(ratio)}
            for result, ratio in beside.cases
        ],
    }
