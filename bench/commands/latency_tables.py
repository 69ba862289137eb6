"""Tables of a latency run for people; figures are net of an empty call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bench.commands.tables import STYLE, print_lines, table, wide_console
from bench.store.records import operator_name
from bench.store.statistics import Ratio, Summary, summarize

if TYPE_CHECKING:
    from bench.runs.latency_report import LatencyReport
    from bench.runs.side_by_side import SideBySide
    from bench.store import LatencyResult

_SLOWEST = 2


def print_latency(report: LatencyReport) -> None:
    """Print a table a memory, one of the models, what to look at, and what the bench cost."""
    console = wide_console()
    results = [t.result for t in report.timings if t.result.verdict != "not-run"]
    ratios = {
        (p.native.result.name, p.native.result.variant or p.native.result.route): p.ratio
        for p in report.pairs
    }
    kernels = [r for r in results if r.level == "kernel" and r.variant]
    for memory in dict.fromkeys(r.params["placement"] for r in kernels):
        here = [r for r in kernels if r.params["placement"] == memory]
        console.print(_size_table(f"Kernels in {memory}, {report.run.clock} a call", here, ratios))
        if any(_varied(r) for r in here):
            console.print(_alignment_table(here))
    programs = [r for r in results if r.level == "program" and r.route]
    if programs:
        console.print(_program_table(f"Programs, {report.run.clock} a call", programs, ratios))
    _print_rest(console, report)


def _size_table(
    title: str, results: Sequence[LatencyResult], ratios: dict[tuple[str, str | None], Ratio]
) -> Table:
    made = table(title, ("case", "variant"))
    for name in ("median", "MAD", "min", "p95", "max", "an element", "first", "to portable"):
        made.add_column(name, justify="right", no_wrap=True)
    for r in results:
        if _varied(r):
            continue
        s = _summary(r)
        case = f"{r.elements:,}" + (f" in place {r.params['in_place']}" * bool(_in_place(r)))
        ratio = _ratio(ratios.get((r.name, r.variant)))
        made.add_row(case, str(r.variant), *_figures(r, s), ratio)
    return made


def _figures(r: LatencyResult, s: Summary | None) -> list[str]:
    if s is None:
        return ["-"] * 7
    return [
        *(f"{value:,.0f}" for value in (s.median, s.mad, s.min, s.p95, s.max)),
        f"{s.per_element(r.elements):.3g}",
        f"{max(0, r.first_ticks - r.overhead_ticks):,}",
    ]


def _alignment_table(results: Sequence[LatencyResult]) -> Table:
    """One row a pointer and variant: the medians over its offsets 1..15, against offset 0."""
    made = table("  misaligned pointers: medians against aligned ones", ("pointer", "variant"))
    for name in ("size", "least", "most", "at"):
        made.add_column(name, justify="right", no_wrap=True)
    rows: dict[tuple[str, str], list[LatencyResult]] = {}
    for r in results:
        if _varied(r):
            pointer = ["x", "y", "out"][next(i for i, a in enumerate(r.params["align"]) if a)]
            rows.setdefault((pointer, str(r.variant)), []).append(r)
    for (pointer, variant), found in rows.items():
        base = next(
            (
                s.median
                for r in results
                if r.variant == variant and r.elements == found[0].elements and not _varied(r)
                and not _in_place(r) and (s := _summary(r))
            ),
            None,
        )  # fmt: skip
        medians = {max(r.params["align"]): s.median for r in found if (s := _summary(r))}
        if not medians or not base:
            continue
        most = max(medians, key=lambda offset: medians[offset])
        made.add_row(
            pointer,
            variant,
            f"{found[0].elements:,}",
            f"{min(medians.values()) / base:.2f}",
            f"{medians[most] / base:.2f}",
            f"+{most}",
        )
    return made


def _program_table(
    title: str, results: Sequence[LatencyResult], ratios: dict[tuple[str, str | None], Ratio]
) -> Table:
    made = table(title, ())
    for name in ("model", "route"):
        width = max(len(str(getattr(r, name))) for r in results)
        made.add_column(name, no_wrap=True, min_width=width)
    for name in ("median", "MAD", "p95", "first"):
        made.add_column(name, justify="right", no_wrap=True, min_width=8)
    made.add_column("to portable", justify="right", no_wrap=True, min_width=17)
    made.add_column("most time in", overflow="fold")
    for r in results:
        s = _summary(r)
        figures = ["-"] * 3 if s is None else [f"{v:,.0f}" for v in (s.median, s.mad, s.p95)]
        slowest = sorted(_by_operator(r).items(), key=lambda item: -item[1][1])[:_SLOWEST]
        made.add_row(
            str(r.model),
            str(r.route),
            *figures,
            f"{max(0, r.first_ticks - r.overhead_ticks):,}",
            _ratio(ratios.get((r.name, r.route))),
            ", ".join(f"{count} x {name} {ticks:,}" for name, (count, ticks) in slowest) or "-",
        )
    return made


def _by_operator(result: LatencyResult) -> dict[str, tuple[int, int]]:
    """Return how often each operator is in a program, and the ticks of all of these."""
    sums: dict[str, tuple[int, int]] = {}
    for key, ticks in result.operators.items():
        name = operator_name(key).split("::")[-1].split(".")[0]
        count, total = sums.get(name, (0, 0))
        sums[name] = count + 1, total + ticks
    return sums


def _print_rest(console: Console, report: LatencyReport) -> None:
    run = report.run
    missing: dict[str, int] = {}
    for r in (t.result for t in report.timings):
        if r.verdict == "not-run":
            missing[r.detail] = missing.get(r.detail, 0) + 1
    for why, count in missing.items():
        console.print(f"[yellow]not-run[/] {count} cases: {escape(why)}", soft_wrap=True)
    print_lines(
        console,
        [
            f"[{STYLE[r.verdict]}]{r.verdict}[/] {escape(r.name)} {r.variant or r.route or ''}: "
            f"{escape(r.detail)}"
            for r in run.timings
            if r.verdict in ("fail", "error")
        ],
    )
    print_lines(
        console,
        [
            f"[yellow]look at[/] {escape(f.timing.result.name)} "
            f"{f.timing.result.variant or f.timing.result.route}: {escape(f.reason)}"
            for f in report.flags
        ],
    )
    if report.beside is not None:
        _print_beside(console, report.beside)
    if report.device_seconds is not None and report.overhead is not None:
        console.print(
            f"{report.seconds:.1f} s, of which boards were at work {report.device_seconds:.1f} s: "
            f"the bench took {report.overhead:.1%} on top (set-up not counted)",
            highlight=False,
        )
    right = sum(r.verdict == "pass" for r in run.timings)
    console.print(
        f"[{STYLE[run.verdict]}]{run.verdict}[/]: {right} of {len(run.timings)} timings with "
        f"a right output, in {run.clock}{f'; {run.complaint}' if run.complaint else ''}",
        highlight=False,
    )
    console.print(f"kept in {run.store.path}", highlight=False, soft_wrap=True)


def _print_beside(console: Console, beside: SideBySide) -> None:
    for size, (low, high) in sorted(beside.slower_sizes.items()):
        console.print(
            f"[bold red]slower[/] at {size:,} elements: {low:.2f} to {high:.2f} times as long as "
            "the kernel in firmware/kernels",
            highlight=False,
        )
    if beside.overall is not None:
        word = "not slower on the whole" if beside.slower_sizes else "not slower"
        if beside.slower_on_the_whole:
            word = "[bold red]slower[/]"
        console.print(
            f"against the kernel in firmware/kernels: {_ratio(beside.overall)} times as long, "
            f"median of {beside.judged} cases: {word}",
            highlight=False,
        )


def _summary(result: LatencyResult) -> Summary | None:
    return summarize(result.samples, result.overhead_ticks) if len(result.samples) else None


def _ratio(ratio: Ratio | None) -> str:
    if ratio is None or ratio.value != ratio.value:
        return "-"
    return f"{ratio.value:.2f} [{ratio.low:.2f}, {ratio.high:.2f}]"


def _varied(result: LatencyResult) -> bool:
    align: Iterable[int] = result.params["align"]
    return any(align)


def _in_place(result: LatencyResult) -> bool:
    return result.params["in_place"] is not None
