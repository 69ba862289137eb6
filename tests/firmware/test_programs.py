"""Operator, delegate and program runner, in real programs on both host runtimes."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from executorch.runtime import Runtime
from firmware_programs import (
    FIRST,
    SECOND,
    Chain,
    blob,
    delegate_program,
    expected,
    load_library,
    load_on_runner,
    operator_program,
    run_in_python,
    run_on_runner,
    runner_link,
)
from integer_contract import ALL_X, ALL_Y

from bench.lab.build import HostBuild
from bench.link.client import Link
from bench.link.errors import DeviceRefused

INVALID_STATE, INVALID_ARGUMENT, NOT_FOUND, OUT_OF_MEMORY = 0x02, 0x12, 0x20, 0x21
INVALID_PROGRAM, INCOMPATIBLE = 0x23, 0x30


@pytest.fixture(scope="module", autouse=True)
def registered(host_build: HostBuild) -> None:
    load_library(host_build.library)


@pytest.fixture(scope="module")
def link(host_build: HostBuild) -> Iterator[Link]:
    with runner_link(host_build.runner) as opened:
        yield opened


def error_on_runner(link: Link, program: bytes, method: str = "forward") -> int:
    with pytest.raises(DeviceRefused) as caught:
        load_on_runner(link, program, method)
    named = re.search(r"error (\d+) \(Error::\w+\)$", caught.value.text)
    assert named is not None, caught.value.text
    return int(named[1])


def test_both_are_registered() -> None:
    runtime = Runtime.get()
    assert "esp_nn::quantized_mul_int8.out" in runtime.operator_registry.operator_names
    assert runtime.backend_registry.is_available("EspNNBackend")


@pytest.mark.parametrize("route", ["operator", "delegate"])
def test_every_pair_on_both_runtimes(link: Link, route: str) -> None:
    program = operator_program(65536) if route == "operator" else delegate_program(65536)
    want = expected(ALL_X, ALL_Y)
    np.testing.assert_array_equal(run_in_python(program, ALL_X, ALL_Y), want)
    info = load_on_runner(link, program)
    assert [tensor.sizes for tensor in (*info.inputs, *info.outputs)] == [(65536,)] * 3
    got, reply = run_on_runner(link, ALL_X, ALL_Y)
    np.testing.assert_array_equal(got, want)
    assert (reply.native_calls, reply.delegate_calls) == ((2, 0) if route == "operator" else (0, 1))
    assert reply.vector_elements + reply.scalar_elements == 2 * 65536


@pytest.mark.parametrize("n", [1, 7, 31, 33, 100])
@pytest.mark.parametrize("route", ["operator", "delegate"])
def test_inputs_are_set_before_every_execution(link: Link, route: str, n: int) -> None:
    """Memory planning may give an input's memory to a later value."""
    program = operator_program(n) if route == "operator" else delegate_program(n)
    load_on_runner(link, program)
    rng = np.random.default_rng(n)
    for _ in range(3):
        x, y = rng.integers(-128, 128, (2, n)).astype(np.int8)
        for _ in range(2):
            np.testing.assert_array_equal(run_on_runner(link, x, y)[0], expected(x, y))


BAD_PARAMETERS = [
    (128, 5, 7, 1 << 30, -6),
    (-3, -129, 7, 1 << 30, -6),
    (-3, 5, 300, 1 << 30, -6),
    (-3, 5, 7, (1 << 30) - 1, -6),
    (-3, 5, 7, 1 << 31, -6),
    (-3, 5, 7, -1, -6),
    (-3, 5, 7, 1 << 30, -32),
    (-3, 5, 7, 1 << 30, 31),
    (-3, 5, 7, 1 << 30, 1 << 40),
]


@pytest.mark.parametrize("bad", BAD_PARAMETERS, ids=str)
def test_the_operator_refuses_parameters_out_of_range(link: Link, bad: tuple[int, ...]) -> None:
    program = operator_program(8, Chain, bad)
    x = np.zeros(8, np.int8)
    with pytest.raises(RuntimeError):
        run_in_python(program, x, x)
    load_on_runner(link, program)
    with pytest.raises(DeviceRefused):
        run_on_runner(link, x, x)
    # The device is none the worse.
    load_on_runner(link, operator_program(8))
    np.testing.assert_array_equal(run_on_runner(link, x, x)[0], expected(x, x))


GOOD = blob()
OP = struct.Struct("<3I5i")


def test_the_blob_here_is_the_exporters() -> None:
    from bench.espressif.backend import MAGIC, VERSION

    assert struct.unpack_from("<2I", GOOD) == (MAGIC, VERSION)
    assert len(GOOD) == 24 + 4 + 2 * OP.size


