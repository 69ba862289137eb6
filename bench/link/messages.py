"""What callers give to and get from the link."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Memory:
    """A flat range of a board's bytes; the host lays it out itself. Bases are 64-byte aligned.

    A read-only one holds constants that the firmware was built with.
    """

    name: str
    size: int
    read_only: bool = False


@dataclass(frozen=True)
class Hello:
    """What a board says of itself.

    Attributes:
        protocol: Version of the protocol.
        target: Kind of machine, such as ``host``.
        board: ``id`` (unique to the device) and ``description``, and what else the port tells.
        firmware: Hash of the firmware, in hexadecimal.
        boot_id: Random; another one means that the device restarted.
        reset_reason: Why it started last.
        kernels: Variants by kernel; the first is what the operator runs.
        memories: In the order of their wire index.
        chunk: Most data bytes of a WRITE or READ.
        window: Most requests in flight.
        programs: None, or ``runtime`` and the number of ``operators``.
        clock: ``unit`` (``ns``, ``cycles``, ``instructions``) and ``hz`` of all ticks.
        build: Compiler, flags and what else identifies the build.
    """

    protocol: int
    target: str
    board: dict[str, Any]
    firmware: str
    boot_id: int
    reset_reason: str
    kernels: dict[str, list[str]]
    memories: list[Memory]
    chunk: int
    window: int
    programs: dict[str, Any] | None
    clock: dict[str, Any]
    build: dict[str, Any] = field(default_factory=dict)

    def memory(self, name: str) -> Memory:
        """Return the memory called ``name``.

        Raises:
            KeyError: The board has none of that name.
        """
        for memory in self.memories:
            if memory.name == name:
                return memory
        raise KeyError(name)


@dataclass(frozen=True)
class Place:
    """Where a buffer starts."""

    memory: str
    offset: int


@dataclass(frozen=True)
class KernelParams:
    """Integers of the multiply, and the scales that its portable variant reads.

    Zero points are plain; ``multiplier`` is Q31 and a positive ``shift`` shifts left.
    """

    zero_point1: int
    zero_point2: int
    zero_point_out: int
    multiplier: int
    shift: int
    activation_min: int = -128
    activation_max: int = 127
    scale1: float = 1.0
    scale2: float = 1.0
    scale_out: float = 1.0


@dataclass(frozen=True)
class KernelRequest:
    """One kernel run: a first call timed alone, ``warmup`` calls, then ``samples`` timed calls.

    ``x``, ``y`` and ``out`` are ``elements`` bytes each; ``out`` may be ``x`` or ``y``. With
    samples, ``sample_place`` takes one u32 of ticks a sample. Before the last timed call the
    device copies what lies at ``refill`` to ``out``, or fills ``out`` with ``POISON``.
    """

    variant: str
    x: Place
    y: Place
    out: Place
    elements: int
    params: KernelParams
    kernel: str = "mul_int8"
    warmup: int = 0
    samples: int = 0
    sample_place: Place | None = None
    refill: Place | None = None


@dataclass(frozen=True)
class KernelReply:
    """What the device saw; the output and the samples are read from its memory.

    Attributes:
        variant: The variant that ran, by the device's own word.
        vector_elements: Elements of ONE call that the vector path computed.
        scalar_elements: Elements of one call that the scalar path computed.
        first_ticks: Duration of the first call.
        overhead_ticks: Median duration of an empty call, in every duration here.
        all_ticks: From the first call to the end of the last.
    """

    variant: str
    vector_elements: int
    scalar_elements: int
    first_ticks: int
    overhead_ticks: int
    all_ticks: int


@dataclass(frozen=True)
class TensorInfo:
    """An input or output of a program; ``dtype`` is ExecuTorch's ScalarType (1 is int8)."""

    dtype: int
    sizes: tuple[int, ...]
    bytes: int


@dataclass(frozen=True)
class ProgramInfo:
    """A loaded program: its tensors, and what it took of the device's pools."""

    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    planned_bytes: int
    method_bytes: int


@dataclass(frozen=True)
class ExecuteRequest:
    """One run of the loaded program, timed as a kernel is; places in the program's order.

    Before the last timed execution the outputs, and what memory the program's tensors share, are
    filled with ``POISON``.
    """

    inputs: tuple[Place, ...]
    outputs: tuple[Place, ...]
    warmup: int = 0
    samples: int = 0
    sample_place: Place | None = None


@dataclass(frozen=True)
class ExecuteReply:
    """What the device counted during the FIRST execution, and how long that and all took."""

    first_ticks: int
    overhead_ticks: int
    native_calls: int
    delegate_calls: int
    vector_elements: int
    scalar_elements: int
    all_ticks: int


@dataclass(frozen=True)
class DeviceCounters:
    """The device's view of the line since its start.

    Attributes:
        frames: Frames whose CRC was right.
        bad_frames: Damaged frames.
        overruns: How often bytes came faster than they could be stored, where the port can tell.
        duplicates: Requests that came again after they were done; not acted on.
        resends: Requests sent more than once, by the host's own count in the header.
        stale: Requests too old to be acted on.
        refused: Requests answered with an error.
        text_bytes: Bytes outside frames.
    """

    frames: int
    bad_frames: int
    overruns: int
    duplicates: int
    resends: int
    stale: int
    refused: int
    text_bytes: int


@dataclass(frozen=True)
class HostCounters:
    """The host's view of the line since the link was opened.

    Attributes:
        frames: Frames whose CRC was right.
        bad_frames: Damaged frames.
        resends: Requests sent again.
        duplicates: Answers to what was already answered, or to a session that is over.
        text_bytes: Console bytes.
    """

    frames: int
    bad_frames: int
    resends: int
    duplicates: int
    text_bytes: int


@dataclass(frozen=True)
class Counters:
    """Both ends' counters."""

    device: DeviceCounters
    host: HostCounters
