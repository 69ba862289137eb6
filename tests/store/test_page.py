"""The page in a real browser: draws everything, asks for nothing, complains of nothing."""

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from browser import Browser
from synthetic import (
    DAY,
    HOST,
    START,
    at,
    esp,
    fill_for_looking,
    fill_in_bulk,
    latency,
    result,
    wrong,
)

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


KINDS = {
    "aligned": {"align": [0, 0, 0], "in_place": None},
    "misaligned": {"align": [0, 5, 0], "in_place": None},
    "in place on y": {"align": [0, 0, 0], "in_place": "y"},
}


def kernel(size, ticks, variant="native", kind="aligned", placement="ram", **changes):
    """A timing of net `ticks`, one number or one a call."""
    params = {"size": size, "placement": placement, **KINDS[kind]}
    samples = [20 + t for t in (ticks if isinstance(ticks, list) else [ticks] * 41)]
    name = f"grid/{placement}/{size}/{kind}"
    return latency(samples, name=name, variant=variant, elements=size, params=params, **changes)


def program(route, ticks, **changes):
    level = {"level": "program", "model": "glu", "group": "glu", "params": {"input": 0}}
    samples = [20 + ticks - 7, 20 + ticks, 20 + ticks + 7]
    return latency(samples, name="glu", variant=None, route=route, **level, **changes)


def fill(folder, timings, results=()):
    """Store a run of timings after one of results."""
    with Store.open(folder) as store, at(START):
        for stored, add in ((results, Store.add_result), (timings, Store.add_latency)):
            run = store.begin_run("nightly", HOST)
            board = store.add_board(run, esp())
            for one in stored:
                add(store, board, one)
            store.finish_run(run, "pass")
    return write(folder)


def text_of(browser, selector):
    return browser.evaluate(f"document.querySelector({json.dumps(selector)}).innerText")


@pytest.mark.parametrize("width", [1200, 390])
def test_times_of_zero_are_no_ratio(quiet, width, tmp_path):
    # Native takes no time, portable takes none, neither does, one's interval reaches 0.
    half = [0] * 20 + [100] * 21
    times = [(0, 100), (100, 0), (0, 0), (half, 100), (10, 1_000_000)]
    timings = [
        kernel(2**number, ticks, variant)
        for number, both in enumerate(times)
        for variant, ticks in zip(("native", "portable"), both, strict=True)
    ]
    path = fill(tmp_path, timings, [result("a", level="program", model="a", route="delegate")])
    quiet.size(width)
    quiet.open(path)
    found = marks(quiet)
    assert found["ratio"] == 2
    assert found["latency"] == 2 * 10
    assert "3 pairs not drawn" in text_of(quiet, "#ratio")
    assert quiet.evaluate("document.querySelectorAll('.broken').length") == 0
    assert rows(quiet, "routes") == 1
    drawn = json.loads(quiet.evaluate("JSON.stringify(D.pairs.map((p) => p.slice(4)))"))
    assert drawn == [[1, 0, 1], [1e-5, 1e-5, 1e-5]]
    drawn = quiet.evaluate(
        "[...document.querySelectorAll('#ratio svg *')].map((n) => n.outerHTML).join()"
    )
    assert "NaN" not in drawn
    assert "Infinity" not in drawn
    assert quiet.evaluate("[logTicks(0, 1), logTicks(1, Infinity), logTicks(NaN, 2)].flat()") == []


def test_only_times_of_zero(quiet, tmp_path):
    quiet.size(1200)
    quiet.open(fill(tmp_path, [kernel(1, 0), kernel(1, 0, "portable")]))
    assert quiet.evaluate("document.querySelectorAll('.broken').length") == 0
    assert marks(quiet)["latency"] == 4


