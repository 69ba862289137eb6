"""The page's data on where its figures come from: runs, boards, firmware, hosts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from bench.store.page.numbering import Numbering
from bench.store.results import RunRow, Stored, Timing
from bench.store.store import canonical, configuration


def sources(
    results: Iterable[Stored],
    timings: Iterable[Timing],
    runs: Sequence[RunRow],
    numbering: Numbering,
) -> dict[str, Any]:
    """One row a board in a run that figures are shown of, and the hosts of these runs."""
    rows: dict[int, dict[str, Any]] = {}
    for what, found in (("outputs", results), ("timings", timings)):
        for one in found:
            board = one.board
            row = rows.setdefault(
                board.id,
                {
                    "board": numbering.board(board),
                    "run": board.run,
                    "firmware": board.firmware,
                    "url": board.url,
                    "about": board.hello.get("board", {}),
                    "config": configuration(board.hello),
                    "what": [],
                },
            )
            if what not in row["what"]:
                row["what"].append(what)
    hosts: dict[str, dict[str, Any]] = {}
    shown = {row["run"] for row in rows.values()}
    for run in runs:
        if run.id in shown:
            host = hosts.setdefault(canonical(run.host), {"host": run.host, "runs": []})
            host["runs"].append(run.id)
    return {
        "sources": sorted(rows.values(), key=lambda row: (row["board"], row["run"])),
        "hosts": [{**host, "runs": ranges(host["runs"])} for host in hosts.values()],
    }


def ranges(numbers: Iterable[int]) -> str:
    """Return numbers for people, such as "1 to 5, 7"."""
    spans: list[list[int]] = []
    for number in sorted(numbers):
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ", ".join(str(a) if a == b else f"{a} to {b}" for a, b in spans)
