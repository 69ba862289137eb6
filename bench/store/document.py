"""One run as one JSON object: verdicts, timings, the gate, what to look at."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from bench.store.history import Entry, count_statuses, gate_verdict
from bench.store.results import RunRow, Stored, Timing, settled_timings
from bench.store.sanity import Flag, Pair
from bench.store.statistics import summarize
from bench.store.verdicts import overall


def run_document(
    run: RunRow, results: Sequence[Stored], timings: Iterable[Timing], gate: Sequence[Entry]
) -> dict[str, Any]:
    """Return the run, with its verdict of `run_verdict`."""
    timings = list(timings)
    return {
        "verdict": run_verdict(run, results, timings, gate),
        "complete": run.complete,
        "run": {"id": run.id, "kind": run.kind, "started": run.started, "finished": run.finished},
        "stored_verdict": run.verdict,
        "host": run.host,
        "cases": [
            {"board": s.board.name, "virtual": s.board.virtual, **s.result.to_json()}
            for s in results
        ],
        "latency": [timing_document(timing) for timing in timings],
        "gate": gate_document(gate),
    }


def run_verdict(
    run: RunRow, results: Sequence[Stored], timings: Iterable[Timing], gate: Sequence[Entry]
) -> str:
    """Return one word for a run.

    "fail" for a wrong output, of a timed call too, or a regression; else "incomplete" if the run
    was killed or interrupted; else "error" if an output never came. A run of timings that are
    right has the gate's verdict.
    """
    timed = [timing.result for timing in settled_timings(timings)]
    outputs = overall([*(s.result for s in results), *timed])
    judged = gate_verdict(gate)
    if "fail" in (outputs, judged):
        return "fail"
    if not run.complete:
        return "incomplete"
    return judged if outputs == "pass" and timed and not results else outputs


def timing_document(timing: Timing) -> dict[str, Any]:
    """Return a timing's figures, in ticks of its clock net of an empty call."""
    result = timing.result
    figures: dict[str, Any] = {}
    if len(result.samples):
        summary = summarize(result.samples, result.overhead_ticks)
        figures = {**asdict(summary), "per_element": _number(summary.per_element(result.elements))}
    record = asdict(result)
    del record["samples"]
    return {"board": timing.board.name, "virtual": timing.board.virtual, **record, **figures}


def pair_document(pair: Pair) -> dict[str, Any]:
    """Return a ratio of native to portable."""
    result = pair.native.result
    return {
        "board": pair.native.board.name,
        "virtual": pair.native.board.virtual,
        "name": result.name,
        "kind": result.variant or result.route,
        "params": dict(result.params),
        "elements": result.elements,
        "ratio": _number(pair.ratio.value),
        "low": _number(pair.ratio.low),
        "high": _number(pair.ratio.high),
        "confidence": pair.ratio.confidence,
    }


def flag_document(flag: Flag) -> dict[str, Any]:
    """Return a timing to look at."""
    result = flag.timing.result
    return {
        "board": flag.timing.board.name,
        "name": result.name,
        "kind": result.variant or result.route,
        "params": dict(result.params),
        "reason": flag.reason,
    }


def gate_document(gate: Sequence[Entry]) -> dict[str, Any]:
    """Return the gate's verdict, its counts and every timing's status."""
    return {
        "verdict": gate_verdict(gate),
        "counts": dict(count_statuses(gate)),
        "timings": [entry.to_json() for entry in gate],
    }


def _number(value: float) -> float | None:
    """JSON has no NaN."""
    return value if value == value else None
