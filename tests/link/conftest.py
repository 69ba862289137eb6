from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from link_board import HERE, Board, compile_device, running

from bench.lab.build import build_host
from bench.link import Link


@pytest.fixture(scope="session")
def runner() -> Path:
    return build_host().runner


@pytest.fixture
def board(runner: Path) -> Iterator[Board]:
    with running(runner) as board:
        yield board


@pytest.fixture
def link(board: Board) -> Iterator[Link]:
    with Link.open(board.url) as link:
        yield link


@pytest.fixture(scope="session")
def device(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The device's code as a program that tests can talk to in text."""
    made = tmp_path_factory.mktemp("device") / "device"
    return compile_device(made, HERE / "device_main.cpp", "-fsanitize=address,undefined",
                          "-fno-sanitize-recover=all")  # fmt: skip
