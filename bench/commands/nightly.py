"""``bench nightly``: every board of the lab, side by side."""

from __future__ import annotations

import functools
import json
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bench.commands.interrupted import kept_in
from bench.commands.options import (
    cases_option,
    json_option,
    models_option,
    results_option,
)
from bench.commands.quiet import quiet
from bench.errors import BenchError

if TYPE_CHECKING:
    from bench.lab.inventory import LabBoard
    from bench.runs.nightly_known_bad import KnownBad
    from bench.runs.nightly_report import NightReport

_file = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.option(
    "--board",
    "boards",
    multiple=True,
    metavar="NAME=URL",
    help="A board, in place of the inventory's; NAME=host is a virtual one.  May be repeated.",
)
@click.option("--target", default="esp32s3", show_default=True, help="Kind of the --board URLs.")
@click.option("--lab", type=_file, help="The lab's inventory.  [default: boards/lab.toml]")
@click.option(
    "--known-bad",
    "known_bad",
    type=_file,
    help="Cases known to fail.  [default: boards/known-bad.toml, if there]",
)
@click.option(
    "--release",
    multiple=True,
    metavar="NAME",
    help="Run this board alone, quarantined or not; coming through ends its quarantine.",
)
@models_option
@cases_option
@results_option
@json_option
def nightly(
    boards: tuple[str, ...],
    target: str,
    lab: Path | None,
    known_bad: Path | None,
    release: tuple[str, ...],
    models: tuple[str, ...],
    patterns: tuple[str, ...],
    results: Path | None,
    as_json: bool,
) -> None:
    """Run every case, then every timing, on all boards of the lab at once.

    One report tells right boards from wrong, hung, panicked and lost ones, compares timings with
    the nights before, and knows which cases are known to fail. A board that was lost in three
    nights in a row is in quarantine until --release.

    Exit status: 0 all right; 1 a wrong kernel, a regression, a board that is down, busy or in
    quarantine, or a known-bad case that passes; 2 nothing could be run; 130 interrupted.
    """
    from bench.cases.models import find_model
    from bench.lab.boards import board_types
    from bench.lab.build import build_host
    from bench.runs.nightly import Night
    from bench.runs.selection import select_cases

    for model in models:
        find_model(model)
    chosen = _choose(_boards(boards, target, lab), release)
    listed = _known_bad(known_bad)
    memories = {k: v for kind in board_types().values() for k, v in kind.placements.items()}
    with quiet() as say:
        build = functools.cache(lambda: build_host(progress=say))
        devices = [board.open(build) for board in chosen]
        cases = select_cases(models, patterns, memories, lambda: build().library, say)
        night = Night(devices, cases, release=release, results=results)
    told, begun, done = _progress([board.name for board in chosen])
    try:
        with kept_in(night.store):
            report = night.run(listed, told, begun)
    finally:
        done()
    _show(report, as_json)
    sys.exit(0 if report.verdict == "pass" else 1)


def _boards(texts: tuple[str, ...], target: str, lab: Path | None) -> list[LabBoard]:
    from bench.lab.inventory import EXAMPLE, parse_boards, read_inventory
    from bench.paths import project_root

    if texts and lab:
        raise BenchError("--board and --lab: give one of them")
    if texts:
        return parse_boards(texts, target)
    path = lab or project_root() / "boards" / "lab.toml"
    if not path.is_file():
        raise BenchError(
            f"no boards: {path} is missing; {EXAMPLE} there (docs/nightly.md), or give "
            "--board NAME=URL"
        )
    return read_inventory(path)


def _choose(boards: list[LabBoard], release: tuple[str, ...]) -> list[LabBoard]:
    names = [board.name for board in boards]
    for name in release:
        if name not in names:
            raise BenchError(f"--release {name}: no such board; there are {', '.join(names)}")
    return [board for board in boards if not release or board.name in release]


def _known_bad(path: Path | None) -> list[KnownBad]:
    from bench.paths import project_root
    from bench.runs.nightly_known_bad import read_known_bad

    default = project_root() / "boards" / "known-bad.toml"
    if path is None and not default.is_file():
        return []
    return read_known_bad(path or default)


def _progress(
    names: list[str],
) -> tuple[Callable[[str, int, int, str], None], Callable[[], None], Callable[[], None]]:
    """Return what is told a board's progress, what begins the display, and what ends it."""
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    progress = Progress(
        TextColumn("{task.fields[board]}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
        console=Console(stderr=True),
        transient=True,
    )
    tasks = {name: progress.add_task("", total=None, board=escape(name)) for name in names}

    def told(name: str, done: int, total: int, what: str) -> None:
        progress.update(tasks[name], completed=done, total=total, description=escape(what))

    return told, progress.start, progress.stop


def _show(report: NightReport, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(report.to_json(), indent=1))
    else:
        from bench.commands.nightly_tables import print_night

        print_night(report)
    for board in report.boards:
        if board.night.crash is not None:
            traceback.print_exception(board.night.crash)
