"""The report as one self-contained HTML page: data as compact JSON, drawn by its own script."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from importlib import resources
from typing import Any

from bench.store.history import Series
from bench.store.page.nights import gate_row, latest_entries, trends
from bench.store.page.numbering import Index, Numbering
from bench.store.page.results import repeated, timed_verdicts, timing_row, verdicts
from bench.store.page.routes import routes
from bench.store.page.sources import sources
from bench.store.results import (
    RunRow,
    latest_boards,
    load_results,
    load_runs,
    load_timings,
)
from bench.store.sanity import Pair, flags, line_key, pairs
from bench.store.store import Store
from bench.store.verdicts import Rejudge, settled

_RUNS_SHOWN = 30


def render(store: Store, series: Sequence[Series], rule: Rejudge, rule_text: str = "") -> str:
    """Return the page over the whole store.

    Args:
        store: The store.
        series: Its judged series, of `load_series` under the same rule.
        rule: Rule that stored verdicts are judged by again.
        rule_text: How the rule was given, shown on the page; "" for the runs' own verdicts.
    """
    here = resources.files("bench.store.page")
    page = here.joinpath("page.html").read_text("utf-8")
    for name in ("css", "js"):
        page = page.replace(f"{{{{{name}}}}}", here.joinpath(f"page.{name}").read_text("utf-8"))
    data = json.dumps(_data(store, series, rule, rule_text), separators=(",", ":"))
    # A "</script>" in a case's name must not end the script.
    return page.replace("{{data}}", data.replace("<", "\\u003c"))


def _data(store: Store, series: Sequence[Series], rule: Rejudge, rule_text: str) -> dict[str, Any]:
    results = [rule.apply(s) for s in load_results(store, latest_boards(store, "numerics"))]
    timings = load_timings(store, latest_boards(store, "latency"))
    runs = load_runs(store)
    numbering = Numbering()
    found = pairs(timings)
    return {
        "made": time.time(),
        "store": str(store.path),
        "rule": rule_text,
        **verdicts(settled(results), numbering),
        **timed_verdicts(timings, numbering),
        "again": repeated(results, numbering),
        "timings": [timing_row(t, numbering) for t in timings if len(t.result.samples)],
        **_pair_rows(found, numbering),
        "flags": [
            [numbering.board(flag.timing.board), numbering.case(flag.timing), flag.reason]
            for flag in flags(timings, found)
        ],
        **trends(series, runs, numbering),
        "gate": [gate_row(entry, numbering) for entry in latest_entries(series)],
        "routes": routes(settled(results), timings, found),
        "runs": [_run_row(run) for run in reversed(runs[-_RUNS_SHOWN:])],
        "run_count": len(runs),
        **sources(results, timings, runs, numbering),
        # Last: everything above numbers cases and boards as it goes.
        "cases": numbering.cases.items,
        "boards": numbering.boards.items,
    }


def _pair_rows(found: Sequence[Pair], numbering: Numbering) -> dict[str, Any]:
    lines = Index()
    kernels = [pair for pair in found if pair.native.result.level == "kernel"]
    # A clock that sees nothing of one side gives 0 or NaN, of which a logarithmic axis has none.
    drawn = [pair for pair in kernels if pair.ratio.value > 0]
    rows = [
        [
            numbering.board(pair.native.board),
            numbering.case(pair.native),
            lines.of(str(line_key(pair.native)), None),
            pair.native.result.elements,
            # Digits that matter, not decimals: 0.00001 must not become 0.
            *(float(f"{v:.4g}") for v in (pair.ratio.value, pair.ratio.low, pair.ratio.high)),
        ]
        for pair in drawn
    ]
    return {"pairs": rows, "unresolved": len(kernels) - len(drawn)}


def _run_row(run: RunRow) -> list[Any]:
    return [run.id, run.kind, run.started, run.finished, run.verdict, " ".join(run.argv)]
