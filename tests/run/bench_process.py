"""The ``bench`` command as a process, and what it left."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Outcome:
    status: int
    stdout: str
    stderr: str

    @property
    def report(self) -> dict[str, Any]:
        """The one JSON object on standard output."""
        return json.loads(self.stdout)

    def refusal(self) -> str:
        """The one line that a user sees of a usage or environment error."""
        assert self.status == 2, (self.status, self.stdout, self.stderr)
        assert "Traceback" not in self.stdout + self.stderr
        errors = [line for line in self.stderr.splitlines() if line.startswith("bench: error:")]
        assert len(errors) == 1, self.stderr
        return errors[0]


BenchCommand = Callable[..., Outcome]


def children(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in map(int, (task / "children").read_text().split()):
            found += [child, *children(child)]
    return found


def alive(pid: int) -> bool:
    try:
        return "zombie" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def until(condition: Callable[[], bool]) -> bool:
    """Wait for a condition, with patience for a busy machine."""
    for _ in range(600):
        if condition():
            return True
        time.sleep(0.1)
    return False


def on_a_small_disk(*arguments: str | Path, limit: int = 300_000) -> Outcome:
    """Run ``bench`` where no file may have more than so many bytes."""

    def small_disk() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    done = subprocess.run(
        [sys.executable, "-m", "bench", *map(str, arguments)],
        capture_output=True,
        text=True,
        preexec_fn=small_disk,
        check=False,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)
