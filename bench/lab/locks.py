"""One user a board at a time, across all processes of this machine.

The lock is the kernel's (flock): it goes with its process, however that ends. A note beside it
names the holder; a note that outlives its process does not matter.
"""

from __future__ import annotations

import getpass
import hashlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from urllib.parse import urlsplit

from filelock import FileLock, Timeout

from bench.errors import BenchError


class BoardBusy(BenchError):
    """Another process uses the board; the message names it."""


class BoardLock:
    """Exclusive use of a board from :meth:`acquire` to :meth:`release`; a context manager.

    Hold it for a whole session, from before the port is opened.
    """

    def __init__(self, identity: str, *, folder: Path | None = None) -> None:
        """Name the board.

        Args:
            identity: Its port or its MAC; who knows both takes both (:func:`lock_board`). Devices
                are followed to where their links point; URLs compare by scheme, host and TCP
                port, and MACs in capitals and small letters.
            folder: Where the locks of this machine are; all users share the default.
        """
        self.identity = _normal(identity)
        self._folder = folder or Path(tempfile.gettempdir()) / "esp-nn-bench-locks"
        name = hashlib.sha256(self.identity.encode()).hexdigest()[:24]
        self._note = self._folder / f"{name}.json"
        # Never a lock by the mere existence of a file: that one would survive a crash.
        self._lock = FileLock(
            self._folder / f"{name}.lock", mode=0o666, thread_local=False, fallback_to_soft=False
        )

    def __enter__(self) -> BoardLock:
        """Acquire without waiting."""
        self.acquire()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Release."""
        self.release()

    def acquire(self, timeout: float = 0.0) -> None:
        """Take the board, waiting up to ``timeout`` seconds for it.

        Raises:
            BoardBusy: Somebody else has it.
            BenchError: The folder of the locks cannot be used.
        """
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            if self._folder.stat().st_uid == os.getuid():
                self._folder.chmod(0o777)
            self._lock.acquire(timeout=timeout)
        except Timeout as error:
            raise BoardBusy(
                f"board {self.identity} is in use by {self._holder()}: wait for it, end it, or "
                "take another board"
            ) from error
        except OSError as error:
            raise BenchError(
                f"cannot lock board {self.identity} in {self._folder} ({error.strerror}): make "
                "that folder writable"
            ) from error
        self._write_note()

    def release(self) -> None:
        """Give the board free."""
        if self._lock.is_locked:
            self._note.unlink(missing_ok=True)
            self._lock.release()

    def _write_note(self) -> None:
        try:
            user = getpass.getuser()
        except (KeyError, OSError):  # a container's user that has no name
            user = str(os.getuid())
        note = {
            "pid": os.getpid(),
            "user": user,
            "command": " ".join([Path(sys.argv[0]).name, *sys.argv[1:]])[:200],
            "since": time.strftime("%Y-%m-%d %H:%M:%S"),
        }
        self._note.unlink(missing_ok=True)
        self._note.write_text(json.dumps(note))

    def _holder(self) -> str:
        try:
            note = json.loads(self._note.read_text())
            return (
                f"process {note['pid']} of {note['user']} since {note['since']} ({note['command']})"
            )
        except (OSError, ValueError, KeyError, TypeError):
            return "another process"


@contextmanager
def lock_board(port: str, mac: str | None = None, *, folder: Path | None = None) -> Iterator[None]:
    """Lock a board by its port and, where it is known, by its MAC.

    Every user of a board knows its port; the MAC keeps those out that come by another port.

    Raises:
        BoardBusy: Somebody else has the one or the other; neither is held then.
        BenchError: The folder of the locks cannot be used.
    """
    with ExitStack() as held:
        for identity in (port, mac):
            if identity is not None:
                held.enter_context(BoardLock(identity, folder=folder))
        yield


def lock_first(identities: Sequence[str], *, folder: Path | None = None) -> BoardLock:
    """Lock the first of several boards that is free, and return its acquired lock.

    Raises:
        BoardBusy: All are in use; names the holder of each.
    """
    busy = []
    for identity in identities:
        lock = BoardLock(identity, folder=folder)
        try:
            lock.acquire()
        except BoardBusy as error:
            busy.append(str(error))
        else:
            return lock
    raise BoardBusy("; ".join(busy))


def _normal(identity: str) -> str:
    if identity.startswith("/"):
        return os.path.realpath(identity)
    identity = identity.lower()
    try:
        url = urlsplit(identity)
        named = url.hostname is not None and url.port is not None
    except ValueError:  # no port that could be opened
        return identity
    if not named:
        return identity.rstrip("/")
    place = f"127.0.0.1:{url.port}" if url.hostname == "localhost" else url.netloc
    return f"{url.scheme}://{place}"
