"""``bench run``: the main job."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bench.commands.build import native_kernel
from bench.commands.quiet import quiet
from bench.errors import BenchError

if TYPE_CHECKING:
    from bench.runs.jobs import Job
    from bench.runs.run import Run
    from bench.runs.symptoms import Symptom

_EXIT = {"pass": 0, "fail": 1}


@click.command()
@click.option("--target", default="host", show_default=True, help="Kind of board.")
@click.option("--port", metavar="URL", help="Serial URL of a board that runs the firmware.")
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="NAME",
    help="Only the programs of this model (a name from models/ or a file); may be repeated.",
)
@click.option(
    "--case",
    "patterns",
    multiple=True,
    metavar="GLOB",
    help="Only the cases whose name fits, such as 'size/7/*'; may be repeated.",
)
@native_kernel
@click.option(
    "--results",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the store.  [default: results/]",
)
@click.option("--faults", metavar="SPEC", help="Faults to put on the line; see bench link --help.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
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

    board_type(target)
    for model in models:
        find_model(model)
    spec = None
    if faults:
        from bench.link.fault_spec import FaultSpec

        spec = FaultSpec.parse(faults)

    with quiet() as say:
        bench_run = Run(target, port=port, native=native, results=results, faults=spec, say=say)
        jobs = list(_select(bench_run, models, patterns, say))
    with bench_run:
        _check_all(bench_run, jobs)
    if as_json:
        _print_json(bench_run)
    else:
        from bench.commands.tables import print_run

        print_run(bench_run)
    sys.exit(_EXIT.get(bench_run.verdict, 2))


def _select(
    run: Run, models: tuple[str, ...], patterns: tuple[str, ...], say: Callable[[str], None]
) -> Iterator[Job]:
    """Yield the chosen jobs; programs are exported here."""
    from bench.cases.kernel import standard_kernel_cases
    from bench.cases.models import list_models, program_cases
    from bench.cases.program import ROUTES
    from bench.cases.runtime import Runtime
    from bench.runs.jobs import KernelJob, ProgramJob

    def chosen(name: str) -> bool:
        return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)

    found = False
    shrunk: set[Symptom] = set()
    for case in [] if models else standard_kernel_cases():
        if chosen(case.name):
            found = True
            yield KernelJob(case, shrunk)
    wanted = {
        model: [route for route in ROUTES if chosen(f"{Path(model).stem}/{route}")]
        for model in models or list_models()
    }
    if any(wanted.values()):
        found = True
        with Runtime(run.build.library) as runtime:
            for model, routes in wanted.items():
                if routes:
                    say(f"exporting {model}: {', '.join(routes)}")
                    yield from map(ProgramJob, program_cases(model, routes, runtime))
    if not found:
        raise BenchError(
            f"no case is called {' or '.join(map(repr, patterns))}"
            + (f" among the programs of {', '.join(models)}" if models else "")
            + ": names look like 'all-pairs/symmetric', 'size/7/*', 'align/out+3', 'glu/portable'"
        )


def _check_all(run: Run, jobs: list[Job]) -> None:
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    progress = Progress(
        TextColumn("running"),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
        console=Console(stderr=True),
        transient=True,
    )
    with progress:
        task = progress.add_task("", total=len(jobs))
        for job in jobs:
            progress.update(task, description=job.name)
            run.check(job)
            progress.advance(task)


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
