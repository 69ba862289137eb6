"""Raw samples as compact blobs, without loss."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

# Blob: bits of an item (1 byte), smallest sample (8 bytes), number of samples (4 bytes), all
# little-endian; then each sample less the smallest, in that many bits, most significant bit first,
# without gaps. Deflating does not help: the low bits of timings are noise.
_HEAD = struct.Struct("<BQI")


def pack_samples(samples: Sequence[int] | NDArray[np.integer]) -> bytes:
    """Pack non-negative tick counts of up to 63 bits.

    Raises:
        ValueError: A sample is negative.
    """
    ticks = np.asarray(samples, dtype=np.int64)
    if ticks.size and int(ticks.min()) < 0:
        raise ValueError(f"negative tick count {int(ticks.min())}")
    low = int(ticks.min()) if ticks.size else 0
    above = ticks - low
    bits = int(above.max(initial=0)).bit_length()
    planes = (above[:, None] >> np.arange(bits - 1, -1, -1)) & 1
    return _HEAD.pack(bits, low, ticks.size) + np.packbits(planes.astype(np.uint8)).tobytes()


def unpack_samples(blob: bytes) -> NDArray[np.int64]:
    """Return the samples `pack_samples` was given, shape (n,)."""
    bits, low, count = _HEAD.unpack_from(blob)
    packed = np.frombuffer(blob, dtype=np.uint8, offset=_HEAD.size)
    planes = np.unpackbits(packed, count=bits * count).reshape(count, bits).astype(np.int64)
    weights = np.int64(1) << np.arange(bits - 1, -1, -1, dtype=np.int64)
    samples: NDArray[np.int64] = planes @ weights + low
    return samples
