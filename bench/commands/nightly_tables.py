"""A night's report for people; nothing is judged here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from bench.commands.tables import gate_counts, print_lines, table, wide_console
from bench.runs.effort import overhead

if TYPE_CHECKING:
    from bench.runs.nightly_report import NightReport

_STYLE = {"right": "green", "known-bad": "yellow", "busy": "yellow", "quarantined": "yellow"}
_BAD = "bold red"


def print_night(report: NightReport) -> None:
    """Print a row a board, then what fails the night, what is known, the gate and the verdict."""
    console = wide_console()
    console.print(_table(report))
    # What a board's own state says stands in its row.
    states = {board.state for board in report.boards}
    problems = [problem for problem in report.problems if problem.kind not in states - {"wrong"}]
    print_lines(
        console,
        [
            f"[{_BAD}]{problem.kind}[/] {escape(problem.board)}: {escape(problem.text)}"
            for problem in problems
        ],
    )
    print_lines(
        console,
        [
            f"[yellow]known bad[/] {escape(case.board)}: {escape(f'{case.label}: {reason}')}"
            for case, reason in report.known.bad.items()
        ],
        "that are known",
    )
    for entry in report.known.unused:
        console.print(
            f"[yellow]known bad[/] {escape(f'{entry}: no case of this night fits')}",
            soft_wrap=True,
            highlight=False,
        )
    for night in (board.night for board in report.boards):
        on_top = overhead(night.timed_seconds, night.device_seconds)
        if on_top is not None:
            console.print(
                f"{escape(night.name)}: timed for {night.timed_seconds:.1f} s, at work for "
                f"{night.device_seconds:.1f} s of them: the bench took "
                f"{on_top:.1%} on top",
                highlight=False,
            )
    if report.gate:
        console.print(f"timings: {gate_counts(report.gate)}", highlight=False)
    style = "green" if report.verdict == "pass" else _BAD
    well = sum(board.state == "right" for board in report.boards)
    console.print(
        f"[{style}]{report.verdict}[/]: {well} of {len(report.boards)} boards right, "
        f"{sum(board.regressions for board in report.boards)} timings slower",
        highlight=False,
    )
    console.print(f"kept in {report.store}, run {report.run}", highlight=False, soft_wrap=True)


def _table(report: NightReport) -> Table:
    made = table("The night's boards", ("board", "target", "state"))
    for name in ("right", "known\nbad", "timings", "slower of\njudged", "time"):
        made.add_column(name, justify="right", no_wrap=True)
    made.add_column("detail", overflow="fold")
    for board in report.boards:
        night = board.night
        style = _STYLE.get(board.state, _BAD)
        made.add_row(
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
    return made


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02} s" if minutes else f"{seconds:.1f} s"
