"""Only what is comparable is compared."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from synthetic import ESP_HELLO, HOST, at, esp, host, latency

from bench.store import Store
from bench.store.history import count_statuses, entries_of, gate_verdict, load_series
from bench.store.store import configuration

NIGHTS = 6


def nights(folder, boards, timings=None, hosts=None):
    """Store one night after another; return the series."""
    with Store.open(folder) as store:
        for day, info in enumerate(boards):
            with at(day * 86400):
                run = store.begin_run("nightly", (hosts or {}).get(day, HOST))
                board = store.add_board(run, info)
                store.add_latency(board, (timings or {}).get(day, latency([1000, 1010] * 50)))
                store.finish_run(run, "pass")
        return load_series(store)


def test_the_same_again_is_one_series(tmp_path):
    found = nights(tmp_path, [esp()] * NIGHTS)
    assert len(found) == 1
    assert [j.status for j in found[0].judgements] == ["not-judged"] * 5 + ["ok"]


def test_new_firmware_and_new_name_are_still_the_same_series(tmp_path):
    build = ESP_HELLO["build"] | {"revision": "another", "esp_nn": "1.2.4", "idf": "v5.5.2"}
    newer = esp(firmware="00" * 32, hello=ESP_HELLO | {"build": build, "boot_id": 5}, name="new")
    found = nights(tmp_path, [esp()] * 5 + [newer])
    assert len(found) == 1
    assert found[0].board_name == "new"


def test_what_the_ports_call_their_revision_is_no_configuration(tmp_path):
    """By the ports' own sources: a commit must not make a new board of the same one."""
    ports = Path(__file__).parents[2] / "firmware" / "ports"
    facts = {
        port.parent.name: set(re.findall(r'\{"(\w+)", ', port.read_text()))
        for port in (ports / "host" / "host_port.cpp", ports / "esp32s3/main/esp32s3_port.cpp")
    }
    assert all("revision" in names for names in facts.values())
    one, other = (configuration({"build": dict.fromkeys(("revision", "flags"), v)}) for v in "ab")
    one["build"].pop("flags"), other["build"].pop("flags")
    assert one == other


def test_a_run_that_was_cut_short_is_no_baseline(tmp_path):
    slow = latency([2000, 2010] * 50)
    with Store.open(tmp_path) as store:
        for day in range(12):
            with at(day * 86400):
                run = store.begin_run("nightly", HOST)
                cut = 5 <= day < 11
                store.add_latency(
                    store.add_board(run, esp()), slow if cut else latency([1000] * 50)
                )
                if not cut:
                    store.finish_run(run, "pass")
                elif day % 2:
                    store.finish_run(run, "interrupted")
        (series,) = load_series(store)
    assert series.judgements[-1].baseline == series.points[0].median


OTHERS = {
    "board": esp(2),
    "target": esp(target="esp32s3-box"),
    "virtual": esp(virtual=True),
    "flags": esp(hello=ESP_HELLO | {"build": ESP_HELLO["build"] | {"flags": "-Os"}}),
    "clock": esp(hello=ESP_HELLO | {"clock": {"unit": "cycles", "hz": 160_000_000}}),
}


@pytest.mark.parametrize("what", OTHERS)
def test_another_board_or_configuration_is_never_the_baseline(tmp_path, what):
    found = nights(tmp_path, [esp()] * NIGHTS + [OTHERS[what]])
    assert len(found) == 2
    assert found[-1].judgements[-1].status == "not-judged"


@pytest.mark.parametrize(
    "changes",
    [
        {"params": {"size": 256, "align": [1, 0, 0], "placement": "sram"}},
        {"params": {"size": 256, "align": [0, 0, 0], "placement": "psram"}},
        {"variant": "portable"},
        {"name": "latency/257"},
        {"unit": "ns"},
        {"hz": 160_000_000},
    ],
)
def test_another_case_or_clock_is_never_the_baseline(tmp_path, changes):
    other = latency([1000, 1010] * 50, **changes)
    found = nights(tmp_path, [esp()] * (NIGHTS + 1), {NIGHTS: other})
    assert len(found) == 2
    assert found[-1].judgements[-1].status == "not-judged"


def test_a_virtual_board_belongs_to_its_machine(tmp_path):
    other = {NIGHTS: HOST | {"node": "laptop"}}
    assert len(nights(tmp_path / "host", [host()] * (NIGHTS + 1), hosts=other)) == 2
    assert len(nights(tmp_path / "board", [esp()] * (NIGHTS + 1), hosts=other)) == 1


def test_a_board_without_an_id_is_not_judged(tmp_path):
    found = nights(tmp_path, [replace(esp(), board_id="")] * (NIGHTS + 3))
    assert {j.status for j in found[0].judgements} == {"not-judged"}
    assert "id was never learnt" in found[0].judgements[-1].reason


def test_of_repeated_attempts_the_last_counts(tmp_path):
    with Store.open(tmp_path) as store:
        run = store.begin_run("latency", HOST)
        board = store.add_board(run, esp())
        store.add_latency(board, latency([], verdict="error", detail="reset"))
        store.add_latency(board, latency([1020] * 40, attempt=2))
        (one,) = load_series(store)
    assert [(p.median, p.count, p.right) for p in one.points] == [(1000, 40, True)]


def test_verdict_of_a_night(tmp_path):
    slow = latency([1100, 1110] * 50)
    found = nights(tmp_path, [esp()] * (NIGHTS + 1), {NIGHTS: slow})
    first, last = entries_of(found, 1), entries_of(found, NIGHTS + 1)
    assert gate_verdict(first) == "not-judged"
    assert gate_verdict(entries_of(found, NIGHTS)) == "pass"
    assert gate_verdict(last) == "fail"
    assert count_statuses(last) == {"regression": 1, "drift": 0}
    record = last[0].to_json()
    assert record["status"] == "regression"
    assert record["change"] == pytest.approx(0.1015, abs=1e-3)
    assert record["virtual"] is False
    assert record["params"]["placement"] == "sram"
    assert entries_of(found, 99) == []
    assert gate_verdict([]) == "not-judged"
