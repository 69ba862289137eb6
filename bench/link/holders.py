"""Who has a port open, as far as the system tells (Linux)."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def describe_holders(device: str) -> str:
    """Name the processes that have ``device`` open, or return an empty string if none is seen."""
    target = os.path.realpath(device)
    names = []
    for process in sorted(Path("/proc").glob("[0-9]*"), key=lambda path: int(path.name)):
        if any(link == target for link in _open_files(process)):
            who = "this program itself" if int(process.name) == os.getpid() else _command(process)
            names.append(f"{who} (process {process.name})")
    return " and ".join(names)


def _open_files(process: Path) -> list[str]:
    files = []
    with contextlib.suppress(OSError):  # it ended, or belongs to somebody else
        for link in os.listdir(process / "fd"):
            with contextlib.suppress(OSError):  # closed meanwhile
                files.append(os.readlink(process / "fd" / link))
    return files


def _command(process: Path) -> str:
    try:
        words = (process / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return "a program"
    return " ".join(word.decode(errors="replace") for word in words if word)[:80] or "a program"
