"""What takes a board down, told by its console, its process and the link."""

from __future__ import annotations

import pytest

from bench.lab.boards import board_type
from bench.link import DeviceRebooted, DeviceSilent, LinkError, PortGone
from bench.runs.kernels import VariantLost
from bench.runs.session import BoardLost, BoardSession
from bench.runs.trouble import diagnose, panic_line

# First lines of panics as ESP-IDF's own documentation and sources have them.
PANICS = [
    "Guru Meditation Error: Core  0 panic'ed (StoreProhibited). Exception was unhandled.",
    "Guru Meditation Error: Core 1 (Interrupt wdt timeout on CPU1)",
    "abort() was called at PC 0x400d1f6a on core 0",
    "assert failed: vTaskDelay tasks.c:1470 (xTicksToDelay)",
    'assertion "x > 0" failed: file "main.c", line 4, function: app_main',
    "panic: signal 11",
]
NO_PANICS = ["I (302) main: assertions are on", "ESP-ROM:esp32s3-20210327", "aborted 0 transfers"]


@pytest.mark.parametrize("line", PANICS)
def test_a_panic_is_read_from_the_console(line: str) -> None:
    console = f"I (300) main: hello\r\n\xff{line}\r\nBacktrace: 0x42\r\n".encode("latin-1")
    assert (panic_line(console) or "").endswith(line)
    trouble = diagnose(DeviceSilent("no answer"), None, console)
    assert trouble.kind == "panicked" and line in trouble.text


@pytest.mark.parametrize("line", NO_PANICS)
def test_other_texts_are_no_panic(line: str) -> None:
    assert panic_line(f"{line}\r\n".encode()) is None


@pytest.mark.parametrize(
    ("cause", "death", "kind"),
    [
        (DeviceSilent("x"), None, "hung"),
        (DeviceRebooted("x"), None, "panicked"),
        (PortGone("x"), None, "lost"),
        (LinkError("x"), None, "lost"),
        (PortGone("x"), "was killed by signal 6", "panicked"),
        (DeviceSilent("x"), "exited with status 3", "panicked"),
    ],
)
def test_kinds(cause: LinkError, death: str | None, kind: str) -> None:
    assert diagnose(cause, death, b"").kind == kind
    while_it_ran = VariantLost("native", cause)
    while_it_ran.__cause__ = cause
    assert diagnose(while_it_ran, death, b"").kind == kind


class DeadBoard:
    """Never answers; counts resets."""

    name = "dead"
    url = "socket://127.0.0.1:1"
    type = board_type("host")
    resets = 0

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def reset(self) -> None:
        self.resets += 1

    def post_mortem(self) -> str | None:
        return None


@pytest.mark.parametrize(("patient", "resets"), [(True, 1), (False, 0)])
def test_a_run_that_is_being_ended_resets_no_board(patient: bool, resets: int) -> None:
    board = DeadBoard()
    session = BoardSession(board)
    session.patient = patient
    with pytest.raises(BoardLost, match="no answer"):
        session.recover(DeviceSilent("no answer"))
    assert board.resets == resets
    assert [trouble.kind for trouble in session.troubles] == ["hung"]
