"""Seeded runs over faulty lines: each ends with the right answer or a clear failure, in time.

    python tests/link/soak.py [--runs N] [--from SEED] [--jobs N]

A seed fixes the faults; ``--from SEED --runs 1`` repeats one run.
"""

from __future__ import annotations

import argparse
import collections
import math
import random
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from link_board import Board, running

from bench.lab.build import build_host
from bench.link import (
    DeviceRebooted,
    KernelParams,
    KernelRequest,
    Link,
    LinkError,
    Place,
)
from bench.link.fault_spec import FaultSpec
from bench.link.faults import FaultyLine

KINDS = ("drop", "flip", "dup", "cut", "text", "replay", "delay", "hang", "reset", "close",
         "rename", "mixed")  # fmt: skip
ELEMENTS = 20_000
# A greeting and the sum of all requests' deadlines, and half as much for a busy machine.
LONGEST = 90.0


@dataclass(frozen=True)
class Outcome:
    seed: int
    kind: str
    spec: str
    seconds: float
    verdict: str  # "right", "failed" (clearly), or what is wrong


def make_spec(seed: int) -> tuple[str, FaultSpec]:
    chance = random.Random(seed)
    kind = KINDS[seed % len(KINDS)]

    def rate() -> float:
        return float(f"{10 ** chance.uniform(-5, -2):.3g}")

    if kind == "mixed":
        some = chance.sample(("drop", "flip", "dup", "cut", "text"), chance.randint(2, 5))
        share = {key: rate() / len(some) for key in some}
        spec = FaultSpec(**share, replay=chance.choice((0, 0.05)),  # type: ignore[arg-type]
                         delay=chance.choice((0, 0.02)), latency=chance.choice((0, 0.005)),
                         seed=seed)  # fmt: skip
    elif kind == "replay":
        spec = FaultSpec(replay=10 * rate(), seed=seed)
    elif kind == "delay":
        spec = FaultSpec(delay=chance.uniform(0.001, 0.1), seed=seed)
    elif kind in ("hang", "reset", "close", "rename"):
        at = int(math.exp(chance.uniform(math.log(50), math.log(60_000))))
        spec = FaultSpec(**{kind: at}, seed=seed)  # type: ignore[arg-type]
    else:
        spec = FaultSpec(**{kind: rate()}, seed=seed)  # type: ignore[arg-type]
    return kind, spec


def data_of(seed: int) -> tuple[bytes, bytes, bytes]:
    """Inputs, and what the multiply makes of them by its definition: y is 0 but for one."""
    chance = random.Random(f"data {seed}")
    x = chance.randbytes(ELEMENTS)
    # With zero points 0 and a factor of 1/2 * 2 = 1, out = clamp(x * y); y is -1, 0 or 1.
    y = bytes(chance.choice((0xFF, 0, 1)) for _ in range(ELEMENTS))
    out = bytearray()
    for a, b in zip(memoryview(x).cast("b"), memoryview(y).cast("b"), strict=True):
        out.append(max(-128, min(127, a * b)) & 0xFF)
    return x, y, bytes(out)


def job(link: Link, x: bytes, y: bytes) -> bytes:
    link.write("ram", 3, x)
    link.write("ram", 100_000, y)
    link.fill("ram", 200_000, ELEMENTS, 0x55)
    params = KernelParams(0, 0, 0, 1 << 30, 1)
    request = KernelRequest(
        "native", Place("ram", 3), Place("ram", 100_000), Place("ram", 200_000), ELEMENTS,
        params, samples=3, sample_place=Place("ram", 300_000),
    )  # fmt: skip
    reply = link.run_kernel(request)
    assert reply.variant == "native"
    assert reply.scalar_elements + reply.vector_elements == ELEMENTS
    return link.read("ram", 200_000, ELEMENTS)


def run_board(board: Board, spec: FaultSpec, x: bytes, y: bytes) -> bytes:
    """As a run does it: begin again after a restart or under the port's new name."""
    with FaultyLine(lambda: board.url, spec, reset=board.reset) as line:
        for attempt in range(2):
            url = line.url
            try:
                with Link.open(url) as link:
                    try:
                        return job(link, x, y)
                    except DeviceRebooted:
                        link.reconnect()
                        return job(link, x, y)
            except LinkError as error:
                if url not in str(error):
                    raise AssertionError(f"does not name the line: {error}") from error
                if line.url == url or attempt:
                    raise
    raise AssertionError("unreachable")


def run(seed: int, runner: Path) -> Outcome:
    kind, spec = make_spec(seed)
    x, y, expected = data_of(seed)
    start = time.monotonic()
    with running(runner) as board:
        try:
            verdict = "right" if run_board(board, spec, x, y) == expected else "WRONG ANSWER"
        except LinkError:
            verdict = "failed"
        except BaseException as error:
            verdict = f"{type(error).__name__}: {error}"
    seconds = time.monotonic() - start
    if seconds > LONGEST:
        verdict = f"took {seconds:.0f} s"
    return Outcome(seed, kind, str(spec), seconds, verdict)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--jobs", type=int, default=4)
    arguments = parser.parse_args()
    runner = build_host().runner
    table: dict[str, collections.Counter[str]] = {kind: collections.Counter() for kind in KINDS}
    wrong = []
    longest = 0.0
    seeds = range(arguments.first, arguments.first + arguments.runs)
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for outcome in pool.map(run, seeds, [runner] * len(seeds)):
            ok = outcome.verdict in ("right", "failed")
            table[outcome.kind][outcome.verdict if ok else "wrong"] += 1
            longest = max(longest, outcome.seconds)
            if not ok:
                wrong.append(outcome)
                print(outcome, flush=True)
    for kind, counts in table.items():
        print(
            f"{kind:8} "
            + "  ".join(f"{key} {counts[key]:4}" for key in ("right", "failed", "wrong"))
        )
    print(f"{len(seeds)} runs, {len(wrong)} wrong, longest {longest:.1f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
