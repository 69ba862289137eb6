"""The examples in docs/ are what the command takes."""

from __future__ import annotations

import configparser
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import yaml

from bench.cli import bench
from bench.lab.boards import board_types
from bench.lab.inventory import LabBoard, read_inventory
from bench.runs.nightly_known_bad import read_known_bad

DOCS = Path(__file__).parent.parent.parent / "docs"
EXAMPLES = DOCS / "examples"


def github() -> list[str]:
    workflow = yaml.safe_load((EXAMPLES / "github-nightly.yml").read_text())
    (job,) = workflow["jobs"].values()
    return [step["run"] for step in job["steps"] if "run" in step]


def gitlab() -> list[str]:
    (job,) = yaml.safe_load((EXAMPLES / "gitlab-ci.yml").read_text()).values()
    return [*job["script"], *job["after_script"]]


def systemd() -> list[str]:
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read(EXAMPLES / "esp-nn-bench-nightly.service")
    return [value for key, value in unit["Service"].items() if key.startswith("Exec")]


def page() -> list[str]:
    text = (DOCS / "nightly.md").read_text()
    blocks = "\n".join(re.findall(r"^```\n(.*?)^```$", text, re.M | re.S))
    return [line for line in blocks.splitlines() if line.startswith("bench ")]


def bench_calls(lines: list[str]) -> Iterator[list[str]]:
    """Yield the arguments of each call of ``bench`` in shell lines."""
    for line in lines:
        words = shlex.split(line)
        if Path(words[0]).name == "bench":
            yield words[1:]


@pytest.mark.parametrize(
    ("lines", "commands"),
    [
        (github, ["nightly", "report"]),
        (gitlab, ["nightly", "report"]),
        (systemd, ["nightly", "report"]),
        (page, ["nightly", "nightly", "nightly"]),
    ],
)
def test_the_command_takes_every_line(lines, commands) -> None:  # type: ignore[no-untyped-def]
    calls = list(bench_calls(lines()))
    assert [call[0] for call in calls] == commands
    for name, *arguments in calls:
        command = bench.get_command(click.Context(bench), name)
        assert command is not None
        command.make_context(name, list(arguments))  # parses; raises on what it does not know


def test_an_unknown_option_would_be_noticed() -> None:
    command = bench.get_command(click.Context(bench), "nightly")
    assert command is not None
    with pytest.raises(click.NoSuchOption):
        command.make_context("nightly", ["--labb", "x"])


def test_the_inventory_and_the_list_are_read() -> None:
    boards = read_inventory(EXAMPLES / "lab.toml")
    assert boards[-1] == LabBoard("host", "host", None)
    assert {board.target for board in boards} <= set(board_types())
    assert [entry.case for entry in read_known_bad(EXAMPLES / "known-bad.toml")] == [
        "align/out+*",
        "glu/delegate",
    ]


def test_the_page_names_files_that_are_there() -> None:
    named = re.findall(r"\]\((examples/[^)]+)\)", (DOCS / "nightly.md").read_text())
    assert {DOCS / name for name in named} | {EXAMPLES / "esp-nn-bench-nightly.timer"} == set(
        EXAMPLES.iterdir()
    )


def test_the_lab_s_own_files_are_no_board_types(tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    boards = tmp_path / "boards"
    boards.mkdir()
    (boards / "host.toml").write_text((DOCS.parent / "boards" / "host.toml").read_text())
    for name in ("lab.toml", "known-bad.toml"):
        (boards / name).write_text((EXAMPLES / name).read_text())
    monkeypatch.setattr("bench.lab.boards.project_root", lambda: tmp_path)
    assert list(board_types()) == ["host"]