@pytest.mark.parametrize(
    ("data", "section"), [("pairs", "ratio"), ("timings", "latency"), ("histograms", "lsb")]
)
def test_a_part_that_cannot_be_drawn_leaves_the_others(browser, page, tmp_path, data, section):
    text = page.read_text()
    assert f'"{data}":[' in text
    path = tmp_path / "broken.html"
    path.write_text(text.replace(f'"{data}":[', f'"{data}":[null,', 1))
    browser.size(1200)
    browser.open(page)
    whole = marks(browser)
    browser.open(path)
    assert browser.evaluate("document.documentElement.dataset.ready") == "yes"
    broken = "[...document.querySelectorAll('.broken')].map((n) => n.closest('section').id)"
    assert browser.evaluate(broken) == [section]
    assert "could not be drawn" in text_of(browser, f"#{section}")
    found = marks(browser)
    assert {k: v for k, v in found.items() if k != section} == {
        k: v for k, v in whole.items() if k != section
    }
    assert rows(browser, "provenance") > 0


def test_timings_whose_output_is_wrong(quiet, tmp_path):
    bad = [kernel(8, 5, verdict="fail", detail="expected 1, got 2"), kernel(9, 5, verdict="error")]
    quiet.size(390)
    quiet.open(fill(tmp_path, [*bad, kernel(10, 5)], [result(), wrong("b", 3)]))
    tile = quiet.evaluate("document.querySelector('#tiles .tile').innerText")
    assert " ".join(tile.split()) == "3 of 2 comparisons and 3 timed outputs not right"
    assert rows(quiet, "wrong") == 3
    assert "expected 1, got 2" in text_of(quiet, "#wrong")


@pytest.mark.parametrize("width", [1200, 390])
def test_every_timing_can_be_seen(quiet, width, tmp_path):
    timings = [kernel(size, size) for size in range(1, 71)]
    timings += [kernel(65536, 70000, kind=kind) for kind in KINDS]
    timings += [kernel(65536, 90000, placement="flash")]
    quiet.size(width)
    quiet.open(fill(tmp_path, timings))
    labels = json.loads(
        quiet.evaluate(
            "JSON.stringify([...document.querySelectorAll('#latency svg text.label')]"
            ".map((n) => n.firstChild.data))"
        )
    )
    assert len(labels) == len(set(labels)) == len(timings)
    headings = quiet.evaluate(
        "[...document.querySelectorAll('#latency h3')].map((n) => n.innerText)"
    )
    assert headings == ["flash, aligned", "ram, aligned"]
    hidden = quiet.evaluate(
        "[...document.querySelectorAll('#latency summary')].map((n) => n.innerText)"
    )
    assert hidden == [
        "ram, aligned: 11 more",
        "ram, in place on y: 1 timing",
        "ram, misaligned: 1 timing",
    ]
    quiet.evaluate("document.querySelectorAll('#latency details').forEach((d) => d.open = true)")
    assert quiet.evaluate("document.documentElement.scrollWidth") == width


@pytest.mark.parametrize("width", [1200, 390])
def test_models_by_route(quiet, width, tmp_path):
    operators = {"0 a.out": 5, "1 mul.out": 40, "2 a.out": 50, "3 b.out": 41, "4 c.out": 3}
    timings = [
        program("portable", 400, operators=operators),
        program("delegate", 100, first_ticks=5020),
        program("operator-library", 100, verdict="fail"),
    ]
    ran = result("glu/0", level="program", model="glu", variant=None, route="delegate")
    more = [replace(ran, name=f"x{n}/0", model=f"x{n}") for n in range(20)]
    path = fill(tmp_path, timings, [ran, *more])
    quiet.size(width)
    quiet.open(path)
    cells = json.loads(
        quiet.evaluate(
            "JSON.stringify([...document.querySelectorAll('#routes tbody tr')].map((r) =>"
            " Object.fromEntries([...r.cells].map((c) => [c.dataset.name, c.textContent]))))"
        )
    )
    delegate, library, portable = cells[:3]
    assert delegate["first call"] == "5,000"
    assert (delegate["median"], delegate["MAD"]) == ("100 cycles", "7")
    assert delegate["to portable"].startswith("0.25 (0.2")
    assert portable["most expensive operators"] == "a 55, b 41, mul 40"
    assert portable["to portable"] == ""
    # A wrong output has no valid timing.
    assert (library["verdict"], library["median"]) == ("fail", "")
    # Nothing is cut off, to the right or below.
    cut = "(s) => s.scrollWidth > s.clientWidth || s.scrollHeight > s.clientHeight"
    assert not quiet.evaluate(f"({cut})(document.querySelector('#routes .scroll'))")
    # Verdicts and timings are of two runs.
    sources = text_of(quiet, "#provenance .scroll").split("\n")
    assert "outputs" in " ".join(sources)
    runs = quiet.evaluate("D.sources.map((s) => [s.what.join(), s.run]).flat()")
    assert runs == ["outputs", 1, "timings", 2]
    assert "Host of run 1 to 2" in text_of(quiet, "#provenance")
    assert "in cycles: runs 2" in text_of(quiet, "#provenance")