MALFORMED = {
    "empty": (b"", INCOMPATIBLE),
    "header cut": (GOOD[:23], INCOMPATIBLE),
    "magic": (blob(magic=0x324E5345), INCOMPATIBLE),
    "older version": (blob(version=0), INCOMPATIBLE),
    "newer version": (blob(version=2), INCOMPATIBLE),
    "header alone": (GOOD[:24], INVALID_PROGRAM),
    "one byte cut": (GOOD[:-1], INVALID_PROGRAM),
    "one byte more": (GOOD + b"\0", INVALID_PROGRAM),
    "an operation cut": (GOOD[: -OP.size], INVALID_PROGRAM),
    **{
        f"{name}={value}": (blob(**{name: value}), INVALID_PROGRAM)
        for name, values in {
            "inputs": (0, 1, 3, 2**32 - 1),
            "outputs": (0, 2, 2**32 - 1),
            "values": (0, 3, 5, 2**32 - 1),
            "ops": (0, 1, 3, 2**27 + 2, 2**32 - 1),
            "output": (0, 1, 4, 2**32 - 1),  # an input, or no value at all
            "a0": (2, 3, 4, 2**32 - 1),  # not defined yet, or no value at all
            "b0": (2, 3, 4, 2**32 - 1),
            "out0": (0, 1, 3, 4, 2**32 - 1),
            "a1": (3, 4),
            "b1": (3, 4),
            "out1": (0, 1, 2, 4),
            "z10": (-129, 128),
            "z20": (-129, 128),
            "zo1": (-129, 128),
            "multiplier0": (-1, 1, (1 << 30) - 1, -(2**31)),
            "shift1": (-32, 31, 2**31 - 1),
        }.items()
        for value in values
    },
    "an input is overwritten": (blob(out0=3, a1=3, out1=0), INVALID_PROGRAM),
    "a value is defined twice": (blob(out0=3, a1=3, out1=3), INVALID_PROGRAM),
    "an output is listed twice": (
        struct.pack("<8I", 0x314E5345, 1, 2, 2, 4, 2, 3, 3) + GOOD[28:],
        INVALID_PROGRAM,
    ),
    # More values than the counts' product can hold, all of them consistent with each other.
    "huge inputs": (blob(inputs=2**31, values=2**31 + 2), INVALID_PROGRAM),
}


@pytest.mark.parametrize(("data", "error"), MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed_delegates_are_refused(link: Link, data: bytes, error: int) -> None:
    program = delegate_program(8, data)
    assert error_on_runner(link, program) == error
    with pytest.raises(RuntimeError):
        Runtime.get().load_program(program).load_method("forward")


def test_a_delegate_for_other_tensors_is_refused(link: Link) -> None:
    """A sound blob of one input, in a program that calls it with two."""
    data = struct.pack("<7I", 0x314E5345, 1, 1, 1, 3, 2, 2)
    data += OP.pack(0, 0, 1, *FIRST) + OP.pack(0, 1, 2, *SECOND)
    load_on_runner(link, delegate_program(8, data))
    with pytest.raises(DeviceRefused):
        run_on_runner(link, np.zeros(8, np.int8), np.zeros(8, np.int8))


def test_unloadable_programs_are_refused(link: Link) -> None:
    good = operator_program(100)
    assert error_on_runner(link, good, "backward") == INVALID_ARGUMENT
    assert error_on_runner(link, b"\0" * 256) == INVALID_PROGRAM
    assert error_on_runner(link, good[:64]) != 0
    assert error_on_runner(link, good[: len(good) // 2]) != 0
    with pytest.raises(DeviceRefused):  # nothing is loaded after a failure
        run_on_runner(link, np.zeros(100, np.int8), np.zeros(100, np.int8))
    load_on_runner(link, good)


class TwoTypes(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x.to(torch.float32) * 0.5, x + y


def test_tensors_of_other_types_go_by_their_bytes(link: Link) -> None:
    from bench.link.messages import ExecuteRequest, Place

    program = operator_program(5, TwoTypes)
    info = load_on_runner(link, program)
    assert [(t.dtype, t.sizes, t.bytes) for t in info.outputs] == [(6, (5,), 20), (1, (5,), 5)]
    x, y = np.array([1, -2, 3, 127, -128], np.int8), np.array([1, 2, 3, -4, 5], np.int8)
    link.write("ram", 0, x.tobytes())
    link.write("ram", 64, y.tobytes())
    outputs = (Place("ram", 128), Place("ram", 192))
    link.execute(ExecuteRequest((Place("ram", 0), Place("ram", 64)), outputs))
    halves = np.frombuffer(link.read("ram", 128, 20), np.float32)
    np.testing.assert_array_equal(halves, x.astype(np.float32) / 2)
    np.testing.assert_array_equal(np.frombuffer(link.read("ram", 192, 5), np.int8), x + y)


def test_a_program_that_needs_more_memory_is_refused(link: Link) -> None:
    assert error_on_runner(link, operator_program(1 << 26)) == OUT_OF_MEMORY
