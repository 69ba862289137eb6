from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
import pytest
import torch

from bench.lab.build import build_host

RunPte = Callable[[bytes, list[np.ndarray]], list[np.ndarray]]


@pytest.fixture(scope="session")
def run_pte() -> RunPte:
    """Run a .pte on ExecuTorch's own runtime in Python, with the firmware's kernels loaded."""
    import executorch.kernels.quantized  # noqa: F401  its operators, for the runtime
    from executorch.runtime import Runtime

    ctypes.CDLL(str(build_host().library))
    runtime = Runtime.get()

    def run(pte: bytes, inputs: list[np.ndarray], method: str = "forward") -> list[np.ndarray]:
        program = runtime.load_program(pte).load_method(method)
        outputs = program.execute([torch.from_numpy(array) for array in inputs])
        return [output.numpy().copy() for output in outputs]

    return run
