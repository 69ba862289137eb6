"""Other tools read the exports; they are run here where they can be."""

import json
import re
import statistics
import subprocess
import sys
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest
from synthetic import HOST, at, esp, host, latency, result, wrong
from trace_processor import query_trace

from bench.store import Store
from bench.store.document import run_document
from bench.store.exports import chrome_trace, metric_lines, metrics, pytest_benchmark
from bench.store.history import entries_of, load_series
from bench.store.junit import junit
from bench.store.results import boards_of, load_results, load_run, load_timings

SAMPLES = [260 + 240 * k for k in (10, 11, 12, 13, 10, 11, 12, 50)]


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "results") as store:
        with at(1_767_225_600.0):
            run = store.begin_run("nightly", HOST)
            board = store.add_board(run, esp())
            virtual = store.add_board(run, host())
            store.add_result(board, result())
            store.add_result(board, wrong("pairs/b", 7))
            store.add_result(board, result("pairs/c", verdict="error", detail="\x1b[31mpanic\0"))
            store.add_result(board, result("pairs/d", verdict="not-run", detail="lost"))
            store.add_result(virtual, result('quote"d'))
            store.add_latency(board, latency(SAMPLES, overhead_ticks=260))
            store.add_latency(board, latency([7000], name="bad", verdict="fail"))
            store.add_latency(board, latency([], name="lost", verdict="error", detail="rebooted"))
            store.add_latency(virtual, latency([90, 95], unit="ns", hz=10**9))
            store.add_latency(virtual, latency([90, 95], name="i", unit="instructions", hz=None))
            store.add_latency(
                board,
                latency(
                    [9000] * 3,
                    name="glu",
                    level="program",
                    variant=None,
                    route="delegate",
                    operators={"quantize": 2000, "mul": 3000},
                ),
            )
        yield store


def timings(store):
    return load_timings(store, boards_of(store, 1))


def results(store):
    return load_results(store, boards_of(store, 1))


def test_pytest_benchmark_figures(store):
    document = pytest_benchmark(load_run(store), timings(store), "0.1")
    names = [b["name"] for b in document["benchmarks"]]
    assert names == [
        "latency/256 [native] on s3-1",
        "glu [delegate] on s3-1",
        "latency/256 [native] on host (virtual)",
    ]
    stats = document["benchmarks"][0]["stats"]
    seconds = [k * 1e-6 for k in (10, 11, 12, 13, 10, 11, 12, 50)]
    assert stats["median"] == pytest.approx(statistics.median(seconds))
    assert stats["mean"] == pytest.approx(statistics.mean(seconds))
    assert stats["stddev"] == pytest.approx(statistics.stdev(seconds))
    assert (stats["min"], stats["max"]) == pytest.approx((10e-6, 50e-6))
    assert stats["rounds"] == 8
    assert stats["hd15iqr"] == pytest.approx(13e-6)
    assert stats["outliers"] == "1;1"


