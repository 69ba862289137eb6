"""``bench build``."""

from __future__ import annotations

from pathlib import Path

import click

from bench.commands.options import native_option


@click.command()
@native_option
def build(native: Path | None) -> None:
    """Build the virtual board's firmware and the same kernels for the Python runtime."""
    from bench.lab.build import build_host

    built = build_host(native, progress=lambda line: click.echo(line, err=True))
    click.echo(f"runner   {built.runner}")
    click.echo(f"library  {built.library}")
    click.echo(f"firmware {built.firmware_hash}")
