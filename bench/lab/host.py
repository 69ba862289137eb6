"""The host board: the firmware as a process behind a pseudo-terminal."""

from __future__ import annotations

import os
import subprocess
import tempfile
import tty
from pathlib import Path
from typing import IO

from bench.errors import BenchError
from bench.lab.boards import board_type

# A process that got a signal to stop and does not is killed after this many seconds.
_PATIENCE = 2.0


class HostBoard:
    """Runs a host runner; the bench opens the pty's other end as it opens a serial port."""

    def __init__(self, runner: Path, name: str = "host") -> None:
        """Remember the runner's executable; ``start`` runs it."""
        self.name = name
        self.type = board_type("host")
        self._runner = runner
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] | None = None
        self._anchor = -1
        self._url = ""

    @property
    def url(self) -> str:
        """Path of the pty of the running process."""
        return self._url

    def start(self) -> None:
        """Start the process on a new pty.

        Raises:
            BenchError: The executable cannot be run.
        """
        board_end, self._anchor = os.openpty()
        tty.setraw(self._anchor)
        self._url = os.ttyname(self._anchor)
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  (closed by stop)
        try:
            self._process = subprocess.Popen(
                [self._runner], stdin=board_end, stdout=board_end, stderr=self._errors
            )
        except OSError as error:
            self.stop()
            raise BenchError(f"cannot run {self._runner}: {error.strerror}") from error
        finally:
            # Only the process may hold its end: when it dies, the line must be seen to close.
            # The bench's end stays open (the anchor), so that the line does not close before
            # the link opens it.
            os.close(board_end)

    def reset(self) -> None:
        """Kill the process and start another, on another pty."""
        self.stop()
        self.start()

    def stop(self) -> None:
        """End the process and close the line."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None
        if self._errors is not None:
            self._errors.close()
            self._errors = None
        if self._anchor >= 0:
            os.close(self._anchor)
            self._anchor = -1

    def post_mortem(self) -> str | None:
        """Say with which status the process ended and what it said last."""
        if self._process is None or self._errors is None:
            return None
        try:
            # A line that was just seen to close precedes the exit by a moment.
            status = self._process.wait(0.5)
        except subprocess.TimeoutExpired:
            return None
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        how = f"was killed by signal {-status}" if status < 0 else f"exited with status {status}"
        return f"the runner {self._runner.name} {how}" + (f": {lines[-1]}" if lines else "")
