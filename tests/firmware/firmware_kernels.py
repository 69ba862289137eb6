"""The C++ kernels, called on numpy arrays."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.paths import project_root

HERE = Path(__file__).parent
FLAGS = ("-std=c++17", "-ffp-contract=off", "-Wall", "-Wextra", "-Wconversion", "-Werror")


class Params(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_int32) for name in ("z1", "z2", "zo", "multiplier", "shift")),
        ("act_min", ctypes.c_int32),
        ("act_max", ctypes.c_int32),
        *((name, ctypes.c_double) for name in ("scale1", "scale2", "scale_out")),
    )


class Paths(ctypes.Structure):
    _fields_ = (("vector", ctypes.c_uint32), ("scalar", ctypes.c_uint32))


class Kernels:
    """A shared library of c_api.cpp and the kernels."""

    def __init__(self, library: Path) -> None:
        self._library = ctypes.CDLL(str(library))
        self._library.params_valid.restype = ctypes.c_bool

    def valid(self, *params: int) -> bool:
        return bool(self._library.params_valid(ctypes.byref(Params(*params))))

    def run(
        self,
        variant: str,
        x: NDArray[np.int8],
        y: NDArray[np.int8],
        out: NDArray[np.int8],
        params: Params,
    ) -> Paths:
        assert x.size == y.size == out.size
        paths = Paths()
        pointers = (ctypes.c_void_p(a.ctypes.data) for a in (x, y, out))
        getattr(self._library, variant)(
            *pointers, ctypes.c_size_t(x.size), ctypes.byref(params), ctypes.byref(paths)
        )
        return paths

    def native(
        self,
        x: NDArray[np.int8],
        y: NDArray[np.int8],
        z1: int,
        z2: int,
        zo: int,
        multiplier: int,
        shift: int,
        act_min: int = -128,
        act_max: int = 127,
    ) -> NDArray[np.int8]:
        out = np.empty_like(x)
        self.run("native", x, y, out, Params(z1, z2, zo, multiplier, shift, act_min, act_max))
        return out


def compiler() -> str:
    return os.environ.get("CXX") or shutil.which("c++") or "g++"


def compile_kernels(made: Path, *arguments: str | Path) -> Path:
    """Compile the kernels with more sources and flags."""
    kernels = project_root() / "firmware" / "kernels"
    command = [compiler(), *FLAGS, f"-I{kernels}", *sorted(kernels.glob("*.cpp")), *arguments]
    result = subprocess.run([*command, "-o", made], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return made
