"""A real board as pytest-embedded opens it, kept open for a whole session.

pytest-embedded makes a dut for each test, which takes a second or two: too slow for hundreds of
cases. This is its ``DutFactory.create`` with two differences: the serial port carries the link, and
the dut stays. The functions it is made of are pytest-embedded's own, some of them private.
"""

from __future__ import annotations

import contextlib
import inspect
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_embedded import dut_factory
from pytest_embedded.app import App
from pytest_embedded.utils import Meta

from bench.errors import BenchError
from bench.lab.boards import BoardType
from bench.lab.embedded import LinkSerial, hold_first, release_boards, use_link_serial
from bench.lab.flash_errors import explain
from bench.lab.image import BuildFolder
from bench.link import Link
from bench.paths import project_root

SERVICES = "esp,idf"


@dataclass(frozen=True)
class Surroundings:
    """What pytest-embedded has for a session.

    Attributes:
        option: Gives an option of pytest-embedded, by its name and the board's place among ports.
        queues: Makes the queues for console text.
        stdout_lock: Taken by whoever prints console text.
        meta: Caches, and the folder of the logs.
    """

    option: Callable[[str, int], Any]
    queues: Any
    stdout_lock: Any
    meta: Meta


class EmbeddedBoard:
    """The first free of several boards, with its dut.

    Attributes:
        dut: pytest-embedded's dut, from start to stop.
    """

    def __init__(self, kind: BoardType, ports: Sequence[str], surroundings: Surroundings) -> None:
        """Remember where boards are; ``start`` takes one."""
        self.type = kind
        self.url = ports[0]
        self.dut: Any = None
        self._ports = ports
        self._around = surroundings
        self._opened = contextlib.ExitStack()

    @property
    def name(self) -> str:
        """Its port."""
        return self.url

    @property
    def retries(self) -> list[str]:
        """What esptool did over again while flashing it, one sentence each."""
        return [] if self.dut is None else list(self.dut.serial.retries)

    @property
    def flashing(self) -> str:
        """What was done to have the application on it, for people."""
        serial: LinkSerial = self.dut.serial
        if serial.build is None:
            return f"nothing flashed on {self.url}, as asked for"
        what = serial.build.elf_hash[:12]
        if serial.flashed:
            return f"flashed {what} on {self.url}"
        return f"{self.url} runs {what} already, nothing flashed"

    def start(self) -> None:
        """Take a board, flash it if it does not run the application yet, and open its dut.

        Raises:
            BenchError: All boards are taken, there is no build, flashing failed.
        """
        with contextlib.ExitStack() as opened:
            opened.callback(release_boards)
            self.url = hold_first(self._ports)
            try:
                self._open(opened)
            except (ValueError, SystemExit) as error:
                raise BenchError(f"{self.url}: pytest-embedded refuses: {error}") from error
            self._opened = opened.pop_all()

    def _open(self, opened: contextlib.ExitStack) -> None:
        options = self._options()
        # pytest-embedded would go on with half a build and fail later.
        if not Path(options["app_path"]).is_dir():
            raise BenchError(f"no folder {options['app_path']}: correct --app-path")
        folder = App(options["app_path"], options["build_dir"]).binary_path
        BuildFolder.read(Path(folder or Path(options["app_path"], options["build_dir"])))

        queue = self._around.queues.MessageQueue()
        log = options["_pexpect_logfile"]
        listener = dut_factory._listener_gn(
            queue, log, options["with_timestamp"], 1, 1, self._around.stdout_lock
        )
        text = opened.enter_context(dut_factory._pexpect_fr_gn(log, listener))
        opened.callback(listener.join)
        opened.callback(listener.terminate)
        options["msg_queue"] = queue
        options["pexpect_proc"] = dut_factory.pexpect_proc_fn(text)

        classes = use_link_serial(dut_factory._fixture_classes_and_options_fn(**options))
        if classes.classes.get("serial") is not LinkSerial:
            raise BenchError(
                f"the device tests need the services {SERVICES}: leave out --embedded-services"
            )
        classes.kwargs["serial"]["port"] = self.url  # even if ESPPORT says something else
        app = dut_factory.app_fn(classes)
        serial = dut_factory.serial_gn(classes, queue, app)
        opened.callback(serial.close)
        self.dut = dut_factory.dut_gn(classes, None, None, app, serial, None, None)
        opened.callback(self.dut.close)

    def _options(self) -> dict[str, Any]:
        """Return every option that pytest-embedded's fixtures would give."""
        index = self._ports.index(self.url)
        names = {*inspect.signature(dut_factory._fixture_classes_and_options_fn).parameters}
        names = (names | {"with_timestamp", "embedded_services"}) - {"kwargs"}
        given = {name: self._around.option(name, index) for name in names}
        app = project_root() / "firmware" / "ports" / self.type.target
        meta = self._around.meta
        return {
            **given,
            "_services": ["base", *str(given["embedded_services"] or SERVICES).split(",")],
            "app_path": given["app_path"] or str(app),
            # Else pytest-embedded looks for a folder of that name in the current one, too.
            "build_dir": given["build_dir"]
            or ("build" if given["app_path"] else str(app / "build")),
            "port": self.url,
            "dut_index": 1,
            # Workers of one session share its folder.
            "_pexpect_logfile": f"{meta.logdir}/board-{os.getpid()}{meta.logfile_extension}",
            "test_case_name": "bench",
            "_meta": meta,
        }

    def open_link(self, console: Callable[[bytes], None] | None) -> Link:
        """Return the link that shares the dut's port.

        Raises:
            LinkError: The board does not answer hello.
        """
        serial: LinkSerial = self.dut.serial
        serial.console = console
        return serial.link

    def reset(self) -> None:
        """Restart the firmware by the board's lines.

        Raises:
            BenchError: The port is gone, or has no such lines.
        """
        try:
            self.dut.serial.hard_reset()
        except OSError as error:
            raise explain(self.url, error) from error

    def stop(self) -> None:
        """Close the port and leave the board running, for others to take."""
        self._opened.close()

    def post_mortem(self) -> str | None:
        """Tell nothing: from here a dead board looks like a mute one."""
        return None
