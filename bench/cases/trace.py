"""Reads what a board recorded of a program's operators: an ETDump, by ExecuTorch's Inspector."""

from __future__ import annotations

import warnings

import numpy as np
from executorch.devtools import Inspector
from executorch.devtools.inspector._inspector_utils import TimeScale

_EXECUTE = "Execute"
_KERNEL = "native_call_"
# Events around those of the kernels: the runtime's dispatch.
_DISPATCH = ("OPERATOR_CALL", "Method::execute")


def operator_ticks(etdump: bytes) -> dict[str, int]:
    """Return the ticks of each operator of a program, in order of execution.

    Args:
        etdump: Trace of several executions; the first one, which is cold, is left out.

    Returns:
        ``"<instruction> <operator>"`` to the median over the executions, in the clock's ticks. A
        delegate is one operator.
    """
    with warnings.catch_warnings():
        # It misses the tensors' data, which nobody asked the board for.
        warnings.simplefilter("ignore")
        # Equal scales: ticks as they were recorded.
        inspector = Inspector(
            etdump_data=etdump,
            source_time_scale=TimeScale.NS,
            target_time_scale=TimeScale.NS,
        )
    ticks: dict[str, int] = {}
    for block in inspector.event_blocks:
        for event in block.events if block.name == _EXECUTE else ():
            if event.name in _DISPATCH or event.perf_data is None or event.is_delegated_op:
                continue
            name = f"{event._instruction_id} {event.name.removeprefix(_KERNEL)}"
            ticks[name] = int(np.median(event.perf_data.raw[1:] or event.perf_data.raw))
    return ticks
