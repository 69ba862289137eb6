"""A run as JUnit XML, as CI servers read it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime, timezone
from xml.etree import ElementTree as ET

from bench.store.history import Entry
from bench.store.results import RunRow, Stored

# What XML 1.0 cannot hold, not even escaped; a board's console can contain it.
_NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(run: RunRow, results: Iterable[Stored], gate: Iterable[Entry]) -> bytes:
    """Return the document: one suite a board, one test case a comparison or judged timing.

    Wrong outputs and regressions are failures, cases that ended without outputs are errors, and
    what was not run or not judged is skipped, with the reason.
    """
    root = ET.Element("testsuites", name="esp-nn-bench")
    suites: dict[str, ET.Element] = {}
    for stored in results:
        result = stored.result
        suite = _suite(root, suites, run, stored.board.label)
        case = ET.SubElement(
            suite,
            "testcase",
            classname=f"{stored.board.label}.{result.level}.{result.group or result.name}",
            name=_clean(f"{_name(result.name, result.variant or result.route)} {result.reference}"),
        )
        if result.verdict == "fail":
            _add(case, "failure", result.detail or _numbers(stored))
        elif result.verdict == "error":
            _add(case, "error", result.detail)
        elif result.verdict == "not-run":
            _add(case, "skipped", result.detail)
        if result.attempt > 1:
            ET.SubElement(case, "system-out").text = f"attempt {result.attempt}"
    for entry in gate:
        name = entry.series.board_name + (" (virtual)" if entry.series.board.virtual else "")
        suite = _suite(root, suites, run, name)
        case = ET.SubElement(
            suite,
            "testcase",
            classname=f"{name}.latency.{entry.series.case.group or entry.series.case.name}",
            name=_clean(entry.series.case.label),
        )
        if entry.judgement.status == "regression":
            _add(case, "failure", entry.judgement.reason)
        elif entry.judgement.status == "not-judged":
            _add(case, "skipped", f"not judged: {entry.judgement.reason}")
    for suite in (*suites.values(), root):
        for tag, count in (("testcase", "tests"), ("failure", "failures"), ("error", "errors")):
            suite.set(count, str(len(list(suite.iter(tag)))))
        suite.set("skipped", str(len(list(suite.iter("skipped")))))
    document: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return document


def _suite(root: ET.Element, suites: dict[str, ET.Element], run: RunRow, board: str) -> ET.Element:
    if board not in suites:
        started = datetime.fromtimestamp(run.started, timezone.utc)
        suites[board] = ET.SubElement(
            root,
            "testsuite",
            name=_clean(board),
            timestamp=started.strftime("%Y-%m-%dT%H:%M:%S"),
            time=f"{(run.finished or run.started) - run.started:.3f}",
        )
    return suites[board]


def _add(case: ET.Element, tag: str, message: str) -> None:
    ET.SubElement(case, tag, message=_clean(message)).text = _clean(message)


def _numbers(stored: Stored) -> str:
    result = stored.result
    return (
        f"{result.violations} of {result.elements} elements wrong, "
        f"up to {result.max_abs_diff} LSB, first at {result.first_bad_index}"
    )


def _name(name: str, kind: str | None) -> str:
    return f"{name} [{kind}]" if kind else name


def _clean(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
