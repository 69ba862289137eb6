"""Kernels and runner take all their memory at the start: nothing of theirs knows the heap."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from firmware_kernels import compiler
from needs import lacks

from bench.paths import project_root

FIRMWARE = project_root() / "firmware"
SOURCES = sorted([*(FIRMWARE / "kernels").glob("*.cpp"), *(FIRMWARE / "runner").glob("*.cpp")])
HEAP = re.compile(r"\b(malloc|calloc|realloc|free|strdup|_Zn[wa]\w*|_Zd[la]\w*)\b")


def undefined(source: Path, folder: Path) -> str:
    """Return the symbols that a source's object takes from elsewhere."""
    unit = folder / f"{source.stem}.o"
    includes = [
        f"-I{FIRMWARE / name}" for name in ("kernels", "executorch", "runner", "ports/host")
    ]
    flags = ("-std=c++17", "-O2", "-fno-exceptions", "-fno-rtti", "-c")
    subprocess.run([compiler(), *flags, *includes, source, "-o", unit], check=True)
    return subprocess.run(["nm", "-u", unit], check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_takes_nothing_from_the_heap(source: Path, tmp_path: Path) -> None:
    if shutil.which("nm") is None:
        lacks("no nm: install binutils")
    assert HEAP.search(undefined(source, tmp_path)) is None


def test_the_heap_would_be_seen(tmp_path: Path) -> None:
    source = tmp_path / "leaky.cpp"
    source.write_text("int* leak(int n) { return new int[n]; }\n")
    assert HEAP.search(undefined(source, tmp_path)) is not None
