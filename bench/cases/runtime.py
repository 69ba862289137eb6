"""ExecuTorch's Python runtime with the firmware's kernels: a host reference for programs."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, TimeoutError
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from types import TracebackType

import numpy as np

from bench.cases.program import Array
from bench.errors import BenchError

# Seconds for a program on all its inputs, the start of the process included.
_PATIENCE = 120.0


class RuntimeDied(BenchError):
    """The runtime's process ended, or did not return, while it ran a program."""


class Runtime:
    """The runtime in a process of its own.

    A kernel that crashes must not take the bench with it, and a process can register a kernel
    library only once.
    """

    def __init__(self, library: Path) -> None:
        """Start the process; it gets ready while the caller exports its first model.

        Args:
            library: Shared object that registers the firmware's kernels.
        """
        self._library = library
        self._start()

    def _start(self) -> None:
        self._pool = ProcessPoolExecutor(
            max_workers=1,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_register,
            initargs=(self._library,),
        )
        self._pool.submit(os.getpid)

    def __enter__(self) -> Runtime:
        """Return the runtime itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the process, whatever it does."""
        self._kill()

    def _kill(self) -> None:
        # The executor itself would wait for a kernel that never returns.
        for process in list((self._pool._processes or {}).values()):
            process.kill()
        self._pool.shutdown(cancel_futures=True)

    def run(self, pte: bytes, inputs: Sequence[Sequence[Array]]) -> list[list[Array]]:
        """Run a program on each input set and return every output of each.

        Raises:
            RuntimeDied: The program crashed the process or did not return; the next one gets a
                fresh process.
            BenchError: The runtime refuses the program.
        """
        try:
            return self._pool.submit(_run, pte, inputs).result(_PATIENCE)
        except (BrokenProcessPool, TimeoutError) as error:
            self._kill()
            self._start()
            how = "died" if isinstance(error, BrokenProcessPool) else "did not return"
            raise RuntimeDied(
                f"ExecuTorch's Python runtime {how} while it ran the program with these kernels"
            ) from error
        except RuntimeError as error:
            raise BenchError(f"the ExecuTorch runtime refuses the program: {error}") from error


def _register(library: Path) -> None:
    import executorch.extension.pybindings.portable_lib  # the registry
    import executorch.kernels.quantized  # noqa: F401  (and its operators)

    ctypes.CDLL(str(library))


def _run(pte: bytes, inputs: Sequence[Sequence[Array]]) -> list[list[Array]]:
    import torch
    from executorch.runtime import Runtime as Executorch

    runtime = Executorch.get()
    try:
        method = runtime.load_program(pte).load_method("forward")
    except RuntimeError as error:
        missing = _operators(pte) - set(runtime.operator_registry.operator_names)
        if not missing:
            raise
        raise RuntimeError(f"it has no kernel for {', '.join(sorted(missing))} ({error})") from None
    if method is None:
        raise RuntimeError("it has no method 'forward'")
    return [
        # The runtime reuses the outputs' memory for the next execution.
        [np.array(out) for out in method.execute([torch.from_numpy(np.array(a)) for a in arrays])]
        for arrays in inputs
    ]


def _operators(pte: bytes) -> set[str]:
    from executorch.exir._serialize._program import deserialize_pte_binary

    from bench.espressif.export import operator_name

    plan = deserialize_pte_binary(pte).program.execution_plan[0]
    return {operator_name(operator) for operator in plan.operators}
