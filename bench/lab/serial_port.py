"""Opening a board's port for flashing and resetting, with errors people can act on."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable

import serial

from bench.errors import BenchError
from bench.lab import rfc2217
from bench.link import Link, LinkError
from bench.link.holders import describe_holders


class PortUnavailable(BenchError):
    """The port is missing, forbidden, or held by another program."""


class ServerOccupied(PortUnavailable):
    """The RFC 2217 server accepted the connection but does not serve it."""


def open_serial(url: str, baudrate: int = 115_200) -> serial.Serial:
    """Open a pyserial URL for this program alone.

    Raises:
        ServerOccupied: An RFC 2217 server is there, but another program uses it.
        PortUnavailable: The port cannot be opened; says why and what to do.
    """
    rfc2217.register()
    try:
        return serial.serial_for_url(url, baudrate=baudrate, timeout=3, exclusive=True)
    except ValueError as error:
        raise PortUnavailable(f"{url} is not a port ({error}): give a device or a URL") from error
    except OSError as error:  # SerialException is one
        raise _explain(url, error) from error


def open_link(
    url: str,
    *,
    baudrate: int,
    console: Callable[[bytes], None] | None = None,
    patience: float = 5.0,
) -> Link:
    """Open the link as ``Link.open`` does; what keeps an RFC 2217 port closed is said as above."""
    try:
        return Link.open(url, baudrate=baudrate, console=console, patience=patience)
    except LinkError as error:
        cannot_open = type(error) is LinkError and isinstance(error.__cause__, OSError)
        if cannot_open and url.startswith("rfc2217://"):
            raise _explain(url, error.__cause__) from error  # type: ignore[arg-type]
        raise


def _explain(url: str, error: OSError) -> PortUnavailable:
    if url.startswith("rfc2217://"):
        if "Could not open port" in str(error):
            return PortUnavailable(
                f"nothing listens at {url}: start the board's server, or correct the port"
            )
        return ServerOccupied(
            f"the server at {url} does not serve us: another program uses this board, wait for it "
            "or close it"
        )
    if error.errno == errno.ENOENT:
        return PortUnavailable(f"no port {url}: connect the board, or correct the port")
    if error.errno == errno.EACCES:
        return PortUnavailable(
            f"no permission for {url}: add yourself to its group (dialout or uucp) and log in again"
        )
    if error.errno in (errno.EBUSY, errno.EAGAIN) or "exclusively lock" in str(error):
        holders = describe_holders(url) or "another program"
        return PortUnavailable(f"{url} is busy: {holders} has it open; close that")
    reason = os.strerror(error.errno) if error.errno else str(error)
    return PortUnavailable(f"cannot open {url} ({reason}): is the board connected?")
