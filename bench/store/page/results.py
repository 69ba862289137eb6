"""The page's data from the boards' latest runs: verdicts, differences, timings."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

from bench.store.page.numbering import Numbering
from bench.store.records import Verdict
from bench.store.results import Stored, Timing, settled_timings
from bench.store.statistics import summarize

WORST_FIRST: tuple[Verdict, ...] = ("fail", "error", "not-run", "pass")


def verdicts(rows: Iterable[Stored], numbering: Numbering) -> dict[str, Any]:
    """Status cells, what is not right, LSB histograms and first bad indices."""
    cells: dict[tuple[int, int], str] = {}
    histograms: dict[tuple[int, str, str], Counter[int]] = defaultdict(Counter)
    first_bad: dict[tuple[int, str], Counter[int]] = defaultdict(Counter)
    totals: Counter[str] = Counter()
    wrong = []
    for row in rows:
        result = row.result
        board, case = numbering.board(row.board), numbering.case(row)
        kind = result.variant or result.route or ""
        worst = min(cells.get((board, case), "pass"), result.verdict, key=WORST_FIRST.index)
        cells[board, case] = worst
        totals[result.verdict] += 1
        histogram = histograms[board, kind, result.reference]
        histogram[0] += result.elements - result.mismatches
        histogram.update(result.histogram)
        if result.first_bad_index is not None:
            first_bad[board, kind][result.first_bad_index % 16] += 1
        if result.verdict != "pass":
            numbers = [result.violations, result.elements, result.max_abs_diff]
            text = result.detail or "wrong under this rule"
            wrong.append(
                [board, case, result.reference, result.verdict, text, *numbers, result.attempt]
            )
    return {
        "cells": [[b, c, WORST_FIRST.index(verdict)] for (b, c), verdict in cells.items()],
        "totals": totals,
        "wrong": wrong,
        "histograms": [[*key, sorted(found.items())] for key, found in histograms.items()],
        "first_bad": [[*key, [found[i] for i in range(16)]] for key, found in first_bad.items()],
    }


def repeated(rows: Iterable[Stored], numbering: Numbering) -> list[list[Any]]:
    """Return the errors that were followed by another attempt, whatever that one gave."""
    rows = list(rows)
    last: dict[tuple[int, str, str | None], int] = defaultdict(int)
    for row in rows:
        key = (row.board.id, row.result.model or row.result.name, row.result.route)
        last[key] = max(last[key], row.result.attempt)
    return [
        [numbering.board(row.board), numbering.case(row), row.result.attempt, row.result.detail]
        for row in rows
        if row.result.verdict != "pass"
        and last[row.board.id, row.result.model or row.result.name, row.result.route]
        > row.result.attempt
    ]


def timed_verdicts(timings: Iterable[Timing], numbering: Numbering) -> dict[str, Any]:
    """How many timings there are, and those whose own output was not right."""
    settled = settled_timings(timings)
    return {
        "timed": len(settled),
        "wrong_timings": [
            [
                numbering.board(timing.board),
                numbering.case(timing),
                timing.result.verdict,
                timing.result.detail or "the output of the timed calls was not right",
                timing.result.attempt,
            ]
            for timing in settled
            if timing.result.verdict != "pass"
        ],
    }


def timing_row(timing: Timing, numbering: Numbering) -> list[Any]:
    """Return one timing's figures."""
    result = timing.result
    summary = summarize(result.samples, result.overhead_ticks)
    figures = (summary.min, summary.median, summary.mad, summary.p95, summary.max)
    return [
        numbering.board(timing.board),
        numbering.case(timing),
        result.unit,
        result.elements,
        *(float(f"{figure:.6g}") for figure in figures),
        summary.count,
        max(result.first_ticks - result.overhead_ticks, 0),
        result.verdict,
    ]
