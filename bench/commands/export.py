"""``bench export``."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from bench.cases.program import ROUTES, Route
from bench.commands.quiet import quiet
from bench.errors import BenchError


@click.command()
@click.argument("model")
@click.option(
    "--route",
    type=click.Choice(ROUTES),
    default="delegate",
    show_default=True,
    help="How the multiplies are lowered.",
)
@click.option("--strict", is_flag=True, help="Fail if a quantized multiply is not lowered.")
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The .pte to write; its report goes beside it as .json.  [default: MODEL-ROUTE.pte]",
)
def export(model: str, route: Route, strict: bool, output: Path | None) -> None:
    """Export MODEL (a name from models/ or a file) and say what lowered and why.

    Each multiply is listed with its source line and its quantization parameters (SCALE@ZERO_POINT
    of both inputs and the output); one that stayed portable with the reason. With --strict, nothing
    is written if a quantized multiply stayed portable, and the exit status is 2.
    """
    from bench.espressif.models import load_model

    if output is not None and output.suffix == ".json":
        raise BenchError(f"--output {output}: .json is where the report goes, name the .pte")
    with quiet():
        from bench.espressif.export import export_model

        loaded = load_model(model)
        exported = export_model(
            loaded.module, loaded.example_inputs, loaded.calibration, route, strict
        )
    path = output or Path(f"{loaded.name}-{route}.pte")
    report = {
        "model": loaded.name,
        "pte": path.name,
        "pte_bytes": len(exported.pte),
        "planned_bytes": exported.planned_bytes,
        "operators": exported.operators,
        "delegate_calls": exported.delegate_calls,
        "changed_buffers": exported.changed_buffers,
        "inputs": [asdict(info) for info in exported.inputs],
        "outputs": [asdict(info) for info in exported.outputs],
        **exported.report.to_json(),
    }
    try:
        path.write_bytes(exported.pte)
        path.with_suffix(".json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise BenchError(f"cannot write {path}: {error.strerror}") from error
    click.echo(exported.report)
    for name, calls in exported.operators.items():
        click.echo(f"  {calls} x {name}")
    if exported.delegate_calls:
        click.echo(f"  {exported.delegate_calls} x delegate EspNNBackend")
    if exported.changed_buffers:
        names = ", ".join(exported.changed_buffers)
        click.echo(f"note: the program changes {names} when it runs, and starts it at zero")
    click.echo(f"wrote {path} ({len(exported.pte):,} bytes) and {path.with_suffix('.json')}")
