"""The page's table of programs: every model by each of its routes, on every board."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from bench.store.page.results import WORST_FIRST
from bench.store.records import LatencyResult, operator_name
from bench.store.results import Stored, Timing
from bench.store.sanity import Pair
from bench.store.statistics import summarize

_OPERATORS_SHOWN = 3


def routes(
    rows: Iterable[Stored], timings: Iterable[Timing], found: Iterable[Pair]
) -> list[dict[str, Any]]:
    """One row a board, model and route: verdict, largest difference, sizes, times.

    Args:
        rows: Verdicts; those of programs count.
        timings: Timings; those of programs count, of several inputs the last.
        found: The timings' pairs with portable ones, of `bench.store.sanity.pairs`.
    """
    table: dict[tuple[str, str, str], dict[str, Any]] = {}

    def line_of(row: Stored | Timing) -> dict[str, Any]:
        result = row.result
        key = (row.board.label, result.model or result.name, result.route or "")
        empty: dict[str, Any] = {
            "verdict": "pass",
            "max_abs_diff": None,
            "facts": {},
            "unit": "",
            "timing": None,
        }
        return table.setdefault(key, empty)

    for row in rows:
        result = row.result
        if result.level != "program":
            continue
        line = line_of(row)
        line["verdict"] = min(line["verdict"], result.verdict, key=WORST_FIRST.index)
        line["max_abs_diff"] = max(line["max_abs_diff"] or 0, result.max_abs_diff)
        line["facts"] |= {
            k: v for k, v in result.counters.items() if isinstance(v, int | float | str)
        }
        line["unit"] = str((row.board.hello.get("clock") or {}).get("unit", "ticks"))
    ratios = {id(pair.native): pair.ratio for pair in found}
    for timing in timings:
        timed = timing.result
        if timed.level != "program":
            continue
        line = line_of(timing)
        line["verdict"] = min(line["verdict"], timed.verdict, key=WORST_FIRST.index)
        # A wrong output has no valid timing.
        if timed.verdict != "pass" or not len(timed.samples):
            continue
        ratio = ratios.get(id(timing))
        line["unit"] = timed.unit
        line["timing"] = _figures(timed)
        if ratio is not None and ratio.value == ratio.value:
            values = (ratio.value, ratio.low, ratio.high)
            line["timing"]["ratio"] = [float(f"{v:.4g}") for v in values]
    return [
        {"board": board, "model": model, "route": route, **line}
        for (board, model, route), line in table.items()
    ]


def _figures(timed: LatencyResult) -> dict[str, Any]:
    summary = summarize(timed.samples, timed.overhead_ticks)
    return {
        "first": max(timed.first_ticks - timed.overhead_ticks, 0),
        "median": float(f"{summary.median:.6g}"),
        "mad": float(f"{summary.mad:.6g}"),
        "ratio": None,
        "operators": dearest(timed.operators),
    }


def dearest(operators: Mapping[str, int]) -> list[tuple[str, int]]:
    """Return the operators that cost most, by name over all their instructions, in ticks."""
    sums: Counter[str] = Counter()
    for key, ticks in operators.items():
        sums[operator_name(key)] += ticks
    return sums.most_common(_OPERATORS_SHOWN)
