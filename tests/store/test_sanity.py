"""Timings nobody should believe without a look."""

import pytest
from nights import ticks_of
from numpy.random import default_rng
from synthetic import HOST, esp, latency

from bench.store import Store
from bench.store.results import load_timings
from bench.store.sanity import flags, pairs


def stored(tmp_path, *timings):
    with Store.open(tmp_path) as store:
        board = store.add_board(store.begin_run("latency", HOST), esp())
        for one in timings:
            store.add_latency(board, one)
        return load_timings(store, [board])


def sized(size, ticks, variant="native", **changes):
    samples = ticks_of(default_rng(size), ticks + 20, 0.005)[0]
    params = {"size": size, "align": [0, 0, 0]}
    name = f"latency/{size}"
    return latency(
        samples, name=name, variant=variant, elements=size, **{"params": params, **changes}
    )


def reasons(timings):
    return [(f.timing.result.name, f.reason) for f in flags(timings, pairs(timings))]


def test_good_timings_are_not_flagged(tmp_path):
    timings = []
    for size in (1, 7, 64, 1000, 4096, 65536):
        timings += [sized(size, 100 + size), sized(size, 100 + 7 * size, "portable")]
    found = stored(tmp_path, *timings)
    assert reasons(found) == []
    ratios = [p.ratio.value for p in pairs(found)]
    assert ratios[-1] == pytest.approx(1 / 7, rel=0.02)
    assert len(ratios) == 6


def test_native_that_is_not_faster(tmp_path):
    found = stored(tmp_path, sized(4096, 9000), sized(4096, 9000, "portable"))
    ((name, reason),) = reasons(found)
    assert name == "latency/4096"
    assert "not faster than portable" in reason
    assert "silent fallback" in reason


def test_small_sizes_need_not_be_faster(tmp_path):
    assert reasons(stored(tmp_path, sized(64, 200), sized(64, 150, "portable"))) == []


def test_time_that_does_not_grow(tmp_path):
    found = stored(tmp_path, sized(16, 400), sized(256, 410), sized(65536, 420))
    ((name, reason),) = reasons(found)
    assert name == "latency/65536"
    assert "65536 elements take 1.02 times as long as 256" in reason


def test_other_alignments_are_other_lines(tmp_path):
    other = {"size": 65536, "align": [5, 0, 0]}
    assert reasons(stored(tmp_path, sized(16, 400), sized(65536, 420, params=other))) == []


def test_nothing_measured(tmp_path):
    ((_, reason),) = reasons(stored(tmp_path, latency([20] * 50)))
    assert "no more time than an empty call" in reason


def test_only_equal_cases_with_right_outputs_are_paired(tmp_path):
    found = stored(
        tmp_path,
        sized(256, 500),
        sized(256, 900, "portable", params={"size": 256, "align": [1, 0, 0]}),
        sized(1000, 500, verdict="fail"),
        sized(1000, 900, "portable"),
        sized(4096, 500),
        sized(4096, 900, "portable", unit="ns"),
    )
    assert pairs(found) == []


def test_pairs_are_seeded(tmp_path):
    found = stored(tmp_path, sized(256, 500), sized(256, 900, "portable"))
    assert pairs(found) == pairs(found)
    assert pairs(found, seed=1) != pairs(found, seed=2)
