"""The wire: framing, messages, client. Knows bytes and buffers, not tensors or boards."""

from bench.link.client import Link
from bench.link.errors import (
    DeviceRebooted,
    DeviceRefused,
    DeviceSilent,
    LinkError,
    PortBusy,
    PortGone,
    ProtocolMismatch,
)
from bench.link.messages import (
    Counters,
    DeviceCounters,
    ExecuteReply,
    ExecuteRequest,
    Hello,
    HostCounters,
    KernelParams,
    KernelReply,
    KernelRequest,
    Memory,
    Place,
    ProgramInfo,
    TensorInfo,
)

__all__ = [
    "Counters",
    "DeviceCounters",
    "DeviceRebooted",
    "DeviceRefused",
    "DeviceSilent",
    "ExecuteReply",
    "ExecuteRequest",
    "Hello",
    "HostCounters",
    "KernelParams",
    "KernelReply",
    "KernelRequest",
    "Link",
    "LinkError",
    "Memory",
    "Place",
    "PortBusy",
    "PortGone",
    "ProgramInfo",
    "ProtocolMismatch",
    "TensorInfo",
]
