from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from compiled_boards import ESPNN, HERE, NATIVE, compile_board, compiler
from needs import lacks

# The link's tests, to be run on a board of 32 bits as well.
sys.path.append(str(HERE.parent / "link"))


@pytest.fixture(scope="session")
def espnn_board(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A host board with the variants of an ESP32-S3, on the stand-in ESP-NN."""
    return compile_board(tmp_path_factory.mktemp("espnn-board"), ESPNN)


@pytest.fixture(scope="session")
def can_make_32_bits(tmp_path_factory: pytest.TempPathFactory) -> None:
    source = tmp_path_factory.mktemp("m32") / "hello.cpp"
    source.write_text('#include <cstdio>\nint main() { return std::puts("") < 0; }\n')
    command = [compiler(), "-m32", source, "-o", source.with_suffix("")]
    if subprocess.run(command, capture_output=True).returncode != 0:
        lacks("no 32-bit C++ library for this compiler: install g++-multilib")


@pytest.fixture(scope="session")
def board_of_32_bits(can_make_32_bits: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_board(tmp_path_factory.mktemp("32-bits"), NATIVE, "-m32")
