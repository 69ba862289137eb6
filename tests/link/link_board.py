"""A host runner behind a pty, and the C++ side of the protocol as a program."""

from __future__ import annotations

import os
import subprocess
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.paths import project_root

HERE = Path(__file__).parent
FIRMWARE = project_root() / "firmware"
RUNNER_SOURCES = sorted((FIRMWARE / "runner").glob("*.cpp"))
FLAGS = ["-std=c++17", "-O1", "-g", "-Wall", "-Wextra", "-Wconversion", "-Werror",
         "-fno-exceptions", "-fno-rtti", "-ffp-contract=off"]  # fmt: skip
INCLUDES = [f"-I{FIRMWARE / part}" for part in ("runner", "kernels", "executorch", "ports/host")]


class Board:
    """A running host runner; ``url`` is the pty's other end."""

    def __init__(self, runner: Path) -> None:
        self._runner = runner
        self.start()

    def start(self) -> None:
        board_end, self._anchor = os.openpty()
        tty.setraw(self._anchor)
        self.process = subprocess.Popen([self._runner], stdin=board_end, stdout=board_end)
        os.close(board_end)
        self.url = os.ttyname(self._anchor)

    def stop(self) -> None:
        os.close(self._anchor)
        self.process.kill()
        self.process.wait()

    def reset(self) -> None:
        self.stop()
        self.start()


@contextmanager
def running(runner: Path) -> Iterator[Board]:
    board = Board(runner)
    try:
        yield board
    finally:
        board.stop()


@contextmanager
def pty_with(data: bytes) -> Iterator[tuple[str, int]]:
    """Yield a port, and the descriptor of its other end, that has said ``data`` so far."""
    board_end, anchor = os.openpty()
    tty.setraw(anchor)
    os.write(board_end, data)
    try:
        yield os.ttyname(anchor), board_end
    finally:
        os.close(anchor)
        os.close(board_end)


@contextmanager
def listening(runner: Path) -> Iterator[str]:
    """Yield the address of a host runner that serves a socket."""
    process = subprocess.Popen([runner, "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE)
    assert process.stderr is not None
    try:
        yield process.stderr.readline().decode().split()[-1]
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def compile_device(made: Path, *extra: str | Path) -> Path:
    """Compile the runner's sources with ``extra`` sources and flags."""
    compiler = os.environ.get("CXX", "g++")
    subprocess.run([compiler, *FLAGS, *INCLUDES, *RUNNER_SOURCES, *extra, "-o", made], check=True)
    return made
