"""``bench report`` and ``bench compare`` as people call them."""

import json
import sqlite3

import pytest
from bench_process import on_a_small_disk
from click.testing import CliRunner
from synthetic import HOST, at, esp, fill_for_looking, host, latency, result, wrong

from bench.commands.compare import compare
from bench.commands.report import report
from bench.errors import BenchError
from bench.store import Store


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return fill_for_looking(tmp_path_factory.mktemp("results"), nights=12)


def call(command, *arguments, expect=0):
    ran = CliRunner().invoke(command, [str(a) for a in arguments])
    if isinstance(ran.exception, BenchError):
        raise ran.exception
    assert ran.exit_code == expect, (ran.output, ran.exception)
    return ran.stdout


def test_compare(folder):
    out = call(compare, "--results", folder, expect=1)
    assert "Run 12 against the nights before" in out
    assert "+11" in out
    assert out.splitlines()[-1].startswith("fail: 2 slower, 2 faster, 104 unchanged, 0 not judged")


def test_compare_as_json(folder):
    document = json.loads(call(compare, "--results", folder, "--json", expect=1))
    assert document["verdict"] == "fail"
    assert document["run"] == 12
    assert len(document["timings"]) == 108
    slow = [t for t in document["timings"] if t["status"] == "regression"]
    assert {(t["board"], t["name"]) for t in slow} == {
        ("s3-1", "latency/4096/0"),
        ("s3-1", "latency/4096/5"),
    }
    assert all(t["unit"] == "cycles" and not t["virtual"] for t in slow)
    virtual = [t for t in document["timings"] if t["board"] == "host"]
    assert all(t["virtual"] and t["unit"] == "ns" for t in virtual)


def test_compare_under_another_rule_and_of_an_earlier_run(folder):
    lax = call(compare, "--results", folder, "--rule", "relative=0.2")
    assert "pass: 0 slower, 0 faster" in lax
    early = call(compare, "--results", folder, "--run", 2)
    assert "not-judged: 0 slower, 0 faster, 0 unchanged, 108 not judged" in early
    assert "1 of 5 needed passing nights before" in early


def test_compare_judges_a_virtual_board_too(tmp_path):
    with Store.open(tmp_path) as store:
        for day in range(9):
            run = store.begin_run("latency", HOST)
            board = store.add_board(run, host())
            store.add_latency(board, latency([1520 if day == 8 else 1020] * 40))
            store.finish_run(run, "pass")
    out = call(compare, "--results", tmp_path, expect=1)
    assert "fail: 1 slower (1 on virtual boards), 0 faster" in " ".join(out.split())
    assert "pass" in call(report, "--results", tmp_path).splitlines()


def test_a_report_that_cannot_be_written_leaves_the_old_one(folder, tmp_path):
    page = tmp_path / "page.html"
    page.write_text("the old page")
    done = on_a_small_disk("report", "--results", folder, "--html", page, limit=60_000)
    assert f"cannot write {page}: File too large" in done.refusal()
    assert page.read_text() == "the old page"
    assert list(tmp_path.iterdir()) == [page]


@pytest.mark.parametrize("option", ["html", "junit", "benchmark", "trace", "metrics"])
@pytest.mark.parametrize("name", ["bench.sqlite", "bench.sqlite-wal", "bench.sqlite-shm"])
def test_no_report_takes_the_place_of_the_store(tmp_path, option, name):
    fill_for_looking(tmp_path, nights=1)
    before = (tmp_path / "bench.sqlite").read_bytes()
    (tmp_path / "link").symlink_to(tmp_path)
    for folder in (tmp_path, tmp_path / "link"):
        with pytest.raises(BenchError, match=r"bench.sqlite is a database: choose another place"):
            call(report, "--results", tmp_path, f"--{option}", folder / name)
    assert (tmp_path / "bench.sqlite").read_bytes() == before


def test_two_reports_at_one_place(folder, tmp_path):
    place = tmp_path / "r"
    with pytest.raises(BenchError, match=f"two reports at {place}"):
        call(report, "--results", folder, "--html", place, "--junit", tmp_path / "x" / ".." / "r")
    assert not place.exists()


def test_compare_takes_the_latest_run_that_was_to_time_anything(tmp_path):
    with Store.open(tmp_path) as store:
        for kind in ("latency", "nightly", "correctness"):
            run = store.begin_run(kind, HOST)
            board = store.add_board(run, esp())
            if kind == "latency":
                store.add_latency(board, latency([100] * 40))
            store.finish_run(run, "pass")
    out = call(compare, "--results", tmp_path)
    assert "run 2 has no timings" in out
    assert "not-judged: 0 slower, 0 faster, 0 unchanged, 0 not judged, 0 drifting (run 2)" in out


