"""``bench build``."""

from __future__ import annotations

from pathlib import Path

import click

native_kernel = click.option(
    "--native",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="C++ file to build in place of firmware/kernels/mul_int8_native.cpp.",
)


@click.command()
@native_kernel
def build(native: Path | None) -> None:
    """Build the virtual board's firmware and the same kernels for the Python runtime."""
    from bench.lab.build import build_host

    built = build_host(native, progress=lambda line: click.echo(line, err=True))
    click.echo(f"runner   {built.runner}")
    click.echo(f"library  {built.library}")
    click.echo(f"firmware {built.firmware_hash}")
