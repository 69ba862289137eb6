"""``bench run``: the main job."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bench.commands.interrupted import kept_in
from bench.commands.options import (
    cases_option,
    json_option,
    models_option,
    native_option,
    port_option,
    results_option,
    target_option,
)
from bench.commands.progress import tracked
from bench.commands.quiet import quiet

if TYPE_CHECKING:
    from bench.runs.run import Run

_EXIT = {"pass": 0, "fail": 1}


@click.command()
@target_option
@port_option
@models_option
@cases_option
@native_option
@results_option
@click.option("--faults", metavar="SPEC", help="Faults to put on the line; see bench link --help.")
@json_option
def run(
    target: str,
    port: str | None,
    models: tuple[str, ...],
    patterns: tuple[str, ...],
    native: Path | None,
    results: Path | None,
    faults: str | None,
    as_json: bool,
) -> None:
    """Run every case on a board and give a verdict.

    Exports the models, builds and starts the virtual board (or talks to the one at --port), runs
    each kernel variant on every int8 pair and each model by every route, and compares with the
    references. Every attempt is kept in the store.
    """
    from bench.cases.models import find_model
    from bench.lab.boards import board_type
    from bench.runs.run import Run
    from bench.runs.selection import select_cases

    placements = board_type(target).placements
    for model in models:
        find_model(model)
    spec = None
    if faults:
        from bench.link.fault_spec import FaultSpec

        spec = FaultSpec.parse(faults)

    with quiet() as say:
        bench_run = Run(target, port=port, native=native, results=results, faults=spec, say=say)
        cases = select_cases(models, patterns, placements, lambda: bench_run.build.library, say)
        jobs = cases.jobs(placements)
    with kept_in(bench_run.store.path), bench_run:
        for job in tracked("running", [job.name for job in jobs], jobs):
            bench_run.check(job)
    if as_json:
        _print_json(bench_run)
    else:
        from bench.commands.tables import print_run

        print_run(bench_run)
    sys.exit(_EXIT.get(bench_run.verdict, 2))


def _print_json(run: Run) -> None:
    report = {
        "verdict": run.verdict,
        "store": str(run.store.path),
        "target": run.board.type.target,
        "virtual": run.virtual,
        "clock": run.clock,
        "lost": str(run.lost) if run.lost else None,
        "cases": [result.to_json() for result in run.results],
    }
    click.echo(json.dumps(report, indent=1))