def test_compare_names_what_was_not_measured(tmp_path):
    with Store.open(tmp_path) as store:
        for names in ("ab", "abc", "a"):
            run = store.begin_run("latency", HOST)
            board = store.add_board(run, esp(1))
            for name in names:
                store.add_latency(board, latency([100] * 40, name=name))
            elsewhere = store.add_board(run, esp(2))
            store.add_latency(elsewhere, latency([100] * 40, name="a"))
            store.finish_run(run, "pass")
    out = " ".join(call(compare, "--results", tmp_path).split())
    assert "not measured, but in the run before: s3-1 b [native], s3-1 c [native] not" in out
    document = json.loads(call(compare, "--results", tmp_path, "--json"))
    assert [(one["board"], one["name"]) for one in document["not_measured"]] == [
        ("s3-1", "b"),
        ("s3-1", "c"),
    ]
    early = json.loads(call(compare, "--results", tmp_path, "--run", 2, "--json"))
    assert early["not_measured"] == []


def test_compare_fails_on_a_wrong_output(tmp_path):
    with Store.open(tmp_path) as store:
        for day in range(9):
            run = store.begin_run("latency", HOST)
            board = store.add_board(run, esp())
            for name in ("a", "b"):
                wrong_one = day == 8 and name == "b"
                timing = latency([100] * 40, name=name, verdict="fail" if wrong_one else "pass")
                store.add_latency(board, timing)
            store.finish_run(run, "fail" if day == 8 else "pass")
    assert "pass: " in call(compare, "--results", tmp_path, "--run", 8)
    out = call(compare, "--results", tmp_path, expect=1)
    assert "fail: 0 slower, 0 faster, 1 unchanged, 1 not judged" in out
    document = json.loads(call(compare, "--results", tmp_path, "--json", expect=1))
    assert (document["verdict"], document["wrong_outputs"]) == ("fail", 1)


def test_a_pass_says_how_many_timings_were_not_judged(tmp_path):
    with Store.open(tmp_path) as store:
        run = store.begin_run("nightly", HOST)
        board = store.add_board(run, esp())
        store.add_result(board, result())
        store.add_latency(board, latency([100] * 40))
        store.finish_run(run, "pass")
    assert "pass (1 of 1 timings not judged)" in call(report, "--results", tmp_path)


def test_a_damaged_store_is_not_called_empty(tmp_path):
    fill_for_looking(tmp_path, nights=2)
    path = tmp_path / "bench.sqlite"
    content = bytearray(path.read_bytes())
    with sqlite3.connect(path) as database:
        (page,) = database.execute(
            "SELECT rootpage FROM sqlite_master WHERE name='runs'"
        ).fetchone()
        (size,) = database.execute("PRAGMA page_size").fetchone()
    start = (page - 1) * size
    content[start + 3 : start + 5] = bytes(2)  # the number of rows in the table's only page
    path.write_bytes(content)
    for command in (report, compare):
        with pytest.raises(BenchError, match=r"it is damaged .*: move it away and keep it"):
            call(command, "--results", tmp_path)


def test_compare_without_timings(tmp_path):
    with Store.open(tmp_path) as store:
        store.begin_run("correctness", HOST)
    assert "not-judged" in call(compare, "--results", tmp_path)


def test_report_writes_every_file(folder, tmp_path):
    files = {k: tmp_path / "deep" / k for k in ("html", "junit", "benchmark", "trace", "metrics")}
    options = [part for name, path in files.items() for part in (f"--{name}", path)]
    out = call(report, "--results", folder, *options)
    for path in files.values():
        assert f"wrote {path}" in out
        assert path.stat().st_size > 1000
    assert "look at latency/65536/0 native: not faster than portable" in out
    assert "2 regression" in out


def test_report_as_json_is_one_object(folder, tmp_path):
    out = call(report, "--results", folder, "--html", tmp_path / "r.html", "--json")
    document = json.loads(out)
    assert document["verdict"] == document["stored_verdict"] == "fail"
    assert document["gate"]["counts"]["regression"] == 2
    assert len(document["cases"]) == 1047
    assert len(document["latency"]) == 108
    timing = document["latency"][0]
    assert timing["per_element"] == timing["median"] / timing["elements"]
    assert {"unit", "virtual", "min", "median", "mad", "p95", "max", "first_ticks"} <= set(timing)
    assert {"ratio", "low", "high", "elements"} <= set(document["ratios"][0])
    assert len(document["flags"]) == 2


def test_rejudge_changes_the_verdict_and_not_the_store(tmp_path):
    with Store.open(tmp_path) as store:
        run = store.begin_run("correctness", HOST)
        store.add_result(store.add_board(run, esp()), wrong("a", 7))
        store.finish_run(run, "fail")
    before = (tmp_path / "bench.sqlite").read_bytes()

    def verdict(*rule):
        return json.loads(call(report, "--results", tmp_path, "--json", *rule))["verdict"]

    assert verdict() == "fail"
    assert verdict("--rejudge", "integer=3") == "pass"
    assert verdict("--rejudge", "integer=2") == "fail"
    assert verdict() == "fail"
    assert (tmp_path / "bench.sqlite").read_bytes() == before
    page = (tmp_path / "report.html").read_text()
    assert '"rule":""' in page


