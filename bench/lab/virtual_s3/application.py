"""The application on the board: a host process that serves the link on its stdin and stdout."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

from bench.errors import BenchError
from bench.lab.virtual_s3.loop import Loop, Stream


class Application:
    """One running process; it ends when this object is stopped, or when its stdin does.

    The process learns what it stands for from its environment: ``BENCH_FIRMWARE_HASH`` is the ELF
    hash of the flashed image, ``BENCH_BOARD_ID`` the board's MAC, ``BENCH_TARGET`` the target.
    """

    def __init__(
        self,
        loop: Loop,
        runner: Path,
        elf_hash: str,
        board_id: str,
        on_data: Callable[[bytes], None],
    ) -> None:
        """Start ``runner``; ``on_data`` gets its output, and b"" when it ends.

        Raises:
            BenchError: It cannot be started.
        """
        ours, theirs = socket.socketpair()
        environment = dict(
            os.environ,
            BENCH_FIRMWARE_HASH=elf_hash,
            BENCH_BOARD_ID=board_id,
            BENCH_TARGET="esp32s3",
        )
        try:
            self._process = subprocess.Popen(
                [str(runner)], stdin=theirs.fileno(), stdout=theirs.fileno(), env=environment
            )
        except OSError as error:
            ours.close()
            raise BenchError(
                f"cannot start {runner} ({error.strerror}): give an executable as --runner"
            ) from error
        finally:
            theirs.close()
        self.stream = Stream(loop, ours, on_data)
        self.received = 0

    def stop(self) -> None:
        """End the process and wait for it."""
        self.stream.close()
        self._process.kill()
        self._process.wait()
