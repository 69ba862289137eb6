#include "memories.h"

#include <esp_err.h>
#include <esp_heap_caps.h>

#include <algorithm>

#include "constants.h"

namespace bench {
namespace {

constexpr size_t kAlignment = 64;
// What later allocations of the system may need, and the allocator itself for the alignment.
constexpr size_t kLeftOver = 8 * 1024;
constexpr uint32_t kInternal = MALLOC_CAP_INTERNAL | MALLOC_CAP_8BIT;
constexpr uint32_t kExternal = MALLOC_CAP_SPIRAM | MALLOC_CAP_8BIT;
// Enough for three tensors of all int8 pairs, and for programs with large constants.
constexpr size_t kExternalSize = 1024 * 1024;
constexpr size_t kInternalProgramSize = 32 * 1024;

Memory taken[4];
size_t taken_count = 0;

// Takes `wanted` bytes, or what is there.
void take(const char* name, size_t wanted, uint32_t capabilities) {
  const size_t largest = heap_caps_get_largest_free_block(capabilities);
  const size_t available = largest > kLeftOver ? largest - kLeftOver : 0;
  const size_t size = std::min(wanted, available) / kAlignment * kAlignment;
  void* place = heap_caps_aligned_alloc(kAlignment, size, capabilities);
  ESP_ERROR_CHECK(place != nullptr ? ESP_OK : ESP_ERR_NO_MEM);
  taken[taken_count++] = {name, static_cast<uint8_t*>(place), static_cast<uint32_t>(size), false};
}

}  // namespace

void take_memories(bool with_programs) {
  const bool external = heap_caps_get_total_size(kExternal) > 0;
  // The host runs kernels in the first memory and stores programs in the last. The internal one
  // gets all that is left, in one piece: 193 KiB hold a case of all int8 pairs.
  if (with_programs) {
    take("program", external ? kExternalSize : kInternalProgramSize,
         external ? kExternal : kInternal);
  }
  taken[taken_count++] = constant_memory("flash");
  if (external) {
    take("psram", kExternalSize, kExternal);
  }
  take("ram", SIZE_MAX, kInternal);
  std::reverse(taken, taken + taken_count);
}

const Memory* memories(size_t* count) {
  *count = taken_count;
  return taken;
}

}  // namespace bench
