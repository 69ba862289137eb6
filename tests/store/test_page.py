"""The page in a real browser: draws everything, asks for nothing, complains of nothing."""

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from browser import Browser
from synthetic import HOST, at, esp, fill_for_looking, fill_in_bulk, latency, result, wrong

from bench.store import Store
from bench.store.gate import Judgement
from bench.store.history import Series, load_series
from bench.store.page import render
from bench.store.verdicts import Rejudge


def write(folder: Path) -> Path:
    with Store.read(folder) as store:
        page = render(store, load_series(store), Rejudge())
    path = folder / "report.html"
    path.write_text(page)
    return path


def marks(browser: Browser) -> dict[str, int]:
    return json.loads(
        browser.evaluate(
            "JSON.stringify(Object.fromEntries([...document.querySelectorAll('section')]"
            ".map((s) => [s.id, s.querySelectorAll('.mark').length])))"
        )
    )


def rows(browser: Browser, section: str) -> int:
    return browser.evaluate(f"document.querySelectorAll('#{section} tbody tr').length")


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return write(fill_for_looking(tmp_path_factory.mktemp("results"), nights=12))


@pytest.fixture
def quiet(browser):
    """The browser; fails if the page asked for or complained of anything."""
    browser.problems.clear()
    browser.requests.clear()
    yield browser
    assert browser.problems == []
    assert [r for r in browser.requests if not r.startswith(("file:///", "data:"))] == []
    assert len(browser.requests) == 1


@pytest.mark.parametrize(("width", "dark"), [(1200, False), (390, True), (390, False)])
def test_every_chart_has_its_marks(quiet, page, width, dark, tmp_path):
    quiet.size(width, dark=dark)
    quiet.open(page)
    assert quiet.evaluate("document.documentElement.dataset.ready") == "yes"
    found = marks(quiet)
    # Two boards: 48 + 80 + 96 kernel cells and 4 models by 3 routes; the third has three more.
    assert found["status"] == 3 * (224 + 12) + 3
    # Native against portable on three boards (-1, 0, 1) and against integer on one (-2, 0, 1, 3).
    assert found["lsb"] == 3 * 3 + 4
    assert found["first-bad"] == 2
    # One line and 12 nights on three boards, and two nights marked.
    assert found["trend"] == 3 * 13 + 2
    # Two marks for each of 9 sizes, 2 alignments, 2 variants.
    assert found["latency"] == 2 * 36
    assert found["ratio"] == 3 * 18
    assert rows(quiet, "wrong") == 8
    assert rows(quiet, "routes") == 36
    # Two slower, two faster, two drifting.
    assert rows(quiet, "gate") == 6
    assert rows(quiet, "flags") == 2
    assert rows(quiet, "again") == 1
    assert "virtual" in quiet.evaluate("document.querySelector('#trend').innerText")
    # Readable without scrolling sideways.
    assert quiet.evaluate("document.documentElement.scrollWidth") == width
    light = "rgb(20, 21, 24)" if dark else "rgb(246, 246, 243)"
    assert quiet.evaluate("getComputedStyle(document.body).backgroundColor") == light
    quiet.screenshot(tmp_path / "page.png")
    if folder := os.environ.get("BENCH_SCREENSHOTS"):
        (tmp_path / "page.png").rename(Path(folder) / f"{width}{'-dark' if dark else ''}.png")


def test_another_case_and_board_can_be_chosen(quiet, page):
    quiet.size(1200)
    quiet.open(page)

    def choose(label, index):
        quiet.evaluate(
            f"(() => {{ const s = document.querySelector('select[aria-label=\"{label}\"]');"
            f" s.selectedIndex = {index}; s.dispatchEvent(new Event('change')); }})()"
        )

    before = quiet.evaluate("document.querySelector('#trend path.mark').getAttribute('d')")
    options = quiet.evaluate("document.querySelector('#trend select').options.length")
    assert options == 36
    choose("Case", options - 1)
    after = quiet.evaluate("document.querySelector('#trend path.mark').getAttribute('d')")
    assert before != after
    assert "ns/call" in quiet.evaluate("document.querySelector('#latency svg').textContent")
    choose("Board", 1)
    assert "cycles/call" in quiet.evaluate("document.querySelector('#latency svg').textContent")


