"""``bench compare``: the regression gate on a stored run."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bench.commands.options import results_option, run_option
from bench.errors import BenchError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.store.history import Entry, Series

# Kinds of runs that time something, if their boards let them.
_TIMED = ("latency", "nightly")
_NAMED = 5
_STYLE = {"regression": "bold red", "improved": "green", "not-judged": "yellow", "ok": ""}


@click.command()
@results_option
@run_option
@click.option(
    "--rule",
    default="",
    metavar="RULE",
    help="Judge by another rule, such as 'relative=0.05,mad=4,nights=10'.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
def compare(results: Path | None, run: int | None, rule: str, as_json: bool) -> None:
    """Compare a run's timings with the nights before it.

    Without --run it is the latest run that was to time anything.

    Only timings of the same board, firmware configuration, case, placement and alignment are
    compared; the baseline is the median of the last passing nights. A timing with too few samples
    or nights is "not judged".

    Exit status: 1 if anything is slower, on a virtual board too (in a night or a report that one
    fails nothing), or if the output of a timed call was wrong.
    """
    from bench.paths import project_root
    from bench.store import Store
    from bench.store.document import gate_document
    from bench.store.history import entries_of, load_series, not_measured
    from bench.store.results import load_run, load_runs
    from bench.store.verdicts import Rejudge

    parsed = Rejudge.parse(rule)
    if parsed.allowed:
        raise BenchError(
            f"--rule {rule}: {', '.join(parsed.allowed)} is about outputs, and only timings are "
            "compared here: 'bench report --rejudge' takes it"
        )
    with Store.read(results or project_root() / "results") as store:
        series = load_series(store, parsed.gate)
        timed = [one.id for one in load_runs(store) if one.kind in _TIMED]
        chosen = load_run(store, max(timed, default=None) if run is None else run)
        entries = entries_of(series, chosen.id)
        missing = not_measured(series, chosen.id)
        wrong = sum(not entry.point.right for entry in entries)
        document = {
            "store": str(store.path),
            "run": chosen.id,
            **gate_document(entries),
            "wrong_outputs": wrong,
            "not_measured": [{"board": one.board_name, **one.case.to_json()} for one in missing],
        }
        # What was asked for is these timings, whatever the board.
        if wrong or document["counts"].get("regression"):
            document["verdict"] = "fail"
    if as_json:
        click.echo(json.dumps(document, indent=1))
    else:
        _print(entries, missing, chosen.id, document["verdict"])
    sys.exit(1 if document["verdict"] == "fail" else 0)


def _print(entries: Sequence[Entry], missing: Sequence[Series], run: int, verdict: str) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from bench.commands.tables import gate_counts

    console = Console()
    table = Table(title=f"Run {run} against the nights before", title_justify="left")
    for name in ("board", "case"):
        table.add_column(name, overflow="fold")
    for name in ("median", "change", "limit"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict", overflow="fold")
    for entry in entries:
        judgement, series = entry.judgement, entry.series
        if judgement.status in ("ok", "not-judged") and not series.drift:
            continue
        drift = f", drifts {series.drift.total:+.1%}" if series.drift else ""
        style = _STYLE[judgement.status]
        status = f"[{style}]{judgement.status}[/]" if style else judgement.status
        virtual = " (virtual)" if series.board.virtual else ""
        table.add_row(
            escape(series.board_name) + virtual,
            escape(series.case.label),
            f"{entry.point.median:.6g} {series.board.unit}",
            "-" if judgement.change is None else f"{judgement.change:+.1%}",
            "-" if judgement.threshold is None else f"{judgement.threshold:.1%}",
            status + drift,
        )
    if table.row_count:
        console.print(table)
    reasons = {e.judgement.reason for e in entries if e.judgement.status == "not-judged"}
    for reason in sorted(reasons):
        found = sum(e.judgement.reason == reason for e in entries)
        console.print(f"[yellow]not judged[/]: {found} timings: {reason}", highlight=False)
    if missing:
        names = ", ".join(f"{one.board_name} {one.case.label}" for one in missing[:_NAMED])
        more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
        line = f"not measured, but in the run before: {names}{more}"
        console.print(line, style="yellow", markup=False, highlight=False)
    if not entries:
        console.print(f"run {run} has no timings", style="yellow", highlight=False)
    console.print(f"{verdict}: {gate_counts(entries)} (run {run})", highlight=False)
