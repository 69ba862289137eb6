"""``bench latency``."""

from __future__ import annotations

import json
import sys
import time
from contextlib import ExitStack
from pathlib import Path

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
from bench.errors import BenchError

_EXIT = {"pass": 0, "fail": 1}


@click.command()
@target_option
@port_option
@models_option
@cases_option
@native_option
@results_option
@json_option
def latency(
    target: str,
    port: str | None,
    models: tuple[str, ...],
    patterns: tuple[str, ...],
    native: Path | None,
    results: Path | None,
    as_json: bool,
) -> None:
    """Measure how fast each kernel and each program is on a board.

    Every kernel variant is timed over sizes, alignments of each pointer, memories and in place, and
    every model by each of its routes. Contenders take turns (A B B A); each turn warms up, keeps
    raw samples and checks the output of its last timed call. With --native, the kernel from that
    file is also timed in turn with the one in firmware/kernels.

    Exit status: 1 if an output was wrong, or if the kernel of --native is slower, else 0.
    """
    from bench.cases.models import find_model
    from bench.lab.boards import board_type
    from bench.lab.build import build_host
    from bench.lab.host import HostBoard
    from bench.runs.latency import Rival
    from bench.runs.latency_report import report_latency
    from bench.runs.run import Run
    from bench.runs.selection import select_cases

    placements = board_type(target).placements
    for model in models:
        find_model(model)
    with ExitStack() as stack:
        with quiet() as say:
            run = Run(target, port=port, native=native, kind="latency", results=results, say=say)
            cases = select_cases(models, patterns, placements, lambda: run.build.library, say)
            current = rival = None
            if native is not None and cases.kernels:
                board = HostBoard(build_host(progress=say).runner, "host")
                current = Run(target, board=board, record=run.record)
                session = current.session
                rival = Rival(lambda: session.link, current.keep_timing)
            jobs = cases.latency_jobs(placements, rival)
        if not jobs:
            raise BenchError(
                "none of these cases is timed: choose among 'grid/*' and the models' routes"
            )
        stack.enter_context(kept_in(run.store.path))
        for one in (run, current):
            if one is not None:
                stack.enter_context(one)
        started = time.monotonic()
        for job in tracked("timing", [job.name for job in jobs], jobs):
            run.measure(job)
        report = report_latency(run, current, time.monotonic() - started)
    if as_json:
        click.echo(json.dumps(report.to_json(), indent=1))
    else:
        from bench.commands.latency_tables import print_latency

        print_latency(report)
    sys.exit(_EXIT.get(run.verdict, 2))
