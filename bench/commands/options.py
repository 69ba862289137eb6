"""Options that several commands take."""

from __future__ import annotations

from pathlib import Path

import click

target_option = click.option("--target", default="host", show_default=True, help="Kind of board.")
port_option = click.option(
    "--port", metavar="URL", help="Serial URL of a board that runs the firmware."
)
models_option = click.option(
    "--model",
    "models",
    multiple=True,
    metavar="NAME",
    help="Only the programs of this model (a name from models/ or a file); may be repeated.",
)
cases_option = click.option(
    "--case",
    "patterns",
    multiple=True,
    metavar="GLOB",
    help="Only the cases whose name fits, such as 'size/7/*' or 'grid/ram/*'; may be repeated.",
)
native_option = click.option(
    "--native",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="C++ file to build in place of firmware/kernels/mul_int8_native.cpp.",
)
results_option = click.option(
    "--results",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the store.  [default: results/]",
)
run_option = click.option("--run", type=int, metavar="N", help="A run's number, else the latest.")
json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object instead of tables."
)
