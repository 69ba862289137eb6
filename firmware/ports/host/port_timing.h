// The host's clock, for the timing loop. A process cannot mask interrupts; its figures are rough.
#pragma once

#include <ctime>

#include <cstdint>

#define BENCH_TIMED_CODE

namespace bench {

constexpr uint32_t kMaskedTicks = 0;

// Nanoseconds, modulo 2^32.
inline uint32_t port_ticks() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint32_t>(static_cast<uint64_t>(now.tv_sec) * 1000000000u +
                               static_cast<uint64_t>(now.tv_nsec));
}

class TimedSection {
 public:
  explicit TimedSection(bool) {}
};

}  // namespace bench
