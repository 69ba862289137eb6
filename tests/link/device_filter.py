"""Talks to device_main.cpp."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path

from bench.link.framing import Decoder, Frame


def ask(device: Path, commands: Iterable[str]) -> list[str]:
    """Run commands, all in one process; return one answer each."""
    text = "\n".join(commands) + "\n"
    done = subprocess.run([device], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def hexed(data: bytes) -> str:
    return data.hex() or "-"


def frames_in(wire: bytes) -> list[Frame]:
    text: list[bytes] = []
    decoder = Decoder(text.append)
    frames = decoder.feed(wire)
    assert not decoder.counters.bad_frames and not text
    return frames


class Device:
    """A runner that keeps its state from one ``take`` to the next, in one process."""

    def __init__(self, device: Path) -> None:
        self._process = subprocess.Popen(
            [device], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.reboots = self.kernel_runs = 0

    def take(self, wire: bytes) -> list[Frame]:
        """Give it bytes of the line; return its replies."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"take {hexed(wire)}\n")
        self._process.stdin.flush()
        sent, reboots, runs = self._process.stdout.readline().split()
        self.reboots, self.kernel_runs = int(reboots), int(runs)
        return frames_in(b"" if sent == "-" else bytes.fromhex(sent))

    def close(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        assert self._process.wait(10) == 0
        self._process.stdout.close()
