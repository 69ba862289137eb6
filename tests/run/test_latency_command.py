"""``bench latency``: right figures, and kernels that only pretend to be fast."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest
from bench_process import BenchCommand
from executorch.exir._serialize._program import deserialize_pte_binary

from bench.cases.models import find_model
from bench.espressif import export_model
from bench.espressif.models import load_model
from bench.store import Store
from bench.store.results import boards_of, load_boards, load_run, load_timings

MUTANTS = Path(__file__).parent.parent / "mutants" / "latency"
KERNEL = Path(__file__).parent.parent.parent / "firmware" / "kernels" / "mul_int8_native.cpp"
LARGE = [f"--case=grid/ram/{name}" for name in ("1615/x*", "4*", "16384", "65535", "65536*")]
IN_PLACE = "grid/ram/1615/in-place-x"


def test_figures_are_those_of_the_stored_samples(
    bench_command: BenchCommand, tmp_path: Path
) -> None:
    outcome = bench_command("latency", "--json", "--case", "grid/*/1615", "--case", IN_PLACE)
    assert outcome.status == 0, outcome.stderr
    report = outcome.report
    assert report["verdict"] == "pass" and report["virtual"] is True
    assert report["clock"] == "ns (virtual board)"
    kinds = {(t["name"], t["variant"]) for t in report["latency"]}
    cases = ("grid/ram/1615", "grid/constants/1615", IN_PLACE)
    assert kinds == {(case, variant) for case in cases for variant in ("native", "portable")}
    with Store.read(tmp_path / "results") as store:
        run = load_run(store)
        assert run.kind == "latency" and run.verdict == "pass"
        stored = load_timings(store, boards_of(store, run.id))
    raw = {(t.result.name, t.result.variant): t.result for t in stored}
    for timing in report["latency"]:
        result = raw[timing["name"], timing["variant"]]
        assert timing["count"] == len(result.samples) >= 50
        net = [max(0, sample - timing["overhead_ticks"]) for sample in result.samples]
        median = statistics.median(net)
        assert timing["median"] == median
        assert timing["mad"] == statistics.median(abs(sample - median) for sample in net)
        assert (timing["min"], timing["max"]) == (min(net), max(net))
        assert timing["unit"] == "ns" and timing["hz"] == 1_000_000_000
        assert timing["elements"] == 1615
        assert timing["per_element"] == pytest.approx(median / 1615)
    for ratio in report["ratios"]:
        assert ratio["low"] <= ratio["ratio"] <= ratio["high"]
    # Whatever the machine does meanwhile, most of what the bench waits for is the board.
    assert 0 < report["device_seconds"] < report["seconds"]
    assert report["overhead"] == pytest.approx(report["seconds"] / report["device_seconds"] - 1)


@pytest.mark.parametrize("mutant", ["computes_nothing", "computes_once"])
def test_a_kernel_that_does_not_compute_every_time_fails(
    bench_command: BenchCommand, mutant: str
) -> None:
    source = MUTANTS / f"{mutant}.cpp"
    outcome = bench_command(
        "latency", "--json", "--native", source, "--case", "grid/ram/1615", "--case", IN_PLACE
    )
    assert outcome.status == 1, outcome.stderr
    verdicts = {(t["name"], t["variant"]): t for t in outcome.report["latency"]}
    for case in ("grid/ram/1615", IN_PLACE):
        wrong = verdicts[case, "native"]
        assert wrong["verdict"] == "fail"
        assert "output of the last timed call is wrong: first bad index" in wrong["detail"]
        assert verdicts[case, "portable"]["verdict"] == "pass"


def test_a_kernel_that_computes_once_fails_in_a_program(bench_command: BenchCommand) -> None:
    outcome = bench_command(
        "latency", "--json", "--native", MUTANTS / "computes_once.cpp", "--model", "plain_mul"
    )
    assert outcome.status == 1, outcome.stderr
    verdicts = {t["route"]: t["verdict"] for t in outcome.report["latency"]}
    assert verdicts == {"portable": "pass", "operator-library": "fail", "delegate": "fail"}


def test_a_kernel_slowed_by_three_tenths_is_caught_in_one_run(
    bench_command: BenchCommand, tmp_path: Path
) -> None:
    outcome = bench_command("latency", "--json", "--native", MUTANTS / "slowed.cpp", *LARGE)
    assert outcome.status == 1, outcome.stderr
    beside = outcome.report["beside"]
    assert beside["slower"] is True
    with Store.read(tmp_path / "results") as store:
        run = load_run(store)
        assert run.verdict == "fail"
        names = [board.name for board in load_boards(store, boards_of(store, run.id)).values()]
    # A kernel that is tried out is no baseline of the firmware's own.
    assert names == ["host, slowed.cpp", "host"]
    assert len(beside["cases"]) >= 20
    assert all(timing["verdict"] == "pass" for timing in outcome.report["latency"])


def test_the_same_kernel_is_not_slower_than_itself(bench_command: BenchCommand) -> None:
    outcome = bench_command("latency", "--json", "--native", KERNEL, *LARGE)
    assert outcome.status == 0, outcome.stderr
    assert outcome.report["beside"]["slower"] is False


def test_programs_by_every_route_with_their_operators(bench_command: BenchCommand) -> None:
    outcome = bench_command("latency", "--json", "--model", "chained_mul")
    assert outcome.status == 0, outcome.stderr
    timings = {timing["route"]: timing for timing in outcome.report["latency"]}
    assert set(timings) == {"portable", "operator-library", "delegate"}
    model = load_model(str(find_model("chained_mul")))
    for route, timing in timings.items():
        pte = export_model(model.module, model.example_inputs, model.calibration, route=route).pte
        plan = deserialize_pte_binary(pte).program.execution_plan[0]
        # The exporter's program, not the trace, says which operators there are, and their order.
        names = [
            plan.operators[step.instr_args.op_index].name.split("::")[1]
            if hasattr(step.instr_args, "op_index")
            else "DELEGATE_CALL"
            for step in plan.chains[0].instructions
        ]
        traced = [key.split(" ", 1)[1].split("::")[-1].split(".")[0] for key in timing["operators"]]
        assert traced == names, route
        assert all(ticks >= 0 for ticks in timing["operators"].values())
        assert sum(timing["operators"].values()) > 0
        assert timing["counters"]["native_calls"] == names.count("quantized_mul_int8")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--case", "size/7/*"], "none of these cases is timed"),
        (["--case", "nonsense"], "no case is called 'nonsense'"),
        (["--target", "esp32s3", "--native", KERNEL], "--native builds a kernel for the virtual"),
        (["--target", "nothing"], "unknown target 'nothing'"),
    ],
)
def test_refusals(bench_command: BenchCommand, arguments: list[str | Path], words: str) -> None:
    outcome = bench_command("latency", *arguments)
    assert outcome.status == 2
    assert words in outcome.stderr and len(outcome.stderr.strip().splitlines()) == 1
