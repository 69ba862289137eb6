"""Timings and verdicts for other tools: pytest-benchmark, Perfetto, OpenMetrics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timezone
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.store.results import RunRow, Stored, Timing
from bench.store.statistics import net, summarize


def pytest_benchmark(run: RunRow, timings: Iterable[Timing], version: str) -> dict[str, Any]:
    """Return what ``pytest-benchmark compare`` reads, in seconds of device time.

    Emulated instructions are no time and are left out; a virtual board's figures say so in their
    names, so that they are only ever compared with each other. Wrong outputs are left out too.
    """
    return {
        "machine_info": {"node": "device", "bench_host": run.host},
        "commit_info": {},
        "benchmarks": [_benchmark(t) for t in timings if _timed(t) and t.result.hz],
        "datetime": datetime.fromtimestamp(run.started, timezone.utc).isoformat(),
        "version": version,
    }


def _benchmark(timing: Timing) -> dict[str, Any]:
    result = timing.result
    name = f"{_case(timing)} on {timing.board.label}"
    return {
        "group": result.group or result.name,
        "name": name,
        "fullname": f"{timing.board.target}/{timing.board.board_id}::{name}",
        "params": None,
        "param": None,
        "extra_info": {
            "board": timing.board.name,
            "board_id": timing.board.board_id,
            "virtual": timing.board.virtual,
            "firmware": timing.board.firmware,
            "unit": result.unit,
            "hz": result.hz,
            "params": dict(result.params),
            "first_ticks": result.first_ticks,
        },
        "options": {
            "disable_gc": False,
            "timer": f"device {result.unit}",
            "min_rounds": len(result.samples),
            "max_time": 0,
            "min_time": 0,
            "warmup": True,
        },
        "stats": _stats(net(result.samples, result.overhead_ticks) / (result.hz or 1)),
    }


def _stats(seconds: NDArray[np.float64]) -> dict[str, Any]:
    """Return pytest-benchmark's figures, as it defines them (Tukey's fences at 1.5 IQR)."""
    low, median, high = (float(v) for v in np.percentile(seconds, [25, 50, 75]))
    mean = float(seconds.mean())
    stddev = float(seconds.std(ddof=1)) if seconds.size > 1 else 0.0
    fence = 1.5 * (high - low)
    inside = seconds[(seconds >= low - fence) & (seconds <= high + fence)]
    far = int(seconds.size - inside.size)
    spread = int(np.count_nonzero(np.abs(seconds - mean) > stddev))
    return {
        "min": float(seconds.min()),
        "max": float(seconds.max()),
        "mean": mean,
        "stddev": stddev,
        "rounds": int(seconds.size),
        "median": median,
        "iqr": high - low,
        "q1": low,
        "q3": high,
        "iqr_outliers": far,
        "stddev_outliers": spread,
        "outliers": f"{spread};{far}",
        "ld15iqr": float(inside.min()),
        "hd15iqr": float(inside.max()),
        "ops": 1 / mean if mean else 0.0,
        "total": float(seconds.sum()),
        "iterations": 1,
    }


def chrome_trace(timings: Iterable[Timing]) -> dict[str, Any]:
    """Return the timed calls as a Chrome trace (JSON object format), which Perfetto opens.

    One process a board, one thread a case and variant. Calls are laid end to end, the cold first
    one first, and the last ends when the timing was stored. A program's operators have a thread of
    their own, below the last call. A tick that is no time is drawn as a nanosecond, and the
    process' name says so. Edges are whole nanoseconds, as Perfetto has them: neighbours that it
    would round apart would overlap.
    """
    events: list[dict[str, Any]] = []
    threads: dict[int, dict[str, int]] = {}
    boards: dict[int, str] = {}
    shown = [timing for timing in timings if len(timing.result.samples)]
    start = min((timing.at for timing in shown), default=0.0)
    for timing in shown:
        result = timing.result
        pid = timing.board.id
        if pid not in boards:
            time = "" if result.hz else ", 1 ns drawn is 1 instruction"
            boards[pid] = f"{timing.board.label} by its {result.unit}{time}"
            events.append(_named("process_name", pid, 0, boards[pid]))
        mine = threads.setdefault(pid, {})
        case = _case(timing)
        thread = _thread(events, pid, mine, case)
        calls = net([result.first_ticks, *result.samples], result.overhead_ticks)
        stored = round((timing.at - start) * 1e9)
        edges = stored + _edges(calls / (result.hz or 1e9) * 1e9)
        edges -= edges[-1] - stored
        for index in range(len(calls)):
            call = {
                "name": "cold first call" if index == 0 else result.name,
                "cat": result.verdict,
                "ph": "X",
                "ts": int(edges[index]),
                "dur": int(edges[index + 1] - edges[index]),
                "pid": pid,
                "tid": thread,
                "args": {"ticks": float(calls[index]), "unit": result.unit},
            }
            events.append(call)
        lengths = [ticks / (result.hz or 1e9) * 1e9 for ticks in result.operators.values()]
        inner = edges[-2] + _edges(lengths)
        for index, (operator, ticks) in enumerate(result.operators.items()):
            part = {
                "name": operator,
                "ts": int(inner[index]),
                "dur": int(inner[index + 1] - inner[index]),
                "tid": _thread(events, pid, mine, f"{case}, operators of one call"),
                "args": {"ticks": ticks, "unit": result.unit},
            }
            events.append(call | part)
    earliest = min((e["ts"] for e in events if e["ph"] == "X"), default=0)
    for event in events:
        if event["ph"] == "X":
            # The format counts in microseconds.
            event["ts"] = (event["ts"] - earliest) / 1000
            event["dur"] /= 1000
    return {"traceEvents": events, "displayTimeUnit": "ns"}


def _edges(nanoseconds: Sequence[float] | NDArray[np.float64]) -> NDArray[np.int64]:
    """Return where intervals laid end to end begin and the last one ends, in whole ns from 0."""
    edges: NDArray[np.int64] = np.rint(np.cumsum([0.0, *nanoseconds])).astype(np.int64)
    return edges


def _thread(events: list[dict[str, Any]], pid: int, threads: dict[str, int], name: str) -> int:
    """Return the thread of this name, named in `events` when it is new."""
    if name not in threads:
        threads[name] = len(threads) + 1
        events.append(_named("thread_name", pid, threads[name], name))
    return threads[name]


def _named(what: str, pid: int, tid: int, name: str) -> dict[str, Any]:
    return {"name": what, "ph": "M", "pid": pid, "tid": tid, "args": {"name": name}}


Metric = tuple[str, float, dict[str, str]]


def metrics(results: Iterable[Stored], timings: Iterable[Timing]) -> Iterator[Metric]:
    """Yield key, value and labels as ``log_metric(key, value, **labels)`` takes them."""
    for stored in results:
        result = stored.result
        labels = _labels(
            board=stored.board.name,
            target=stored.board.target,
            virtual=str(stored.board.virtual).lower(),
            case=result.name,
            kind=result.variant or result.route or "",
            reference=result.reference,
            verdict=result.verdict,
        )
        yield "bench_max_abs_diff_lsb", result.max_abs_diff, labels
        yield "bench_mismatches", result.mismatches, labels
    for timing in timings:
        if _timed(timing):
            summary = summarize(timing.result.samples, timing.result.overhead_ticks)
            labels = _labels(
                board=timing.board.name,
                target=timing.board.target,
                virtual=str(timing.board.virtual).lower(),
                case=timing.result.name,
                kind=timing.result.variant or timing.result.route or "",
                unit=timing.result.unit,
            )
            for name in ("min", "median", "mad", "p95", "max"):
                yield f"bench_latency_{name}", getattr(summary, name), labels


def metric_lines(found: Iterable[Metric]) -> str:
    """Return the lines that pytest-embedded's ``log_metric`` would write."""
    lines = []
    for key, value, labels in found:
        text = ",".join(f'{name}="{value}"' for name, value in labels.items())
        lines.append(f"{key}{{{text}}} {value:.10g}\n")
    return "".join(lines)


def _labels(**labels: str) -> dict[str, str]:
    """Escape label values as OpenMetrics wants it; ``log_metric`` does not."""
    return {
        name: value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        for name, value in labels.items()
    }


def _timed(timing: Timing) -> bool:
    return timing.result.verdict == "pass" and len(timing.result.samples) > 0


def _case(timing: Timing) -> str:
    kind = timing.result.variant or timing.result.route
    return f"{timing.result.name} [{kind}]" if kind else timing.result.name
