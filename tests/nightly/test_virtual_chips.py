"""A night on virtual ESP32-S3s, which print a chip's panic and restart by themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from night import FEW_CASES, nightly

from bench.lab.build import build_host
from bench.lab.image import BuildFolder
from bench.lab.virtual_s3 import Fault, VirtualS3, write_build_folder


@pytest.fixture
def chip(tmp_path: Path) -> Iterator[Callable[..., str]]:
    """Start flashed virtual chips; gives their URLs."""
    build = build_host()
    folder = BuildFolder.read(write_build_folder(tmp_path / "build", build.firmware_hash.encode()))
    flash = bytearray(b"\xff" * 0x400000)
    for offset, path in folder.files:
        data = path.read_bytes()
        flash[offset : offset + len(data)] = data

    with ExitStack() as running:

        def start(mac_end: int, *faults: str) -> str:
            flash_file = tmp_path / f"flash{mac_end}"
            flash_file.write_bytes(flash)
            board = running.enter_context(
                VirtualS3(
                    flash_file,
                    mac=f"7c:df:a1:00:00:{mac_end:02x}",
                    runner=build.runner,
                    faults=map(Fault.parse, faults),
                )
            )
            return board.url

        yield start


def test_panic_hang_and_right_are_told_apart_on_chips(
    chip: Callable[..., str], tmp_path: Path
) -> None:
    # Late enough for hello, early enough for the first case; each time anew after a restart.
    lab = tmp_path / "lab.toml"
    lab.write_text(
        "\n".join(
            f'[[board]]\nname = "{name}"\ntarget = "esp32s3"\nport = "{url}"'
            for name, url in {
                "panics": chip(1, "panic@400*always"),
                "hangs": chip(2, "hang@400*always"),
                "right": chip(3),
                "once": chip(4, "panic@400"),
            }.items()
        )
    )
    night = nightly(tmp_path / "results", "--lab", lab, *FEW_CASES, "--json")
    assert night.status == 1, night.stderr
    boards = night.boards()
    assert {name: board["state"] for name, board in boards.items()} == {
        "panics": "panicked",
        "hangs": "hung",
        "right": "right",
        "once": "right",
    }
    assert "Guru Meditation Error: Core  0 panic'ed" in boards["panics"]["detail"]
    # What came back and was right when asked again does not fail the night, and is not hidden.
    assert "came back: Guru Meditation" in boards["once"]["detail"]
    assert boards["once"]["comparisons"] == boards["right"]["comparisons"]
    assert {board for board, _ in night.problems()} == {"panics", "hangs"}
    assert all(board["virtual"] and board["target"] == "esp32s3" for board in boards.values())
    # Three cases in a row, then no more: the last ones are not run.
    assert boards["panics"]["not_run"] > 0 and boards["hangs"]["not_run"] > 0