def test_trend_values_survive_packing(quiet, tmp_path):
    # A board missing in the middle night, and a median of zero.
    values = [1000, 1020, None, 0, 3000, 1010, 1005]
    with Store.open(tmp_path) as store:
        for day, value in enumerate(values):
            with at(day * 86400.0):
                run = store.begin_run("nightly", HOST)
                board = store.add_board(run, esp())
                store.add_latency(board, latency([1020] * 40, name="other"))
                if value is not None:
                    store.add_latency(board, latency([value + 20] * 40))
                store.finish_run(run, "pass")
    quiet.size(1200)
    quiet.open(write(tmp_path))
    drawn = json.loads(quiet.evaluate("JSON.stringify([medians(0), medians(1)])"))
    other, ours = drawn if max(filter(None, drawn[0])) < 2000 else drawn[::-1]
    assert other == pytest.approx([1000] * 7)
    assert ours[2] is None
    assert [v for v in ours if v is not None] == pytest.approx(
        [v for v in values if v is not None], abs=0.03
    )


def test_names_cannot_break_the_page(quiet, tmp_path):
    evil = "</script><script>window.evil = 1</script><b>&amp;{{js}}"
    with Store.open(tmp_path) as store:
        board = store.add_board(store.begin_run("nightly", HOST), esp(name=evil, url=evil))
        store.add_result(board, wrong(evil, 3, detail=evil, group=evil))
        store.add_result(board, result(evil, model=evil, level="program", route=evil))
        store.add_latency(board, latency([100] * 40, name=evil, group=evil))
    quiet.size(1200)
    quiet.open(write(tmp_path))
    assert quiet.evaluate("window.evil") is None
    assert quiet.evaluate("document.querySelectorAll('script').length") == 2
    assert quiet.evaluate("document.querySelectorAll('section b').length") == 0
    assert evil in quiet.evaluate("document.querySelector('#wrong tbody').innerText")


def test_an_empty_store(quiet, tmp_path):
    Store.open(tmp_path).close()
    quiet.size(390)
    quiet.open(write(tmp_path))
    assert "No latency run yet" in quiet.evaluate("document.body.innerText")


def a_year(series: Series, seed: int) -> Series:
    """Give a series a point in each of the runs 1 to 365, some of them regressions."""
    noise = np.random.default_rng(seed).normal(1, 0.01, 365)
    (last,) = series.points
    points = [replace(last, median=last.median * factor) for factor in noise]
    judgements = [Judgement("regression" if f > 1.025 else "ok", "", 1.0, 0.0, 0.1) for f in noise]
    return replace(series, runs=[*range(1, 366)], points=points, judgements=judgements)


def test_a_year_of_two_hundred_cases_on_four_boards(quiet, tmp_path):
    # The store holds the last night only; judging a year takes longer than a test should.
    fill_in_bulk(tmp_path, nights=365, cases=200, boards=4)
    with Store.read(tmp_path) as store:
        series = [a_year(one, seed) for seed, one in enumerate(load_series(store))]
        path = tmp_path / "report.html"
        path.write_text(render(store, series, Rejudge()))
    assert path.stat().st_size < 5_000_000
    quiet.size(1200)
    seconds = quiet.open(path)
    assert seconds < 3
    assert quiet.evaluate("D.series.length") == 800
    assert quiet.evaluate("D.nights.map((n) => n.at.length)") == [365] * 4
    found = marks(quiet)
    # A line on each of four boards; single nights are not drawn among that many.
    assert found["trend"] >= 4
    assert found["ratio"] == 400
