"""Tables of a run for people; numbers are those of the results, nothing is judged here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bench.store.history import count_statuses, is_regression
from bench.store.verdicts import settled_results

if TYPE_CHECKING:
    from bench.runs.run import Run
    from bench.store import CaseResult
    from bench.store.history import Entry

# Groups with many small cases get one row; each of these cases still has its own verdict.
_ONE_ROW_A_CASE = "all-pairs"
MOST_LINES = 20
# Narrower, and the columns get unreadable; a pipe counts as 80 columns otherwise.
_LEAST_WIDTH = 118
STYLE = {"pass": "green", "fail": "bold red", "error": "bold yellow", "not-run": "yellow"}


def print_run(run: Run) -> None:
    """Print both tables, what failed, the line's counters, the verdict and where it is kept."""
    console = wide_console()
    kernels = [r for r in run.results if r.level == "kernel"]
    programs = [r for r in run.results if r.level == "program"]
    if kernels:
        console.print(_kernel_table(kernels))
    if programs:
        console.print(_program_table(programs, run))
        for line in _kept_portable(programs):
            console.print(line, highlight=False, soft_wrap=True)
    print_lines(
        console,
        [
            f"[{STYLE[r.verdict]}]{r.verdict}[/] {escape(describe(r))}"
            for r in run.results
            if r.verdict != "pass"
        ],
    )
    results = settled_results(run.results)
    again = {r.name for r in run.results if r.attempt > 1}
    console.print(
        f"[{STYLE[run.verdict]}]{run.verdict}[/]: {sum(r.verdict == 'pass' for r in results)} of "
        f"{len(results)} comparisons right, {sum(r.elements for r in results):,} elements compared"
        + (f"; {len(again)} cases were run again" if again else ""),
        highlight=False,
    )
    console.print(f"kept in {run.store.path}", highlight=False, soft_wrap=True)


def gate_counts(entries: Sequence[Entry]) -> str:
    """Return how many timings the gate found slower, faster and so on, for people."""
    counts = count_statuses(entries)
    slower = counts.get("regression", 0)
    virtual = slower - sum(map(is_regression, entries))
    return (
        f"{slower} slower{f' ({virtual} on virtual boards)' if virtual else ''}, "
        f"{counts.get('improved', 0)} faster, "
        f"{counts.get('ok', 0)} unchanged, {counts.get('not-judged', 0)} not judged, "
        f"{counts.get('drift', 0)} drifting"
    )


def print_lines(console: Console, lines: Sequence[str], rest: str = "all in the store") -> None:
    """Print the first lines, each as one, and how many more there are."""
    for line in lines[:MOST_LINES]:
        console.print(line, soft_wrap=True, highlight=False)
    if len(lines) > MOST_LINES:
        console.print(f"... and {len(lines) - MOST_LINES} more, {rest}")


def describe(result: CaseResult) -> str:
    """Return one line: which case, which variant or route, against what, what was found."""
    who = result.variant or result.route
    case = result.name + (f" {who} against {result.reference}" if who else "")
    retry = f" (attempt {result.attempt})" if result.attempt > 1 else ""
    return f"{case}{retry}: {result.detail}"


def _worst(results: Iterable[CaseResult]) -> str:
    verdicts = {r.verdict for r in results}
    worst = next((v for v in ("fail", "error", "not-run") if v in verdicts), "pass")
    return f"[{STYLE[worst]}]{worst}[/]"


def _differences(results: Sequence[CaseResult]) -> str:
    """Largest difference in LSB and the share of elements that differ, or a dash for none."""
    elements = sum(r.elements for r in results)
    if not elements:
        return "-"
    mismatches = sum(r.mismatches for r in results)
    most = max(r.max_abs_diff for r in results)
    return f"{most} ({mismatches / elements:.2%})" if mismatches else "0"


def wide_console() -> Console:
    """Return a console wide enough for these tables, whatever the terminal says."""
    console = Console()
    console.width = max(console.width, _LEAST_WIDTH)
    return console


def table(title: str, columns: Iterable[str]) -> Table:
    """Return an empty table in the style of all of them, with left-aligned columns."""
    made = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in columns:
        made.add_column(name, no_wrap=True)
    return made


def _kernel_table(results: Sequence[CaseResult]) -> Table:
    made = table("Kernel cases: LSB differences, largest (share)", ("case", "variant"))
    for name in ("elements", "vs\nreference", "vs\nportable"):
        made.add_column(name, justify="right", no_wrap=True)
    made.add_column("verdict", no_wrap=True)
    rows: dict[tuple[str, str], list[CaseResult]] = {}
    cases: dict[str, set[str]] = {}
    for r in results:
        row = r.name if r.group == _ONE_ROW_A_CASE else r.group
        rows.setdefault((row, r.variant or "-"), []).append(r)
        cases.setdefault(row, set()).add(r.name)
    for (row, variant), found in rows.items():
        own = [r for r in found if r.reference != "portable"]
        cross = [r for r in found if r.reference == "portable"]
        name = row if len(cases[row]) == 1 else f"{row} ({len(cases[row])} cases)"
        elements = f"{sum(r.elements for r in own):,}"
        made.add_row(name, variant, elements, _differences(own), _differences(cross), _worst(found))
    return made


def _program_table(results: Sequence[CaseResult], run: Run) -> Table:
    made = table(
        f"Program cases: LSB differences, largest (share); medians in {run.clock}",
        ("model", "route", "lowered"),
    )
    for name in ("ops", "elements", "vs\nruntime", "vs\neager", "vs\nportable", ".pte", "planned"):
        made.add_column(name, justify="right", no_wrap=True)
    made.add_column("median", justify="right", no_wrap=True)
    made.add_column("verdict", no_wrap=True)
    rows: dict[tuple[str, str], list[CaseResult]] = {}
    for r in results:
        rows.setdefault((r.model or "-", r.route or "-"), []).append(r)
    for (model, route), found in rows.items():
        by = {
            reference: [r for r in found if r.reference == reference]
            for reference in ("runtime", "eager", "portable")
        }
        facts = found[-1].counters
        made.add_row(
            model,
            route,
            str(facts.get("lowered_text", "-")),
            str(facts.get("calls", "-")),
            f"{sum(r.elements for r in by['runtime']):,}",
            *(_differences(by[reference]) for reference in by),
            f"{facts.get('pte_bytes', 0):,}",
            f"{facts.get('planned_bytes', 0):,}",
            f"{facts.get('median_ticks', 0):,}",
            _worst(found),
        )
    return made


def _kept_portable(results: Sequence[CaseResult]) -> list[str]:
    """Return a line for each quantized multiply that a route could have lowered and did not."""
    lines: dict[str, None] = {}
    for r in results:
        if r.route in (None, "portable"):
            continue
        for multiply in r.counters.get("report", {}).get("multiplies", ()):
            if not multiply["lowered"]:
                lines[
                    f"{r.model}/{r.route} keeps a multiply portable at {multiply['source']}: "
                    f"{multiply['reason']} ({multiply['detail']})"
                ] = None
    return list(lines)