def test_rejudge_reaches_the_gate(folder, tmp_path):
    rule = ["--rejudge", "relative=0.2", "--html", tmp_path / "r.html", "--json"]
    document = json.loads(call(report, "--results", folder, *rule))
    assert document["gate"]["verdict"] == "pass"
    assert '"rule":"relative=0.2"' in (tmp_path / "r.html").read_text()


def test_a_run_of_only_timings(tmp_path):
    with Store.open(tmp_path) as store, at(1000.0):
        run = store.begin_run("latency", HOST)
        store.add_latency(store.add_board(run, esp()), latency([100] * 40))
        store.finish_run(run, "pass")
    document = json.loads(call(report, "--results", tmp_path, "--json"))
    assert document["verdict"] == "not-judged"
    assert document["cases"] == []


def test_troubles_are_one_line(tmp_path, folder):
    with pytest.raises(BenchError, match="no results in"):
        call(report, "--results", tmp_path / "none")
    with pytest.raises(BenchError, match="no run 99"):
        call(report, "--results", folder, "--run", 99)
    for command in (report, compare):
        with pytest.raises(BenchError, match=f"no run {10**23}"):
            call(command, "--results", folder, "--run", 10**23)
    for rule in (f"nights={10**20}", "nights=1000001", "mad=inf", f"relative=1{'0' * 400}"):
        with pytest.raises(BenchError, match="must be at most 1000000"):
            call(compare, "--results", folder, "--rule", rule)
        with pytest.raises(BenchError, match="must be at most 1000000"):
            call(report, "--results", folder, "--rejudge", rule)
    with pytest.raises(BenchError, match="no such name"):
        call(compare, "--results", folder, "--rule", "speed=1")
    with pytest.raises(BenchError, match="portable is about outputs"):
        call(compare, "--results", folder, "--rule", "relative=0.1,portable=2")
    (tmp_path / "file").write_text("")
    with pytest.raises(BenchError, match="cannot write"):
        call(report, "--results", folder, "--html", tmp_path / "file" / "r.html")


def test_an_empty_run(tmp_path):
    with Store.open(tmp_path) as store:
        run = store.begin_run("correctness", HOST)
        store.add_board(run, esp())
        store.finish_run(run, "error")
    document = json.loads(call(report, "--results", tmp_path, "--json"))
    assert document["verdict"] == document["stored_verdict"] == "error"
    assert document["complete"] is True


@pytest.mark.parametrize("stored", [None, "interrupted"])
@pytest.mark.parametrize(
    ("made", "verdict"), [(result(), "incomplete"), (wrong("b", 7), "fail"), (None, "incomplete")]
)
def test_a_run_that_did_not_come_to_its_end(tmp_path, stored, made, verdict):
    with Store.open(tmp_path) as store:
        run = store.begin_run("correctness", HOST)
        board = store.add_board(run, esp())
        if made:
            store.add_result(board, made)
        if stored:
            store.finish_run(run, stored)
    document = json.loads(call(report, "--results", tmp_path, "--json"))
    assert document["verdict"] == verdict
    assert document["stored_verdict"] == stored
    assert document["complete"] is False
    text = " ".join(call(report, "--results", tmp_path).split())
    assert f"{verdict} (the run did not come to its end: {stored or 'killed'}" in text


@pytest.mark.parametrize(("given", "verdict"), [("fail", "fail"), ("error", "error")])
@pytest.mark.parametrize("compared", [False, True])
def test_a_timed_output_that_is_not_right(tmp_path, given, verdict, compared):
    with Store.open(tmp_path) as store:
        run = store.begin_run("latency", HOST)
        board = store.add_board(run, esp())
        store.add_latency(board, latency([100] * 40))
        for number in range(12):
            bad = latency([90] * 40, name=f"bad/{number}", verdict=given, detail="first bad 3")
            store.add_latency(board, bad)
        if compared:
            store.add_result(board, result())
        store.finish_run(run, given)
    assert json.loads(call(report, "--results", tmp_path, "--json"))["verdict"] == verdict
    text = call(report, "--results", tmp_path)
    assert "timed outputs: 12 of 13 not right" in text
    assert f"{given} bad/9 native: first bad 3" in text
    assert "and 2 more" in text
    assert f"\n{verdict}\n" in text


def test_a_timing_that_was_right_when_repeated(tmp_path):
    def verdict(first):
        with Store.open(tmp_path / first) as store:
            run = store.begin_run("latency", HOST)
            board = store.add_board(run, esp())
            store.add_latency(board, latency([], verdict=first))
            store.add_latency(board, latency([100] * 40, attempt=2))
            store.finish_run(run, "pass")
        return json.loads(call(report, "--results", tmp_path / first, "--json"))["verdict"]

    assert verdict("error") == "not-judged"
    assert verdict("fail") == "fail"
