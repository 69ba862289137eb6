// CRC-32 as zlib computes it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bench {

// Continues `crc` (0 at the start) over `size` bytes.
uint32_t crc32(uint32_t crc, const uint8_t* data, size_t size);

}  // namespace bench
