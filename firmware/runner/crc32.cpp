#include "crc32.h"

#include "bytes.h"

namespace bench {
namespace {

constexpr size_t kSlices = 8;

// Slicing by eight: entry [k][b] is the CRC of byte b followed by k zeros.
struct Tables {
  uint32_t entry[kSlices][256];

  constexpr Tables() : entry() {
    for (uint32_t byte = 0; byte < 256; ++byte) {
      uint32_t crc = byte;
      for (int bit = 0; bit < 8; ++bit) {
        crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xEDB88320u : 0u);
      }
      entry[0][byte] = crc;
    }
    for (size_t slice = 1; slice < kSlices; ++slice) {
      for (uint32_t byte = 0; byte < 256; ++byte) {
        const uint32_t crc = entry[slice - 1][byte];
        entry[slice][byte] = (crc >> 8) ^ entry[0][crc & 0xFF];
      }
    }
  }
};

constexpr Tables kTables;

}  // namespace

uint32_t crc32(uint32_t crc, const uint8_t* data, size_t size) {
  const auto& entry = kTables.entry;
  crc = ~crc;
  for (; size >= kSlices; size -= kSlices, data += kSlices) {
    const uint32_t low = crc ^ get_u32(data);
    const uint32_t high = get_u32(data + 4);
    crc = entry[7][low & 0xFF] ^ entry[6][(low >> 8) & 0xFF] ^ entry[5][(low >> 16) & 0xFF] ^
          entry[4][low >> 24] ^ entry[3][high & 0xFF] ^ entry[2][(high >> 8) & 0xFF] ^
          entry[1][(high >> 16) & 0xFF] ^ entry[0][high >> 24];
  }
  for (; size > 0; --size, ++data) {
    crc = (crc >> 8) ^ entry[0][(crc ^ *data) & 0xFF];
  }
  return ~crc;
}

}  // namespace bench
