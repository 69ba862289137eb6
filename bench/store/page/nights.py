"""The page's data over the nights: trends, packed, and what the gate says of the latest."""

from __future__ import annotations

import base64
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from bench.store.history import BoardKey, Entry, Series, entries_of
from bench.store.page.numbering import Numbering
from bench.store.page.sources import ranges
from bench.store.results import RunRow

_MARK = {"regression": 1, "improved": 2, "not-judged": 3}
# A night without a value, in the packed trends; the values reach up to one less.
_MISSING = 65535


def trends(
    series: Sequence[Series], runs: Sequence[RunRow], numbering: Numbering
) -> dict[str, Any]:
    """Medians over the nights, two bytes each: a share of the series' largest in 1/65534."""
    started = {run.id: int(run.started) for run in runs}
    boards: dict[BoardKey, str] = {}
    found: dict[BoardKey, set[int]] = defaultdict(set)
    for one in series:
        boards[one.board] = one.board_name
        found[one.board].update(one.runs)
    nights = {board: sorted(found[board]) for board in boards}
    places = {board: {run: i for i, run in enumerate(of)} for board, of in nights.items()}
    order = {board: i for i, board in enumerate(boards)}
    packed = bytearray()
    rows = []
    for one in series:
        medians = np.array([point.median for point in one.points])
        scale = float(medians.max()) or 1.0
        place = [places[one.board][run] for run in one.runs]
        values = np.full(place[-1] - place[0] + 1, _MISSING, dtype="<u2")
        values[np.array(place) - place[0]] = np.rint(medians / scale * (_MISSING - 1))
        packed += values.tobytes()
        marks = [
            [at, _MARK[judgement.status]]
            for at, judgement, point in zip(place, one.judgements, one.points, strict=True)
            # The first nights have nothing to be judged by: no mark.
            if judgement.status in _MARK and (judgement.status != "not-judged" or not point.right)
        ]
        drift = round(one.drift.total, 4) if one.drift else None
        rows.append(
            [
                order[one.board],
                numbering.case_id(one.case),
                place[0],
                values.size,
                float(f"{scale:.6g}"),
                [value for mark in marks for value in mark],
                drift,
            ]
        )
    return {
        "nights": [
            {
                "board": name,
                "virtual": board.virtual,
                "unit": board.unit,
                "at": [started[run] for run in nights[board]],
                "runs": ranges(nights[board]),
            }
            for board, name in boards.items()
        ],
        "series": rows,
        "medians": base64.b64encode(bytes(packed)).decode(),
    }


def latest_entries(series: Sequence[Series]) -> list[Entry]:
    """Return what the gate says of each board's latest night."""
    newest: dict[tuple[str, str, str], int] = defaultdict(int)
    for one in series:
        newest[one.board.device] = max(newest[one.board.device], one.runs[-1])
    return [entry for one in series for entry in entries_of([one], newest[one.board.device])]


def gate_row(entry: Entry, numbering: Numbering) -> list[Any]:
    """Return one line of the gate's table."""
    judgement = entry.judgement
    rounded = [None if v is None else round(v, 4) for v in (judgement.change, judgement.threshold)]
    return [
        entry.series.board_name,
        entry.series.board.virtual,
        numbering.case_id(entry.series.case),
        judgement.status,
        judgement.reason if judgement.status == "not-judged" else "",
        *rounded,
        round(entry.series.drift.total, 4) if entry.series.drift else None,
        entry.series.drift.nights if entry.series.drift else None,
    ]
