"""One run as one JSON object: verdicts, timings, the gate, what to look at."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from bench.store.history import Entry, count_statuses, gate_verdict
from bench.store.results import RunRow, Stored, Timing
from bench.store.sanity import Flag, Pair
from bench.store.statistics import summarize
from bench.store.verdicts import overall


def run_document(
    run: RunRow, results: Sequence[Stored], timings: Iterable[Timing], gate: Sequence[Entry]
) -> dict[str, Any]:
    """Return the run; its verdict is that of the outputs, failed by a regression too."""
    outputs = overall(s.result for s in results) if results or not gate else None
    timed = gate_verdict(gate) if gate else None
    return {
        "verdict": "fail" if "fail" in (outputs, timed) else outputs or timed,
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
