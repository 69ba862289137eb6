"""What can go wrong on a line, one class for each thing a caller may want to do about it."""

from __future__ import annotations

from bench.errors import BenchError


class LinkError(BenchError):
    """The line or the device failed; the message names the port and the request."""


class DeviceSilent(LinkError):
    """The device did not answer within the request's deadline."""


class DeviceRebooted(LinkError):
    """The device restarted since hello: what was written to it is gone."""


class PortGone(LinkError):
    """The port closed or vanished under the link."""


class PortBusy(LinkError):
    """Another program holds the port."""


class ProtocolMismatch(LinkError):
    """The device speaks another version of the protocol."""


class DeviceRefused(LinkError):
    """The device refused a request.

    Attributes:
        status: Why, as ``bench.link.protocol.Status``.
        text: The device's own words.
    """

    def __init__(self, message: str, status: int, text: str) -> None:
        """Keep the device's status and words beside the message."""
        super().__init__(message)
        self.status = status
        self.text = text
