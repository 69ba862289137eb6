"""The ``bench`` command: a table of commands, each loaded only when it is called."""

from __future__ import annotations

import importlib
import sys

import click

from bench.errors import BenchError

# Name, where it lives, what --help says of it. The texts stand here so that --help imports no room.
_COMMANDS = {
    "run": ("bench.commands.run:run", "Run every case on a board and give a verdict."),
    "latency": ("bench.commands.latency:latency", "Measure how fast kernels and programs are."),
    "nightly": ("bench.commands.nightly:nightly", "Run all boards of the lab; one report."),
    "build": ("bench.commands.build:build", "Build the virtual board's firmware."),
    "export": ("bench.commands.export:export", "Export a model and say what lowered and why."),
    "board": ("bench.commands.board:board", "Find, flash, reset boards; run a virtual ESP32-S3."),
    "compare": ("bench.commands.compare:compare", "Judge a run's latencies by earlier runs."),
    "report": ("bench.commands.report:report", "Write the store as a page, JUnit, JSON, traces."),
    "link": ("bench.commands.link:link", "Measure and try the serial link."),
}


class _LateCommand(click.Group):
    """A group whose commands are imported when they are looked up."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module, attribute = _COMMANDS[cmd_name][0].split(":")
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])


@click.group(cls=_LateCommand, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="esp-nn-bench")
def bench() -> None:
    """Test int8 kernels of ExecuTorch on boards: exactly right, really native, how fast?

    Exit status: 0 all right, 1 a kernel is wrong, 2 a usage or environment error.
    """


def main() -> None:
    """Run the command; every expected trouble ends in one line and exit status 2."""
    try:
        bench(standalone_mode=False)
    except click.exceptions.Exit as exit_:
        sys.exit(exit_.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except BenchError as error:
        click.echo(f"bench: error: {error}", err=True)
        sys.exit(2)
    except (click.Abort, KeyboardInterrupt) as error:
        where = str(error.__cause__ or error)  # click makes an Abort of an interrupt
        click.echo(f"bench: interrupted{where and ': ' + where}", err=True)
        sys.exit(130)
