"""``bench report`` and ``bench compare`` as people call them."""

import json

import pytest
from click.testing import CliRunner
from synthetic import HOST, at, esp, fill_for_looking, latency, result, wrong

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
    with pytest.raises(BenchError, match="no such name"):
        call(compare, "--results", folder, "--rule", "speed=1")
    (tmp_path / "file").write_text("")
    with pytest.raises(BenchError, match="cannot write"):
        call(report, "--results", folder, "--html", tmp_path / "file" / "r.html")


def test_an_empty_run(tmp_path):
    with Store.open(tmp_path) as store:
        run = store.begin_run("correctness", HOST)
        store.add_board(run, esp())
    document = json.loads(call(report, "--results", tmp_path, "--json"))
    assert document["verdict"] == "error"
    assert document["stored_verdict"] is None
    with Store.open(tmp_path) as store:
        store.add_result(1, result())
    assert json.loads(call(report, "--results", tmp_path, "--json"))["verdict"] == "pass"
