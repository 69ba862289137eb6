"""The same empty request through pytest-embedded, for comparison; run by the benchmark.

A test file, so that pytest-embedded's own fixtures drive its own port. Reads pairs of request and
reply from the file named by BENCH_ROUND_TRIPS and writes the seconds each took beside it.
"""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path
from typing import Any


def test_round_trips(dut: Any) -> None:
    """Time write and expect for each pair."""
    work = Path(os.environ["BENCH_ROUND_TRIPS"])
    seconds = []
    for request, reply in json.loads(work.read_text(encoding="utf-8")):
        start = time.perf_counter()
        dut.write(bytes.fromhex(request))
        dut.expect(re.compile(re.escape(bytes.fromhex(reply)), re.DOTALL), timeout=10)
        seconds.append(time.perf_counter() - start)
    work.with_suffix(".seconds").write_text(json.dumps(seconds), encoding="utf-8")
