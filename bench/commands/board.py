"""``bench board``: find, flash and reset boards, and run a virtual one."""

from __future__ import annotations

from pathlib import Path

import click

from bench.errors import BenchError
from bench.lab.wiring import Wiring

_port = click.option("--port", metavar="URL", required=True, help="The board's serial URL.")
_wiring = click.option(
    "--wiring",
    type=click.Choice([wiring.value for wiring in Wiring]),
    help="How the board is reset.  [default: by its USB ids, else uart]",
)


@click.group()
def board() -> None:
    """Find, flash and reset boards, and run a virtual ESP32-S3."""


@board.command("virtual-s3")
@click.option("--port", default=0, metavar="N", help="TCP port on loopback.  [default: a free one]")
@click.option(
    "--flash-file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Keeps what is in its flash.  [default: build/virtual-s3/MAC.bin]",
)
@click.option(
    "--wiring",
    type=click.Choice([wiring.value for wiring in Wiring]),
    default=Wiring.UART.value,
    show_default=True,
    help="How DTR and RTS reach the chip.",
)
@click.option("--mac", default="7c:df:a1:00:00:01", show_default=True, help="Its MAC.")
@click.option(
    "--runner",
    type=click.Path(exists=True, dir_okay=False, executable=True, path_type=Path),
    help="Executable that plays the flashed application.  [default: the host's runner, built]",
)
@click.option(
    "--fault",
    "specs",
    multiple=True,
    metavar="KIND[@AFTER][*TIMES]",
    help="What goes wrong: no-sync, silent, wrong-chip, wrong-mac; after AFTER flash blocks drop, "
    "gone, mute, noise, corrupt; after AFTER bytes to the application panic, hang.  May be "
    "repeated.",
)
def virtual_s3(
    port: int,
    flash_file: Path | None,
    wiring: str,
    mac: str,
    runner: Path | None,
    specs: tuple[str, ...],
) -> None:
    """Run a virtual ESP32-S3 until Ctrl-C; prints its URL, then what happens to it.

    esptool, pytest-embedded and the bench find its ROM loader, flash and reset lines at that URL.
    Once a whole image is in its flash, a reset starts the host's runner as its application.
    """
    from bench.lab.virtual_s3 import Fault, VirtualS3
    from bench.paths import project_root

    faults = [Fault.parse(spec) for spec in specs]
    if flash_file is None:
        flash_file = project_root() / "build" / "virtual-s3" / f"{mac.replace(':', '')}.bin"
    if runner is None:
        from bench.lab.build import build_host

        runner = build_host(progress=_say).runner
    virtual = VirtualS3(
        flash_file,
        mac=mac,
        wiring=Wiring(wiring),
        runner=runner,
        port=port,
        faults=faults,
        note=_say,
    )
    click.echo(virtual.url)
    virtual.serve()


@board.command("stand-in")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
def stand_in(folder: Path) -> None:
    """Write a build folder for the virtual ESP32-S3, as if ESP-IDF had built the firmware.

    Its images are whole and carry the identity of the firmware's sources, but no Xtensa code.
    """
    from bench.lab.build import build_host
    from bench.lab.virtual_s3 import write_build_folder

    try:
        write_build_folder(folder, build_host(progress=_say).firmware_hash.encode())
    except OSError as error:
        raise BenchError(
            f"cannot write {folder} ({error.strerror}): give another folder"
        ) from error
    click.echo(folder)


@board.command()
@_port
@click.option(
    "--build",
    "folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    required=True,
    help="ESP-IDF build folder.",
)
@click.option("--mac", help="Refuse any board but this one.")
@click.option(
    "--force",
    is_flag=True,
    help="Flash a board that runs this firmware, too: if another machine wrote another bootloader "
    "or partition table to it, neither it nor this machine knows.",
)
@_wiring
def flash(port: str, folder: Path, mac: str | None, force: bool, wiring: str | None) -> None:
    """Flash a board, unless it runs this very build already."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    from bench.lab.flash import ensure_flashed
    from bench.lab.hello import running_firmware
    from bench.lab.image import BuildFolder
    from bench.lab.locks import lock_board
    from bench.lab.mac import parse_mac

    if mac is not None:
        mac = parse_mac(mac).hex(":")
    build = BuildFolder.read(folder)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with lock_board(port, mac), bar:
        task = bar.add_task("writing", total=None, visible=False)
        report = ensure_flashed(
            port,
            build,
            lambda: running_firmware(port),
            mac=mac,
            force=force,
            wiring=_wiring_of(port, wiring),
            progress=lambda done, total: bar.update(
                task, completed=done, total=total, visible=True
            ),
        )
    for retry in report.retries:
        _say(f"note: {retry}")
    if report.flashed:
        click.echo(
            f"flashed {report.elf_hash[:12]} on board {report.mac}: {report.written} bytes in "
            f"{report.seconds:.1f} s, verified, and the board runs it"
        )
    else:
        click.echo(f"nothing to do: the board runs {report.elf_hash[:12]} already")


@board.command()
@_port
@_wiring
@click.option("--watchdog", is_flag=True, help="A board without reset lines, from its loader.")
def reset(port: str, wiring: str | None, watchdog: bool) -> None:
    """Restart a board."""
    from bench.lab.locks import BoardLock
    from bench.lab.reset import Watchdog, line_reset

    strategy = Watchdog() if watchdog else line_reset(_wiring_of(port, wiring))
    with BoardLock(port):
        click.echo(f"reset the board at {strategy.reset(port)}")


@board.command("list")
def list_boards() -> None:
    """List the serial ports that may be ESP32-S3 boards."""
    from bench.lab.ports import find_ports, looked_for

    ports = find_ports()
    for port in ports:
        click.echo(f"{port.device}  {port.adapter}  {port.serial_number or ''}")
    if not ports:
        _say(f"none: {looked_for()}")


def _wiring_of(port: str, wiring: str | None) -> Wiring:
    from bench.lab.ports import wiring_of

    return Wiring(wiring) if wiring else wiring_of(port)


def _say(line: str) -> None:
    click.echo(line, err=True)
