"""pytest-embedded with the bench's link: ``dut.expect`` and binary requests on one port.

pytest-embedded polls its port every 50 ms and takes everything for text. :class:`LinkSerial` reads
by itself: text goes where pytest-embedded expects it, and :attr:`LinkSerial.link` speaks the
bench's protocol on the same port. It flashes only if the board itself says that it runs something
else, or if this machine last wrote something else to it.

To plug it in, override a fixture in a plugin or conftest (a private name of pytest-embedded)::

    @pytest.fixture
    def _fixture_classes_and_options(_fixture_classes_and_options):
        return use_link_serial(_fixture_classes_and_options)
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from esptool.util import FatalError
from pytest_embedded_idf.serial import IdfSerial

from bench.errors import BenchError
from bench.lab import rfc2217
from bench.lab.flash import expect_running, read_mac, runs
from bench.lab.flash_errors import explain
from bench.lab.flash_retries import noted_retries
from bench.lab.flashed import LastFlashed
from bench.lab.hello import Running
from bench.lab.image import BuildFolder
from bench.lab.locks import BoardLock, lock_first
from bench.lab.ports import wiring_of
from bench.lab.reset import ask_for_loader, line_reset
from bench.link import Link
from bench.link.errors import LinkError
from bench.link.transport import Transport, adopt_port

_ROM_BAUDRATE = 115_200
# Seconds for an answer to hello: of the bench's firmware, and of whatever may be on a board.
_PATIENCE = 5.0
_PATIENCE_WITH_ANY = 2.0
# A thread that reads looks this often whether it should stop, in seconds.
_LOOK = 0.05


def use_link_serial(options: Any) -> Any:
    """Make pytest-embedded create :class:`LinkSerial` where it would create ``IdfSerial``.

    Args:
        options: Value of the fixture ``_fixture_classes_and_options``: one object, or a tuple of
            them with ``--count``.

    Returns:
        The same value.
    """
    for one in options if isinstance(options, tuple) else (options,):
        if one.classes.get("serial") is IdfSerial:
            one.classes["serial"] = LinkSerial
    rfc2217.register()
    return options


_held: dict[str, BoardLock] = {}
_seen: set[str] = set()


def hold_board(port: str) -> None:
    """Lock a board for the rest of this session, or of this process if nobody releases it.

    Raises:
        BoardBusy: Another process has it; names that process.
    """
    if port not in _held:
        lock = BoardLock(port)
        lock.acquire()
        _held[port] = lock


def hold_first(ports: Sequence[str]) -> str:
    """Lock the first of several boards that is free, as :func:`hold_board` does; return its port.

    Raises:
        BoardBusy: All are in use; names the holder of each.
    """
    lock = lock_first(ports)
    port = next(port for port in ports if BoardLock(port).identity == lock.identity)
    _held[port] = lock
    return port


def release_boards() -> None:
    """Give free what :func:`hold_board` took; for the end of a session."""
    _seen.clear()
    while _held:
        _held.popitem()[1].release()


class LinkSerial(IdfSerial):  # type: ignore[misc]
    """An ``IdfSerial`` whose port also carries the link.

    Raises:
        BenchError: The board cannot be reached, flashed, or does not run what was flashed.

    Attributes:
        console: If set, gets what the board prints, too.
        flashed: Whether anything was written.
        build: What the board runs now; None if it was not asked for (``--skip-autoflash``).
        retries: What esptool did over again while flashing, one sentence each.
    """

    console: Callable[[bytes], None] | None = None
    LINK_BAUDRATE = 921_600
    skip_autoflash: bool

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Take the arguments of ``IdfSerial``; connects, flashes if needed, and resets."""
        self._link: Link | None = None
        self._reader: _ConsoleReader | None = None
        self.flashed = False
        self.build: BuildFolder | None = None
        self.retries: list[str] = []
        port = kwargs.get("port")
        if port is not None and not port.endswith("*"):
            _take_board(port)
        try:
            super().__init__(*args, **kwargs)
        except (FatalError, OSError) as error:
            raise explain(str(port), error) from error
        hold_board(self.port)

    @property
    def link(self) -> Link:
        """The link to the running firmware; opened when first asked for after a reset.

        Raises:
            LinkError: The board does not answer hello.
        """
        if self._link is None:
            self._open_link(_PATIENCE)
        assert self._link is not None
        return self._link

    def _open_link(self, patience: float) -> None:
        self.stop_redirect_thread()
        self.proc.baudrate = self.LINK_BAUDRATE
        transport = _Borrowed(adopt_port(self.proc, self.port))
        try:
            self._link = Link(
                transport,
                baudrate=self.LINK_BAUDRATE,
                console=self._printed,
                patience=patience,
            )
        except LinkError:
            self.proc.baudrate = _ROM_BAUDRATE
            raise

    def _printed(self, text: bytes) -> None:
        self._q.put(text)
        if self.console is not None:
            self.console(text)

    def start_redirect_thread(self) -> None:
        """Pass on what the board prints, until the link is asked for and does that."""
        if self._reader is None and self._link is None:
            self._reader = _ConsoleReader(
                _Borrowed(adopt_port(self.proc, self.port)), self._printed
            )

    def stop_redirect_thread(self) -> bool:
        """Leave the port alone; True if somebody was reading."""
        was_reading = self._reader is not None or self._link is not None
        if self._reader is not None:
            self._reader.stop()
            self._reader = None
        if self._link is not None:
            self._link.close()
            self._link = None
            self.proc.baudrate = _ROM_BAUDRATE
        return was_reading

    def hard_reset(self) -> None:
        """Restart the firmware by the board's lines; esptool would first talk to it for 3 s."""
        was_reading = self.stop_redirect_thread()
        line_reset(wiring_of(self.port)).pulse(self.proc)
        if was_reading:
            self.start_redirect_thread()

    def flash(self, app: Any = None) -> None:
        """Flash as ``IdfSerial`` does; a failure names its cause and leaves the board reset."""
        try:
            with noted_retries(self.retries):
                super().flash(app)
        except (FatalError, OSError) as error:
            self._reset_after_failure()
            raise explain(self.port, error) from error
        self.flashed = True

    def _post_init(self) -> None:
        # What the board says counts, not pytest-embedded's memory of what this session flashed.
        asked = self.skip_autoflash
        self._mac = bytes(self.esp.read_mac()).hex(":")
        if self.port.startswith("rfc2217:"):
            self._connect_as_if_opened()
        super()._post_init()
        self.skip_autoflash = asked and not self.erase_all

    def _connect_as_if_opened(self) -> None:
        # The port stays open from here on, its lines as the last reset left them; pytest-embedded
        # connects anew to flash, erase and dump.
        connect = self.esp.connect

        def ask_and_connect(*args: Any, **kwargs: Any) -> None:
            ask_for_loader(self.esp._port)
            connect(*args, **kwargs)

        self.esp.connect = ask_and_connect

    def _start(self) -> None:
        self.hard_reset()
        if self.skip_autoflash:
            logging.info("Skipping auto flash...")
            return
        build = BuildFolder.read(Path(self.app.binary_path))
        before = self._running()
        if before is not None and runs(before, build) and not self.erase_all:
            logging.info("The board runs %s already, nothing to flash", build.elf_hash[:12])
            self.build = build
            return
        note = LastFlashed(self._mac)
        note.begin()
        self.flash()
        expect_running(self.port, build, self._running())
        note.end(build)
        self.build = build

    def _running(self) -> Running | None:
        try:
            if self._link is None:
                self._open_link(_PATIENCE_WITH_ANY)
            return Running.told_by(self.link)
        except LinkError as error:
            logging.info("The board does not say what it runs: %s", error)
            return None

    def _reset_after_failure(self) -> None:
        try:
            if not self.proc.is_open:
                self.proc.open()
            line_reset(wiring_of(self.port)).pulse(self.proc)
        except (OSError, BenchError) as error:
            logging.error("The board could not be reset: %s", error)


def _take_board(port: str) -> None:
    """Lock a board and look at it once a session.

    esptool leaves a chip of another kind in its loader and the port open; this look does not.
    """
    hold_board(port)
    if port in _seen:
        return
    try:
        read_mac(port, wiring_of(port))
    except BenchError:
        _held.pop(port).release()
        raise
    _seen.add(port)


class _ConsoleReader:
    """Passes bytes on as soon as they come, in a thread."""

    def __init__(self, transport: Transport, printed: Callable[[bytes], None]) -> None:
        self._transport = transport
        self._printed = printed
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="board console", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Return when the port is no longer read."""
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                data = self._transport.receive(_LOOK)
            except LinkError as error:
                logging.error("%s", error)
                return
            if data:
                self._printed(data)


class _Borrowed:
    """A transport whose port stays open when it is closed."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.name = transport.name

    def send(self, data: bytes) -> None:
        self._transport.send(data)

    def receive(self, timeout: float) -> bytes:
        return self._transport.receive(timeout)

    def wait(self, timeout: float) -> bool:
        return self._transport.wait(timeout)

    def drop_unsent(self) -> None:
        self._transport.drop_unsent()

    def close(self) -> None:
        self._transport.drop_unsent()
