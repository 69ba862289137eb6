"""A night's report for people; nothing is judged here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bench.store.history import count_statuses

if TYPE_CHECKING:
    from bench.runs.nightly_report import NightReport

_MOST = 20
# Narrower, and the columns get unreadable; a pipe counts as 80 columns otherwise.
_LEAST_WIDTH = 118
_STYLE = {"right": "green", "known-bad": "yellow", "busy": "yellow", "quarantined": "yellow"}
_BAD = "bold red"


def print_night(report: NightReport) -> None:
    """Print a row a board, then what fails the night, what is known, the gate and the verdict."""
    console = Console()
    console.width = max(console.width, _LEAST_WIDTH)
    console.print(_table(report))
    # What a board's own state says stands in its row.
    states = {board.state for board in report.boards}
    problems = [problem for problem in report.problems if problem.kind not in states - {"wrong"}]
    for problem in problems[:_MOST]:
        console.print(
            f"[{_BAD}]{problem.kind}[/] {escape(problem.board)}: {escape(problem.text)}",
            soft_wrap=True,
            highlight=False,
        )
    if len(problems) > _MOST:
        console.print(f"... and {len(problems) - _MOST} more, all in the store")
    for case, reason in list(report.known.bad.items())[:_MOST]:
        console.print(
            f"[yellow]known bad[/] {escape(case.board)}: {escape(f'{case.label}: {reason}')}",
            soft_wrap=True,
            highlight=False,
        )
    if len(report.known.bad) > _MOST:
        console.print(f"... and {len(report.known.bad) - _MOST} more that are known")
    for entry in report.known.unused:
        console.print(
            f"[yellow]known bad[/] {escape(f'{entry}: no case of this night fits')}",
            soft_wrap=True,
            highlight=False,
        )
    for night in (board.night for board in report.boards):
        if night.device_seconds:
            console.print(
                f"{escape(night.name)}: timed for {night.timed_seconds:.1f} s, at work for "
                f"{night.device_seconds:.1f} s of them: the bench took "
                f"{night.timed_seconds / night.device_seconds - 1:.1%} on top",
                highlight=False,
            )
    if report.gate:
        counts = count_statuses(report.gate)
        console.print(
            f"timings: {counts.get('regression', 0)} slower, {counts.get('improved', 0)} faster, "
            f"{counts.get('ok', 0)} unchanged, {counts.get('not-judged', 0)} not judged, "
            f"{counts.get('drift', 0)} drifting",
            highlight=False,
        )
    style = "green" if report.verdict == "pass" else _BAD
    well = sum(board.state == "right" for board in report.boards)
    console.print(
        f"[{style}]{report.verdict}[/]: {well} of {len(report.boards)} boards right, "
        f"{sum(board.regressions for board in report.boards)} timings slower",
        highlight=False,
    )
    console.print(f"kept in {report.store}, run {report.run}", highlight=False, soft_wrap=True)


def _table(report: NightReport) -> Table:
    table = Table(
        title="The night's boards", title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0)
    )
    for name in ("board", "target", "state"):
        table.add_column(name, no_wrap=True)
    for name in ("right", "known\nbad", "timings", "slower of\njudged", "time"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("detail", overflow="fold")
    for board in report.boards:
        night = board.night
        style = _STYLE.get(board.state, _BAD)
        table.add_row(
            escape(night.name),
            escape(night.target) + (" (virtual)" if night.virtual else ""),
            f"[{style}]{board.state}[/]",
            f"{board.right:,} of {board.comparisons:,}",
            str(board.known_bad or "-"),
            str(board.timings or "-"),
            f"{board.regressions} of {board.judged}" if board.timings else "-",
            _duration(night.finished - night.started),
            escape(night.detail),
        )
    return table


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02} s" if minutes else f"{seconds:.1f} s"
