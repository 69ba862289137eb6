"""The lab's inventory: what is refused, and how that is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from night import nightly

from bench.errors import BenchError
from bench.lab.inventory import LabBoard, parse_boards, read_inventory

GOOD = """
[[board]]
name = "s3-1"
target = "esp32s3"
port = "/dev/ttyACM0"

[[board]]
name = "reference"
target = "host"
"""


def board(**entry: str) -> str:
    return "[[board]]\n" + "".join(f'{key} = "{value}"\n' for key, value in entry.items())


def test_an_inventory(tmp_path: Path) -> None:
    path = tmp_path / "lab.toml"
    path.write_text(GOOD)
    assert read_inventory(path) == [
        LabBoard("s3-1", "esp32s3", "/dev/ttyACM0"),
        LabBoard("reference", "host", None),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no boards"),
        ("board = 3", r"\[board\] must be a list"),
        ("[board]\nname = 'a'", r"\[board\] must be a list"),
        ("[[boards]]\nname = 'a'", "unknown: boards"),
        ("[[board]\n", "not TOML"),
        (board(target="host"), "board 1: no 'name'"),
        (board(name="a"), r"board 1 \('a'\): no 'target'"),
        (board(name="a", target="esp32s3"), r"board 1 \('a'\): no 'port'"),
        (board(name="a", target="esp8266"), r"board 1 \('a'\): unknown target 'esp8266'"),
        (board(name="a", target="host", prot="x"), r"\('a'\): unknown 'prot'; a board has"),
        ("[[board]]\nname = 7\ntarget = 'host'", "name = 7 must be a text"),
        (board(name="a", target="host", port=""), "port = '' must be a text"),
        (board(name="a", target="host") * 2, "two boards are called 'a'"),
        (
            board(name="a", target="esp32s3", port="/dev/ttyA")
            + board(name="b", target="esp32s3", port="/dev/./ttyA"),
            "'a' and 'b' have the same port",
        ),
    ],
)
def test_a_wrong_inventory_is_told_in_one_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "lab.toml"
    path.write_text(text)
    with pytest.raises(BenchError, match=said) as error:
        read_inventory(path)
    assert str(path) in str(error.value) and "\n" not in str(error.value)


def test_one_port_by_two_names_of_it(tmp_path: Path) -> None:
    (tmp_path / "ttyB").symlink_to(tmp_path / "ttyA")
    with pytest.raises(BenchError, match="have the same port"):
        parse_boards([f"a={tmp_path / 'ttyA'}", f"b={tmp_path / 'ttyB'}"], "esp32s3")


def test_boards_of_the_command_line() -> None:
    assert parse_boards(["a=host", "b=socket://h:1?x=y"], "esp32s3") == [
        LabBoard("a", "host", None),
        LabBoard("b", "esp32s3", "socket://h:1?x=y"),
    ]
    for text in ("a", "a=", "=host", "a=esp32s3", "a=ttyACM0"):
        with pytest.raises(BenchError, match=f"--board {text}: "):
            parse_boards([text], "esp32s3")
    with pytest.raises(BenchError, match="unknown target"):
        parse_boards(["a=/dev/x"], "esp8266")


def test_the_command_refuses_in_one_line(tmp_path: Path) -> None:
    missing = tmp_path / "lab.toml"
    line = nightly(tmp_path, "--lab", missing).refusal()
    assert str(missing) in line and "[[board]]" in line and "--board NAME=URL" in line
    missing.write_text(board(name="a", target="host") * 2)
    assert "two boards" in nightly(tmp_path, "--lab", missing).refusal()
    assert not (tmp_path / "bench.sqlite").exists()