def test_ratios_have_a_colour_a_kind(quiet, tmp_path):
    timings = [
        kernel(size, ticks, variant, kind, placement)
        for size in (16, 1024)
        for variant, ticks in (("native", size), ("portable", 8 * size))
        for kind in KINDS
        for placement in ("ram", "flash", "psram")
    ]
    quiet.size(1200)
    quiet.open(fill(tmp_path, timings))
    key = quiet.evaluate(
        "[...document.querySelectorAll('#ratio .key span')].map((n) => n.innerText)"
    )
    assert key == sorted(f"native, {p}, {k}" for p in ("flash", "psram", "ram") for k in KINDS)
    looks = quiet.evaluate(
        "[...document.querySelectorAll('#ratio circle')]"
        ".map((n) => n.getAttribute('fill') + n.getAttribute('stroke'))"
    )
    assert len(looks) == 18
    assert len(set(looks)) == 9
    wide = "document.querySelector('#ratio svg').getBoundingClientRect().width"
    assert quiet.evaluate(wide) > 1000


@pytest.mark.parametrize(("step", "clock"), [(600, True), (DAY, False)])
def test_a_trend_starts_with_the_largest_native_kernel(quiet, tmp_path, step, clock):
    with Store.open(tmp_path) as store:
        for number in range(3):
            with at(START + DAY / 2 + number * step):
                run = store.begin_run("latency", HOST)
                board = store.add_board(run, esp())
                for one in (
                    kernel(1, 0),
                    kernel(4096, 5000),
                    kernel(4096, 50000, "portable"),
                    program("portable", 90000),
                ):
                    store.add_latency(board, one)
                store.finish_run(run, "pass")
    quiet.size(1200)
    quiet.open(write(tmp_path))
    chosen = "document.querySelector('#trend select').selectedOptions[0].text"
    assert quiet.evaluate(chosen) == "grid/ram/4096/aligned [native]"
    axis = text_of_all(quiet, "#trend svg > text")
    assert any(":" in text for text in axis) == clock
    assert "Jan" in " ".join(axis)


def text_of_all(browser, selector):
    return browser.evaluate(
        f"[...document.querySelectorAll({json.dumps(selector)})].map((n) => n.textContent)"
    )


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


def test_a_board_is_known_by_its_mac_whatever_its_port(quiet, tmp_path):
    infos = [
        esp(1, name="/dev/ttyACM0"),  # only its older timings are there
        esp(1, name="/dev/ttyACM1"),
        *(esp(1, name=name, virtual=True) for name in ("emulator a", "emulator b")),
        *(esp(name=name, board_id="") for name in ("unknown a", "unknown b")),
    ]
    with Store.open(tmp_path) as store:
        for number, info in enumerate(infos):
            run = store.begin_run("correctness", HOST)
            board = store.add_board(run, info)
            store.add_result(board, wrong("pairs/a", 3) if number == 0 else result("pairs/a"))
            if number == 0:
                store.add_latency(board, latency([100.0] * 9))
            store.finish_run(run, "pass")
    quiet.open(write(tmp_path))
    data = "JSON.parse(document.getElementById('data').textContent)"
    boards = json.loads(quiet.evaluate(f"JSON.stringify({data}.boards)"))
    names = sorted(board["name"] for board in boards)
    assert names == ["/dev/ttyACM1", "emulator a", "emulator b", "unknown a", "unknown b"]
    # The wrong output is of a run before the latest one of that board.
    assert json.loads(quiet.evaluate(f"JSON.stringify({data}.totals)")) == {"pass": 5}
