"""Tiny programs of int8 multiplies, and two runtimes to run them on: Python's and the runner's."""

from __future__ import annotations

import ctypes
import functools
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import executorch.kernels.quantized  # noqa: F401  the operators' out variants
import numpy as np
import pytest
import torch
from executorch.exir import EdgeCompileConfig, to_edge
from executorch.exir.backend.backend_details import PreprocessResult
from executorch.runtime import Runtime
from integer_contract import Int8Array, multiply

import bench.espressif.operators  # noqa: F401  defines esp_nn
from bench.espressif.backend import EspNNBackend, EspNNPartitioner
from bench.lab.host import HostBoard
from bench.link.client import Link
from bench.link.messages import ExecuteReply, ExecuteRequest, Place, ProgramInfo

FIRST = (-3, 5, 7, 1376543211, -6)
SECOND = (-128, 127, -7, 1 << 30, -7)


class Chain(torch.nn.Module):
    """Two multiplies in a row, the second of the first's result and the second input."""

    def __init__(self, first: tuple[int, ...] = FIRST, second: tuple[int, ...] = SECOND) -> None:
        super().__init__()
        self.first, self.second = first, second

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        mul = torch.ops.esp_nn.quantized_mul_int8
        product = mul(x, self.first[0], y, *self.first[1:])
        return mul(product, self.second[0], y, *self.second[1:])


def expected(x: Int8Array, y: Int8Array) -> Int8Array:
    return multiply(multiply(x, y, *FIRST), y, *SECOND)


def blob(**changes: int) -> bytes:
    """The delegate data of ``Chain``; a change names a field of the header or of an operation."""
    fields = {"magic": 0x314E5345, "version": 1, "inputs": 2, "outputs": 1, "values": 4, "ops": 2}
    fields["output"] = 3
    names = ("a", "b", "out", "z1", "z2", "zo", "multiplier", "shift")
    for index, op in enumerate(((0, 1, 2, *FIRST), (2, 1, 3, *SECOND))):
        fields |= {f"{name}{index}": value for name, value in zip(names, op, strict=True)}
    assert changes.keys() <= fields.keys()
    return struct.pack("<7I" + 2 * "3I5i", *(fields | changes).values())


@functools.cache
def operator_program(n: int, module: type[torch.nn.Module] = Chain, *arguments: object) -> bytes:
    return bytes(_edge(n, module(*arguments)).to_executorch().buffer)


@functools.cache
def delegate_program(n: int, data: bytes | None = None) -> bytes:
    """``Chain`` with both operators in one delegate, which carries ``data``."""
    good = blob()
    data = good if data is None else data
    if data != good and len(data) == len(good):
        # Much faster than another export.
        program = delegate_program(n)
        assert program.count(good) == 1
        return program.replace(good, data)
    with pytest.MonkeyPatch.context() as patch:
        result = PreprocessResult(processed_bytes=data)
        patch.setattr(EspNNBackend, "preprocess", staticmethod(lambda *_: result))
        edge = _edge(n, Chain()).to_backend(EspNNPartitioner())
        return bytes(edge.to_executorch().buffer)


def _edge(n: int, module: torch.nn.Module):  # type: ignore[no-untyped-def]
    inputs = (torch.zeros(n, dtype=torch.int8), torch.zeros(n, dtype=torch.int8))
    program = torch.export.export(module, inputs)
    return to_edge(program, compile_config=EdgeCompileConfig(_check_ir_validity=False))


@functools.cache
def load_library(library: Path) -> ctypes.CDLL:
    """Register operator and delegate with the runtime in this process."""
    return ctypes.CDLL(str(library))


def run_in_python(program: bytes, x: Int8Array, y: Int8Array) -> Int8Array:
    method = Runtime.get().load_program(program).load_method("forward")
    (out,) = method.execute((torch.from_numpy(x), torch.from_numpy(y)))
    return np.array(out.numpy())


@contextmanager
def runner_link(runner: Path) -> Iterator[Link]:
    board = HostBoard(runner)
    board.start()
    try:
        with Link.open(board.url) as link:
            yield link
    finally:
        board.stop()


def load_on_runner(link: Link, program: bytes, method: str = "forward") -> ProgramInfo:
    link.write("program", 0, program)
    return link.load_program("program", 0, len(program), method)


def run_on_runner(link: Link, x: Int8Array, y: Int8Array) -> tuple[Int8Array, ExecuteReply]:
    size = (x.nbytes + 63) // 64 * 64
    at = [Place("ram", size * index) for index in range(3)]
    link.write("ram", at[0].offset, x.tobytes())
    link.write("ram", at[1].offset, y.tobytes())
    link.fill("ram", at[2].offset, size, 0x5A)
    reply = link.execute(ExecuteRequest((at[0], at[1]), (at[2],)))
    return np.frombuffer(link.read("ram", at[2].offset, x.nbytes), np.int8), reply
