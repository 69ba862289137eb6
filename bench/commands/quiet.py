"""Keeps the chatter of torch and the ExecuTorch runtime out of the terminal."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def quiet() -> Iterator[Callable[[str], None]]:
    """Hold both standard streams back, at the level of the file, as C++ code writes there too.

    Yields a function that writes a line to the real standard error. What was held back is shown
    only if the block ends in an exception that nobody expected.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    out, real = os.dup(1), os.dup(2)

    def say(line: str) -> None:
        os.write(real, f"{line}\n".encode())

    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 1)
        os.dup2(held.fileno(), 2)
        try:
            yield say
        except Exception as error:
            from bench.errors import BenchError

            if not isinstance(error, BenchError):
                held.seek(0)
                os.write(real, held.read())
            raise
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os.dup2(out, 1)
            os.dup2(real, 2)
            os.close(out)
            os.close(real)
