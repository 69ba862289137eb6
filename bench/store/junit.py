"""A run as JUnit XML, as CI servers read it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime, timezone
from xml.etree import ElementTree as ET

from bench.store.history import BoardKey, CaseId, Entry
from bench.store.records import CaseResult, LatencyResult
from bench.store.results import RunRow, Stored, Timing, case_id, settled_timings

_TAGS = {"fail": "failure", "error": "error", "not-run": "skipped"}

# What XML 1.0 cannot hold, not even escaped; a board's console can contain it.
_NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(
    run: RunRow, results: Iterable[Stored], timings: Iterable[Timing], gate: Iterable[Entry]
) -> bytes:
    """Return the document: one suite a board, one test case a comparison or timing.

    Wrong outputs, of timed calls too, and regressions of boards are failures, cases that ended
    without outputs are errors, and what was not run or not judged is skipped, with the reason; so
    is what is slower on a virtual board.
    """
    root = ET.Element("testsuites", name="esp-nn-bench")
    suites: dict[str, ET.Element] = {}
    for stored in results:
        result = stored.result
        suite = _suite(root, suites, run, stored.board.label)
        case = ET.SubElement(
            suite,
            "testcase",
            classname=_clean(f"{stored.board.label}.{result.level}.{result.group or result.name}"),
            name=_clean(f"{_name(result.name, result.variant or result.route)} {result.reference}"),
        )
        if result.verdict != "pass":
            _add(case, _TAGS[result.verdict], result.detail or _numbers(stored))
        _attempt(case, result)
    judged = {_key(e.series.board, e.series.board_name, e.series.case): e.judgement for e in gate}
    for timing in settled_timings(timings):
        board, timed = timing.board, timing.result
        of = BoardKey(board.target, board.board_id, board.virtual, "", "", timed.unit, timed.hz)
        judgement = judged.get(_key(of, board.name, case_id(timed)))
        case = ET.SubElement(
            _suite(root, suites, run, board.label),
            "testcase",
            classname=_clean(f"{board.label}.latency.{timed.group or timed.name}"),
            name=_clean(case_id(timed).label),
        )
        if timed.verdict != "pass":
            text = timed.detail or "the output of the timed calls was not right"
            _add(case, _TAGS[timed.verdict], text)
        elif judgement and judgement.status == "regression" and board.virtual:
            _add(case, "skipped", f"slower, but on a virtual board: {judgement.reason}")
        elif judgement and judgement.status == "regression":
            _add(case, "failure", judgement.reason)
        elif judgement and judgement.status == "not-judged":
            _add(case, "skipped", f"not judged: {judgement.reason}")
        _attempt(case, timed)
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


def _key(board: BoardKey, name: str, case: CaseId) -> tuple[object, ...]:
    """Return what a timing and the gate's entry of it have in common within one run."""
    # A real board may have another name in a later run.
    known = name if board.virtual else ""
    return (board.target, board.board_id, board.virtual, known, board.unit, board.hz, case)


def _attempt(case: ET.Element, result: CaseResult | LatencyResult) -> None:
    if result.attempt > 1:
        ET.SubElement(case, "system-out").text = f"attempt {result.attempt}"


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
