"""``bench link``."""

from __future__ import annotations

import json
from dataclasses import asdict

import click


@click.group()
def link() -> None:
    """Measure the serial link, or watch it on a bad line.

    To put faults on the line of a run, give ``bench run --faults`` items such as drop=1e-4, flip,
    dup, delay, cut, baud, latency, text, hang, reset, close, rename and seed, joined by commas.
    bench/link/PROTOCOL.md says what each does.
    """


@link.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
def bench(as_json: bool) -> None:
    """Compare the link with a bare echo and with pytest-embedded, side by side in one run."""
    from rich.console import Console

    from bench.lab.build import build_host
    from bench.link.benchmark import print_benchmark, run_benchmark

    def say(line: str) -> None:
        click.echo(line, err=True)

    result = run_benchmark(build_host(progress=say).runner, progress=say)
    if as_json:
        click.echo(json.dumps(asdict(result), indent=1))
    else:
        print_benchmark(result, Console())
