"""Requests and replies over a line that may lose, damage, repeat or delay any of them."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from bench.link.errors import (
    DeviceRebooted,
    DeviceRefused,
    DeviceSilent,
    LinkError,
    ProtocolMismatch,
)
from bench.link.framing import Decoder, Frame, encode, wire_size
from bench.link.messages import HostCounters
from bench.link.protocol import (
    HELLO_REPLY,
    MAX_WINDOW,
    REPLY,
    SEQUENCE_WINDOW,
    UNKNOWN_SESSION_REPLY,
    VERSION,
    Status,
    Type,
)
from bench.link.transport import Transport
from bench.link.waiting import LineRate, LossRate, RoundTrip, deadline_seconds, line_seconds

# Seconds without one good frame, beyond what the line needs, after which a device is given up.
_SILENCE = 2.0
# After this many quiet seconds, half a frame will not be completed any more.
_GIVE_UP_FRAME = 0.5
# While a device works it should not be disturbed: first question after this, then twice as long.
_FIRST_POLL = 0.25
_LONGEST_POLL = 2.0
# HELLO is repeated from the first to the second interval while a board boots.
_HELLO_INTERVAL = (0.05, 0.5)
_IDLE = 0.05
# Wire bytes of two frames without payload, at most.
_FRAMES = 2 * wire_size(0) + 8
# Small frames go out together; one of this size goes at once, while the next is made.
_LARGE = 1024
_OK, _WORKING = int(Status.OK), int(Status.WORKING)
# Payload bytes beside the data of a chunk, at most.
_FIELDS = 1024


@dataclass(slots=True)
class Request:
    """One request and what it costs.

    Attributes:
        type: What is asked.
        payload: Its fields and data.
        answer: Payload bytes of the reply, for the line's time.
        work: Seconds the device may need before it answers.
        tag: The caller's own number for it.
        data: Bytes of data it moves either way.
        split: Returns requests that do the same in pieces of the line's present best chunk; for
            requests that may be done twice in one run.
    """

    type: Type
    payload: bytes
    answer: int = 0
    work: float = 0.0
    tag: int = 0
    data: int = 0
    split: Callable[[], Iterable[Request]] | None = None


class _Flight:
    """A request under way. ``sends`` holds, for each copy, its place among all sends, when it
    was sent and the seconds that line and device were to take."""

    __slots__ = ("due", "order", "poll", "request", "sends", "sequence", "size")

    def __init__(self, request: Request, sequence: int) -> None:
        self.request = request
        self.sequence = sequence
        # Of request and reply together, on the wire.
        self.size = len(request.payload) + request.answer + _FRAMES
        self.sends: list[tuple[int, float, float]] = []
        self.order = 0  # of the newest copy
        self.due = 0.0
        self.poll = 0.0  # seconds between questions, once the device said that it works

    def splits_at(self, chunk: int) -> bool:
        """Whether it had better be split: lost twice, and much larger than the best chunk."""
        request = self.request
        return request.split is not None and len(self.sends) > 1 and request.data >= 2 * chunk


@dataclass(slots=True)
class _Run:
    """The state of one ``run``: what is to be sent, what is in flight, and until when."""

    requests: Iterator[Request]
    what: str
    reply: Callable[[int, bytes], None] | None
    start: float
    deadline: float
    heard: float  # when the last frame came
    wake: float  # when the next copy is due, at the earliest
    flights: dict[int, _Flight] = field(default_factory=dict)  # by sequence, oldest first
    pieces: deque[Request] = field(default_factory=deque)  # of requests that were split
    in_flight: int = 0  # wire bytes, both ways
    moved: int = 0  # data bytes, confirmed
    split: bool = False
    out: list[bytes] = field(default_factory=list)  # frames to go out together


@dataclass(frozen=True)
class Greeting:
    """The reply to HELLO: what a session is made of."""

    boot_id: int
    next_session: int
    chunk: int
    window: int
    description_bytes: int


class Exchange:
    """One session with a device. Thread-safe; console text is read between requests as well."""

    def __init__(
        self, transport: Transport, baudrate: int, console: Callable[[bytes], None]
    ) -> None:
        """Use ``transport``; ``console`` gets text from the caller's or a reading thread."""
        self.name = transport.name
        self._transport = transport
        self._baudrate = baudrate
        self._byte_seconds = line_seconds(1, baudrate)
        self._decoder = Decoder(console)
        self._lock = threading.RLock()
        self._session = 0
        self._boot_id = 0
        self._sequence = 1
        self._window = 1
        self._sends = 0
        self._resends = 0
        self._duplicates = 0
        self._round_trip = RoundTrip()
        self._loss = LossRate()
        self._rate = LineRate()
        self._largest_chunk = 1
        self._last_byte = time.monotonic()
        self._gone: LinkError | None = None
        self._closing = False
        self._reader = threading.Thread(target=self._read_idle, name="link console", daemon=True)
        self._reader.start()

    @property
    def counters(self) -> HostCounters:
        """The host's view of the line."""
        seen = self._decoder.counters
        return HostCounters(
            seen.frames, seen.bad_frames, self._resends, self._duplicates, seen.text_bytes
        )

    def close(self) -> None:
        """Close the line; console text that arrived before is delivered."""
        if self._closing:
            return
        self._closing = True
        if threading.current_thread() is not self._reader:
            self._reader.join()
        with self._lock:
            if self._gone is None:
                with contextlib.suppress(LinkError):
                    self._take(0)
                self._decoder.give_up()
            self._transport.close()

    @property
    def session(self) -> int:
        """The open session's id."""
        return self._session

    @property
    def chunk(self) -> int:
        """How much data the next WRITE or READ had best carry: less on a slow or bad line."""
        return self._loss.best_chunk(self._rate.best_chunk(self._largest_chunk))

    def greet(self, seconds: float) -> Greeting:
        """Find the device and open a session.

        Raises:
            DeviceSilent: Nothing that speaks the protocol answers within ``seconds``.
            ProtocolMismatch: It speaks another version.
        """
        with self._lock:
            self._check_open()
            start = time.monotonic()
            text_before = self._decoder.counters.text_bytes
            bad_before = self._decoder.counters.bad_frames
            first = nonce = random.SystemRandom().getrandbits(30)
            session = 0
            greeting: Greeting | None = None
            interval, due = _HELLO_INTERVAL[0], start
            while (now := time.monotonic()) < start + seconds:
                if now >= due:
                    nonce += 1
                    type_ = Type.OPEN if greeting else Type.HELLO
                    self._transport.drop_unsent()
                    self._transport.send(encode(type_, session, nonce, b""))
                    due = now + interval + self._round_trip.timeout
                    interval = min(2 * interval, _HELLO_INTERVAL[1])
                for frame in self._take(min(due, start + seconds) - now):
                    if frame.version != VERSION:
                        raise self._mismatch(frame)
                    if not first < frame.sequence <= nonce or frame.session != session:
                        continue
                    if frame.type == Type.HELLO | REPLY and frame.status == Status.OK:
                        greeting = Greeting(*HELLO_REPLY.unpack_from(frame.payload))
                        session, due = greeting.next_session, now
                        interval = _HELLO_INTERVAL[0]
                    elif greeting and frame.type == Type.OPEN | REPLY:
                        if frame.status == Status.OK:
                            self._session = session
                            self._boot_id = greeting.boot_id
                            self._sequence = 1
                            self._window = max(1, min(greeting.window, MAX_WINDOW))
                            self._largest_chunk = max(1, greeting.chunk)
                            self._decoder.limit(greeting.chunk + _FIELDS)
                            return greeting
                        # Restarted between the two: begin again.
                        session, greeting, due = 0, None, now
            seen = self._decoder.counters
            text, bad = seen.text_bytes - text_before, seen.bad_frames - bad_before
            heard = f"{text} bytes of console text and {bad} damaged frames" if text or bad else ""
            raise DeviceSilent(
                f"{self.name}: no bench runner answers within {seconds:.1f} s "
                f"({'only ' + heard if heard else 'not a byte'} came); is the firmware on it, "
                f"and is {self._baudrate} its baud rate?"
            )

    def ping(self) -> None:
        """Ask whether the session still stands: an empty request."""
        self.run([Request(Type.OPEN, b"", answer=4)], "a ping")

    def one(self, request: Request, what: str, seconds: float = 0.0) -> bytes:
        """Send one request; return the reply's payload."""
        answers: list[bytes] = []
        self.run([request], what, seconds=seconds, reply=lambda _, data: answers.append(data))
        return answers[0]

    def run(
        self,
        requests: Iterable[Request],
        what: str,
        *,
        seconds: float = 0.0,
        reply: Callable[[int, bytes], None] | None = None,
    ) -> None:
        """Send requests, several in flight; each is acted on once, in any order.

        Args:
            requests: Taken one by one as the window allows.
            what: For messages, such as "WRITE of 65,536 bytes".
            seconds: Time all of it may take in the end.
            reply: Called with the tag and reply payload of each request, in any order.

        Raises:
            DeviceSilent: No answer in time.
            DeviceRefused: The device refused one.
            DeviceRebooted: The device restarted since hello.
            PortGone: The port closed.
        """
        with self._lock:
            self._check_open()
            try:
                now = time.monotonic()
                deadline = now + max(seconds, deadline_seconds(0, self._baudrate))
                self._run(_Run(iter(requests), what, reply, now, deadline, now, deadline))
            except BaseException:
                # What is still under way must not be acted on later: make it stale.
                self._sequence += SEQUENCE_WINDOW
                self._transport.drop_unsent()
                raise

    def _run(self, run: _Run) -> None:
        now = run.start
        seen = self._decoder.counters
        while True:
            if now >= run.wake:
                self._resend_due(run, now)
            self._fill_window(run, now)
            if not run.flights:
                break
            self._flush(run)
            bad_frames = seen.bad_frames
            frames = self._take(max(0.0, min(run.wake, run.deadline) - now))
            now = time.monotonic()
            if frames or seen.bad_frames > bad_frames:
                run.heard = now  # a damaged frame is an answer, too
            for frame in frames:
                self._handle(run, frame, now)
            self._rate.moved(run.moved, now - run.start)
            if now >= run.deadline or (now - run.heard > _SILENCE and self._is_silent(run, now)):
                raise self._silence(run.what, now - run.start)
        if run.split:
            # Late copies of what was split must not be acted on after this.
            self._sequence += SEQUENCE_WINDOW

    def _resend_due(self, run: _Run, now: float) -> None:
        for flight in list(run.flights.values()):
            if flight.due > now:
                continue
            self._resends += 1
            if flight.splits_at(self.chunk):
                assert flight.request.split is not None
                self._loss.failed(flight.request.data)
                run.pieces.extend(flight.request.split())
                self._land(run, flight)
                run.split = True
            else:
                self._send(run, flight, now)
        run.wake = min((flight.due for flight in run.flights.values()), default=run.deadline)

    def _fill_window(self, run: _Run, now: float) -> None:
        flights = run.flights
        # By half windows: fewer, larger writes and wake-ups, and the line still never idles.
        if len(flights) > self._window // 2:
            return
        while len(flights) < self._window:
            # The oldest in flight must stay within the device's window.
            if flights and self._sequence - next(iter(flights)) >= SEQUENCE_WINDOW:
                return
            request = run.pieces.popleft() if run.pieces else next(run.requests, None)
            if request is None:
                return
            flight = flights[self._sequence] = _Flight(request, self._sequence)
            self._sequence += 1
            run.in_flight += flight.size
            self._send(run, flight, now)
            if flight.due < run.wake:
                run.wake = flight.due

    def _send(self, run: _Run, flight: _Flight, now: float) -> None:
        request = flight.request
        attempt = len(flight.sends)
        self._sends = flight.order = self._sends + 1
        self._loss.sent(flight.size, lost=attempt > 0 and not flight.poll)
        # All that is in flight stands before this one on the line.
        line = run.in_flight * self._byte_seconds + request.work
        flight.sends.append((flight.order, now, line))
        if flight.poll:
            flight.poll = min(2 * flight.poll, _LONGEST_POLL)
            flight.due = now + flight.poll
        else:
            flight.due = now + self._round_trip.retry(attempt, line)
        run.out.append(
            encode(
                request.type, self._session, flight.sequence, request.payload,
                attempt=attempt & 0xFF,
            )
        )  # fmt: skip
        if len(request.payload) >= _LARGE:
            self._flush(run)

    def _flush(self, run: _Run) -> None:
        if run.out:
            self._transport.send(b"".join(run.out))
            run.out.clear()

    def _handle(self, run: _Run, frame: Frame, now: float) -> None:
        version, type_, attempt, status, session, sequence, payload = frame
        if version != VERSION:
            raise self._mismatch(frame)
        flight = run.flights.get(sequence)
        if (
            flight is None
            or session != self._session
            or type_ != flight.request.type | REPLY
            or attempt >= len(flight.sends)
        ):
            self._duplicates += 1
            return
        order, sent, line = flight.sends[attempt]
        if status == _OK:
            self._land(run, flight)
            self._loss.arrived(flight.request.data)
            run.moved += flight.request.data
            self._round_trip.sample(now - sent - line)
            if run.reply is not None:
                run.reply(flight.request.tag, payload)
        elif status == _WORKING:
            flight.poll = flight.poll or _FIRST_POLL
            flight.due = now + flight.poll
        else:
            raise self._refusal(frame, run.what)
        # A line keeps order: what was sent before the copy that is answered here, and is not
        # answered, is lost.
        for other in run.flights.values():
            if other.order < order and not other.poll:
                other.due = run.wake = now
            elif len(other.sends) == 1:
                break  # it and all after it were sent later

    def _land(self, run: _Run, flight: _Flight) -> None:
        del run.flights[flight.sequence]
        run.in_flight -= flight.size

    def _is_silent(self, run: _Run, now: float) -> bool:
        """Whether it is too long since the last frame: not while the device works."""
        if any(flight.poll for flight in run.flights.values()):
            return False
        line = max((flight.sends[-1][2] for flight in run.flights.values()), default=0.0)
        return now - run.heard > max(_SILENCE, 4 * self._round_trip.timeout) + line

    def _take(self, timeout: float) -> list[Frame]:
        try:
            data = self._transport.receive(timeout)
        except LinkError as error:
            self._gone = error
            self._decoder.give_up()
            raise
        now = time.monotonic()
        if data:
            self._last_byte = now
            return self._decoder.feed(data)
        if self._decoder.pending and now - self._last_byte > _GIVE_UP_FRAME:
            self._decoder.give_up()
        return []

    def _read_idle(self) -> None:
        while not self._closing and self._gone is None:
            arrived = self._transport.wait(_IDLE)
            if self._closing or not (arrived or self._decoder.pending):
                continue
            with self._lock:
                if self._gone is None:
                    try:
                        self._duplicates += len(self._take(0))
                    except LinkError:
                        return

    def _check_open(self) -> None:
        if self._gone is not None:
            raise self._gone
        if self._closing:
            raise LinkError(f"{self.name}: the link is closed")

    def _mismatch(self, frame: Frame) -> ProtocolMismatch:
        return ProtocolMismatch(
            f"{self.name}: the firmware speaks version {frame.version} of the protocol, this bench "
            f"version {VERSION}; flash the firmware of this bench"
        )

    def _refusal(self, frame: Frame, what: str) -> LinkError:
        if frame.status == Status.UNKNOWN_SESSION:
            (boot_id,) = UNKNOWN_SESSION_REPLY.unpack_from(frame.payload)
            if boot_id != self._boot_id:
                return DeviceRebooted(f"{self.name}: the device restarted before {what} was done")
            return LinkError(f"{self.name}: another program opened this board during {what}")
        text = frame.payload.decode(errors="replace")
        try:
            name = Status(frame.status).name
        except ValueError:
            name = f"status {frame.status}"
        return DeviceRefused(
            f"{self.name}: the device refused {what}: {name}: {text}", frame.status, text
        )

    def _silence(self, what: str, elapsed: float) -> DeviceSilent:
        seen = self.counters
        lost = (
            f" ({seen.bad_frames} damaged frames, {seen.resends} resends on this line so far)"
            if seen.bad_frames or seen.resends
            else ""
        )
        return DeviceSilent(f"{self.name}: no answer to {what} within {elapsed:.1f} s{lost}")