def test_pytest_benchmark_compare_reads_it(store, tmp_path):
    document = pytest_benchmark(load_run(store), timings(store), "0.1")
    (tmp_path / "0001_before.json").write_text(json.dumps(document))
    document["benchmarks"][0]["stats"]["median"] *= 2
    (tmp_path / "0002_after.json").write_text(json.dumps(document))
    command = [sys.executable, "-m", "pytest_benchmark", "compare", "0001_before.json"]
    command += ["0002_after.json", "--columns=median,iqr,outliers", "--sort=fullname"]
    command += [f"--csv={tmp_path / 'out'}"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert "Failed to load" not in ran.stderr
    assert "latency/256 [native] on s3-1 (0001_before)" in ran.stdout
    medians = re.findall(r"native\] on s3-1 \(000\d_\w+\)\s+([\d.]+)", ran.stdout)
    assert sorted(map(float, medians)) == pytest.approx([11.5, 23.0])


def test_trace_is_a_chrome_trace(store):
    events = chrome_trace(timings(store))["traceEvents"]
    json.dumps(events, allow_nan=False)
    assert {e["ph"] for e in events} == {"X", "M"}
    calls = [e for e in events if e["ph"] == "X"]
    assert min(e["ts"] for e in calls) == 0
    assert all(e["dur"] >= 0 and e["ts"] >= 0 and e["tid"] > 0 for e in calls)
    longest = max(e["ts"] + e["dur"] for e in calls)
    # Slices of one thread must not overlap, or Perfetto drops them.
    for thread in {(e["pid"], e["tid"]) for e in calls}:
        mine = sorted((e for e in calls if (e["pid"], e["tid"]) == thread), key=lambda e: e["ts"])
        for before, after in pairwise(mine):
            assert before["ts"] + before["dur"] <= after["ts"] + 1e-3
        # All were stored in the same moment, when their last call was over.
        if mine[-1]["name"] != "mul":
            assert mine[-1]["ts"] + mine[-1]["dur"] == pytest.approx(longest)
    names = {e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert "s3-1 by its cycles" in names
    assert "host (virtual) by its ns" in names
    first = [e for e in calls if e["name"] == "latency/256" and e["args"]["unit"] == "cycles"]
    assert [e["dur"] for e in first] == pytest.approx([10, 11, 12, 13, 10, 11, 12, 50])
    assert [e["dur"] for e in calls if e["name"] == "mul"] == pytest.approx([12.5])
    threads = {e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert "glu [delegate], operators of one call" in threads


def test_trace_without_timings():
    assert chrome_trace([])["traceEvents"] == []


def test_perfetto_reads_the_trace(store, tmp_path):
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(chrome_trace(timings(store))))
    slices, errors, threads = query_trace(
        path,
        "SELECT count(*) AS n, sum(dur) AS dur FROM slice WHERE name = 'latency/256'",
        "SELECT ifnull(sum(value), 0) AS n FROM stats WHERE severity = 'error'",
        "SELECT name FROM thread WHERE name LIKE 'glu%'",
    )
    assert int(slices[0]["n"]) == 10
    assert float(slices[0]["dur"]) == pytest.approx(129_000 + 70 + 75, abs=20)
    assert int(errors[0]["n"]) == 0
    assert "glu [delegate], operators of one call" in {row["name"] for row in threads}


def test_perfetto_refuses_what_is_no_trace(tmp_path):
    path = tmp_path / "trace.json"
    path.write_text('{"traceEvents": [{"name": "a", "ph": "X", "ts": ')
    with pytest.raises(Exception, match=r"refuse|rror"):
        query_trace(path, "SELECT count(*) AS n FROM slice")


LINE = re.compile(r'[a-z0-9_]+\{([a-z_]+="([^"\\\n]|\\["\\n])*",?)+\} -?[\d.e+-]+')


def test_metric_lines_are_those_of_log_metric(store, tmp_path):
    from pytest_embedded.plugin import log_metric

    found = list(metrics(results(store), timings(store)))
    lines = metric_lines(found)
    assert all(LINE.fullmatch(line) for line in lines.splitlines())
    path = tmp_path / "theirs.txt"
    theirs = log_metric.__wrapped__(str(path))
    for key, value, labels in found:
        theirs(key, f"{value:.10g}", **labels)
    assert path.read_text() == lines
    assert 'case="quote\\"d"' in lines
    medians = [line for line in lines.splitlines() if line.startswith("bench_latency_median")]
    assert 'virtual="false",case="latency/256",kind="native",unit="cycles"} 2760' in medians[0]
    # The timing whose output was wrong has no figure.
    assert not any('case="bad"' in line for line in medians)


def test_junit(store):
    document = junit(
        load_run(store), results(store), timings(store), entries_of(load_series(store), 1)
    )
    root = ET.fromstring(document)
    assert root.tag == "testsuites"
    counts = {k: root.get(k) for k in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "11", "failures": "2", "errors": "2", "skipped": "5"}
    suites = {s.get("name"): s for s in root}
    assert set(suites) == {"s3-1", "host (virtual)"}
    assert suites["s3-1"].get("timestamp") == "2026-01-01T00:00:00"
    cases = {c.get("name"): c for c in suites["s3-1"]}
    failure = cases["pairs/b [native] integer"].find("failure")
    assert failure.get("message") == "first bad index 7: expected 5, got 6"
    # A board's escape sequences and NULs are no XML.
    assert cases["pairs/c [native] integer"].find("error").text == "\ufffd[31mpanic\ufffd"
    assert cases["pairs/d [native] integer"].find("skipped") is not None
    assert "not judged" in cases["glu [delegate]"].find("skipped").get("message")
    # A timing's own output counts before what the gate says of it.
    assert "not right" in cases["bad [native]"].find("failure").get("message")
    assert cases["lost [native]"].find("error").get("message") == "rebooted"


@pytest.mark.parametrize(("virtual", "tag"), [(False, "failure"), (True, "skipped")])
def test_junit_has_the_gates_regressions(tmp_path, virtual, tag):
    with Store.open(tmp_path) as store:
        for day in range(9):
            run = store.begin_run("latency", HOST)
            # The board's name is not what makes it the same board, unless it is virtual.
            info = host() if virtual else esp(name=f"name{day}")
            board = store.add_board(run, info)
            store.add_latency(board, latency([1520 if day == 7 else 1020] * 40))
            store.add_latency(board, latency([1020] * 40, variant="portable"))
            store.finish_run(run, "pass")
        gate = entries_of(load_series(store), 8)
        chosen = load_timings(store, boards_of(store, 8))
        root = ET.fromstring(junit(load_run(store, 8), [], chosen, gate))
        document = run_document(load_run(store, 8), [], chosen, gate)
    cases = {c.get("name"): c for c in root.iter("testcase")}
    assert set(cases) == {"latency/256 [native]", "latency/256 [portable]"}
    assert cases["latency/256 [native]"].find(tag) is not None
    assert root.get("failures") == str(int(not virtual))
    verdict = "pass" if virtual else "fail"
    assert document["verdict"] == document["gate"]["verdict"] == verdict
    assert document["gate"]["counts"]["regression"] == 1
    assert len(cases["latency/256 [portable]"]) == 0
