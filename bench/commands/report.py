"""``bench report``: views of the store for people and for other tools."""

from __future__ import annotations

import json
import os
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bench.commands.options import results_option, run_option
from bench.errors import BenchError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.store.records import LatencyResult
    from bench.store.results import Stored

# Wrong timings named on the terminal.
_LISTED = 10
# How every SQLite file begins.
_SQLITE = b"SQLite format 3\0"

_file = click.Path(dir_okay=False, path_type=Path)


@click.command()
@results_option
@run_option
@click.option("--html", type=_file, help="Where to write the page.  [default: RESULTS/report.html]")
@click.option("--junit", type=_file, help="Write the run as JUnit XML.")
@click.option(
    "--benchmark", type=_file, help="Write the run's timings for 'pytest-benchmark compare'."
)
@click.option("--trace", type=_file, help="Write the run's timed calls for ui.perfetto.dev.")
@click.option("--metrics", type=_file, help="Write the run as OpenMetrics lines (log_metric).")
@click.option(
    "--rejudge",
    default="",
    metavar="RULE",
    help="Compute verdicts again, such as 'portable=2,relative=0.05': LSB allowed by reference, "
    "and the gate's rule.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the run as one JSON object.")
def report(
    results: Path | None,
    run: int | None,
    html: Path | None,
    junit: Path | None,
    benchmark: Path | None,
    trace: Path | None,
    metrics: Path | None,
    rejudge: str,
    as_json: bool,
) -> None:
    """Write reports from the stored results.

    The page shows every board's latest results and all nights, in one file that opens offline. The
    other files are of one run. Nothing in the store is changed.
    """
    from bench.paths import project_root
    from bench.store import Store
    from bench.store.document import flag_document, pair_document, run_document
    from bench.store.exports import chrome_trace, metric_lines, pytest_benchmark
    from bench.store.exports import metrics as metrics_of
    from bench.store.history import entries_of, load_series
    from bench.store.junit import junit as junit_of
    from bench.store.page import render
    from bench.store.results import boards_of, load_results, load_run, load_timings, settled_timings
    from bench.store.sanity import flags, pairs
    from bench.store.verdicts import Rejudge, settled

    folder = results or project_root() / "results"
    rule = Rejudge.parse(rejudge)
    page = html or folder / "report.html"
    _refuse_overwriting([path for path in (page, junit, benchmark, trace, metrics) if path])
    with Store.read(folder) as store:
        chosen = load_run(store, run)
        boards = boards_of(store, chosen.id)
        stored = settled(rule.apply(s) for s in load_results(store, boards))
        timings = load_timings(store, boards)
        series = load_series(store, rule.gate)
        gate = entries_of(series, chosen.id)
        _write(page, render(store, series, rule, rejudge).encode())
        if junit:
            _write(junit, junit_of(chosen, stored, timings, gate))
        if benchmark:
            version = metadata.version("esp-nn-bench")
            _write(benchmark, _json(pytest_benchmark(chosen, timings, version)))
        if trace:
            _write(trace, _json(chrome_trace(timings)))
        if metrics:
            _write(metrics, metric_lines(metrics_of(stored, timings)).encode())
        found = pairs(timings)
        document = {
            "store": str(store.path),
            "rule": rejudge or None,
            "html": str(page),
            **run_document(chosen, stored, timings, gate),
            "ratios": [pair_document(pair) for pair in found],
            "flags": [flag_document(flag) for flag in flags(timings, found)],
        }
    if as_json:
        click.echo(json.dumps(document, indent=1))
        return
    _print(document, stored, [t.result for t in settled_timings(timings)])
    for path in (junit, benchmark, trace, metrics, page):
        if path:
            click.echo(f"wrote {path}")


def _refuse_overwriting(paths: list[Path]) -> None:
    """Refuse one place for two reports, and a database's place for any."""
    for path in paths:
        if sum(path.resolve() == other.resolve() for other in paths) > 1:
            raise BenchError(f"two reports at {path}: give each a place of its own")
        base = path.with_name(path.name.removesuffix("-wal").removesuffix("-shm"))
        if any(_is_database(file) for file in (path, base)):
            raise BenchError(f"{base} is a database: choose another place for the report")


def _is_database(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except OSError:
        return False


def _json(value: dict[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _write(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            part.write_bytes(content)
            part.replace(path)  # what stood there stays whole until the new one is
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise BenchError(f"cannot write {path}: {error.strerror}: choose another place") from error


def _print(
    document: dict[str, Any], stored: Sequence[Stored], timings: Sequence[LatencyResult]
) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    table = Table(title=f"Run {document['run']['id']}", title_justify="left")
    table.add_column("board")
    for name in ("comparisons", "right", "wrong", "error", "not run", "max LSB"):
        table.add_column(name, justify="right")
    for board in dict.fromkeys(s.board.label for s in stored):
        rows = [s.result for s in stored if s.board.label == board]
        counts = [sum(r.verdict == v for r in rows) for v in ("pass", "fail", "error", "not-run")]
        most = max(r.max_abs_diff for r in rows)
        table.add_row(board, str(len(rows)), *map(str, counts), str(most))
    if stored:
        console.print(table)
    counts = document["gate"]["counts"]
    if counts:
        said = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
        console.print(f"timings: {said}", highlight=False)
    bad = [timed for timed in timings if timed.verdict != "pass"]
    if bad:
        console.print(f"timed outputs: {len(bad)} of {len(timings)} not right", highlight=False)
    for timed in bad[:_LISTED]:
        kind = timed.variant or timed.route
        name = f"{timed.name} {kind}" if kind else timed.name
        said = f"{timed.verdict} {name}: {timed.detail}"
        console.print(said, markup=False, highlight=False)
    if len(bad) > _LISTED:
        console.print(f"and {len(bad) - _LISTED} more on the page", highlight=False)
    for flag in document["flags"]:
        kind = f" {flag['kind']}" if flag["kind"] else ""
        console.print(f"look at {flag['name']}{kind}: {flag['reason']}", markup=False)
    unjudged = counts.get("not-judged", 0)
    open_ = ""
    if unjudged and document["verdict"] == "pass":
        open_ = f" ({unjudged} of {len(document['gate']['timings'])} timings not judged)"
    rule = f" under the rule {document['rule']}" if document["rule"] else ""
    cut = ""
    if not document["complete"]:
        ended = document["stored_verdict"] or "killed, or still running"
        cut = f" (the run did not come to its end: {ended})"
    console.print(
        f"{document['verdict']}{open_}{cut}{rule}",
        markup=False,
        highlight=False,
    )
