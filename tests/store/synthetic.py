"""Stores with made-up runs, for looking at and for the reports' tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from nights import ticks_of

from bench.store import BoardInfo, CaseResult, LatencyResult, RunBoardId, RunId, Store

DAY = 86400
START = 1_767_225_600  # 2026-01-01

HOST = {"machine": "x86_64", "node": "lab", "python": "3.11.7", "packages": {"numpy": "2.4"}}
ESP_HELLO = {
    "board": {"id": "7c:df:a1:00:00:01", "description": "ESP32-S3 rev 0.2, 8 MB PSRAM"},
    "clock": {"unit": "cycles", "hz": 240_000_000},
    "build": {"compiler": "xtensa-esp-elf-gcc 14.2.0", "flags": "-O2", "git": "abc123"},
}
HOST_HELLO = {
    "board": {"id": "host", "description": "process on this machine"},
    "clock": {"unit": "ns", "hz": 1_000_000_000},
    "build": {"compiler": "g++ 12.2", "flags": "-O2"},
}


def esp(number: int = 1, **changes: Any) -> BoardInfo:
    values = {
        "name": f"s3-{number}",
        "target": "esp32s3",
        "url": f"/dev/ttyACM{number}",
        "virtual": False,
        "board_id": f"7c:df:a1:00:00:{number:02x}",
        "firmware": "5e" * 32,
        "hello": ESP_HELLO,
    }
    return BoardInfo(**{**values, **changes})


def host(**changes: Any) -> BoardInfo:
    values = {
        "name": "host",
        "target": "host",
        "url": "spawn:bench-runner",
        "virtual": True,
        "board_id": "host",
        "firmware": "ab" * 32,
        "hello": HOST_HELLO,
    }
    return BoardInfo(**{**values, **changes})


@contextmanager
def at(seconds: float) -> Iterator[None]:
    """Everything stored meanwhile is stored at this time."""
    with mock.patch("bench.store.store.time.time", return_value=seconds):
        yield


def latency(
    samples: Any, *, name: str = "latency/256", variant: str = "native", **changes: Any
) -> LatencyResult:
    values: dict[str, Any] = {
        "name": name,
        "level": "kernel",
        "group": "mul_int8",
        "variant": variant,
        "samples": samples,
        "unit": "cycles",
        "hz": 240_000_000,
        "elements": 256,
        "first_ticks": 9000,
        "overhead_ticks": 20,
        "verdict": "pass",
        "params": {"size": 256, "align": [0, 0, 0], "placement": "sram"},
    }
    return LatencyResult(**{**values, **changes})


def result(name: str = "pairs/a", **changes: Any) -> CaseResult:
    values: dict[str, Any] = {
        "name": name,
        "level": "kernel",
        "group": name.split("/")[0],
        "variant": "native",
        "reference": "integer",
        "verdict": "pass",
        "elements": 65536,
        "params": {"size": 65536},
    }
    return CaseResult(**{**values, **changes})


def wrong(name: str, first: int, **changes: Any) -> CaseResult:
    values: dict[str, Any] = {
        "verdict": "fail",
        "max_abs_diff": 3,
        "mismatches": 40,
        "violations": 40,
        "signed_mean": 0.001,
        "histogram": {1: 30, 3: 6, -2: 4},
        "first_bad_index": first,
        "expected": 5,
        "got": 6,
        "detail": f"first bad index {first}: expected 5, got 6",
    }
    return result(name, **{**values, **changes})


def fill_for_looking(folder: Path, nights: int = 30) -> Path:
    """Fill a store with everything a report can show: three boards, all kinds of verdicts."""
    random = np.random.default_rng(7)
    boards = [esp(1), esp(2), host()]
    with Store.open(folder) as store:
        for day in range(nights):
            with at(START + day * DAY):
                run = store.begin_run("nightly", HOST | {"argv": ["bench", "nightly"]})
                for index, info in enumerate(boards):
                    board = store.add_board(run, info)
                    _latencies(store, board, info, random, day, nights, index)
                    if day == nights - 1:
                        _verdicts(store, board, index)
                store.add_console(board, b"boot\n")
                store.finish_run(run, "fail" if day == nights - 1 else "pass")
    return folder


def _verdicts(store: Store, board: RunBoardId, index: int) -> None:
    for group, count in (("all-pairs", 24), ("size", 40), ("align", 48)):
        for number in range(count):
            name = f"{group}/{number}"
            if index == 1 and group == "align" and number % 9 == 4:
                store.add_result(board, wrong(name, 16 * number + 3))
            elif index == 1 and group == "size" and number == 33:
                store.add_result(board, wrong(name, 8 * number + 7))
            else:
                store.add_result(board, result(name))
            store.add_result(board, result(name, variant="portable", reference="float32"))
            store.add_result(
                board,
                result(
                    name,
                    reference="portable",
                    max_abs_diff=1,
                    mismatches=210,
                    signed_mean=0.0004,
                    histogram={1: 120, -1: 90},
                ),
            )
    if index == 1:
        store.add_result(
            board,
            result("size/40", verdict="error", elements=0, detail="no answer within 2.1 s"),
        )
        store.add_result(board, result("size/41", verdict="error", elements=0, detail="rebooted"))
        store.add_result(board, result("size/41", attempt=2))
        store.add_result(board, result("size/42", verdict="not-run", elements=0, detail="lost"))
    for model in ("multiply", "chained", "glu", "squeeze_excite"):
        for route, ticks in (("portable", 9000), ("operator-library", 2100), ("delegate", 1900)):
            store.add_result(
                board,
                result(
                    f"{model}/0",
                    level="program",
                    group=model,
                    model=model,
                    route=route,
                    variant=None,
                    reference="runtime",
                    elements=1024,
                    params={"input": 0},
                    counters={
                        "pte_bytes": 2048 + ticks,
                        "planned_bytes": 4096,
                        "median_ticks": ticks,
                        "lowered_text": "0 of 2" if route == "portable" else "2 of 2",
                    },
                ),
            )


def _latencies(
    store: Store,
    board: RunBoardId,
    info: BoardInfo,
    random: np.random.Generator,
    day: int,
    nights: int,
    index: int,
) -> None:
    unit = info.hello["clock"]["unit"]
    for size in (1, 7, 16, 64, 256, 1000, 4096, 16384, 65536):
        for align in (0, 5):
            for variant, cost in (("native", 0.9), ("portable", 7.5)):
                ticks = 90 + size * cost * (1.3 if align and variant == "native" else 1)
                if index == 0 and variant == "native" and size == 4096 and day >= nights - 2:
                    ticks *= 1.12
                if index == 1 and variant == "native" and size == 256:
                    ticks *= 1 + 0.003 * day
                if index == 1 and variant == "native" and size == 16384 and day >= nights - 3:
                    ticks *= 0.85
                if index == 2 and size == 65536 and variant == "native":
                    ticks = 90 + size * 7.7
                noise = 0.004 * (1 + index)
                samples = ticks_of(random, 20 + 40 * ticks, noise, between=0.001)[0]
                store.add_latency(
                    board,
                    latency(
                        samples,
                        name=f"latency/{size}/{align}",
                        variant=variant,
                        unit=unit,
                        hz=info.hello["clock"]["hz"],
                        elements=size,
                        first_ticks=int(samples.max() * 1.8),
                        params={"size": size, "align": [align, 0, 0], "placement": "sram"},
                    ),
                )


def fill_in_bulk(folder: Path, nights: int, cases: int, boards: int) -> Path:
    """Fill a store with many nights, the last of which has timings; past the API, for speed."""
    random = np.random.default_rng(11)
    with Store.open(folder) as store:
        database = store._connection
        database.execute("BEGIN")
        database.execute("INSERT INTO hosts VALUES (1, '{}')")
        database.executemany(
            "INSERT INTO runs VALUES (?, 'nightly', 1, '[]', ?)",
            [(day + 1, START + day * DAY) for day in range(nights)],
        )
        database.execute("COMMIT")
        for number in range(1, boards + 1):
            board = store.add_board(RunId(nights), esp(number))
            base = np.exp(random.uniform(5, 14, cases))
            for case in range(cases):
                size, align = 2 ** (case // 2 % 17), case // 2 % 16
                store.add_latency(
                    board,
                    latency(
                        ticks_of(random, base[case], 0.01)[0],
                        name=f"latency/{case // 2}/{'abcdefgh' * 4}",
                        variant=("native", "portable")[case % 2],
                        elements=size,
                        params={"size": size, "align": [align, 0, 0], "placement": "sram"},
                    ),
                )
    return folder
