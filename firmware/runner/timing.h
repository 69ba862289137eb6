// The timing loop. The port's port_timing.h gives it its clock and its place in memory:
//   BENCH_TIMED_CODE            attribute of timed code (IRAM, say)
//   uint32_t port_ticks()       inline; low 32 bits of the clock
//   class TimedSection(bool mask)  masks interrupts while it lives, if `mask`
//   kMaskedTicks                interrupts may be masked that long
#pragma once

#include <cstdint>

namespace bench {

using TimedFunction = void (*)(void* context);

struct Timing {
  uint64_t first_ticks;
  uint32_t overhead_ticks;  // median of an empty call; contained in every duration
  uint64_t all_ticks;       // from the first call to the end of the last
};

// Calls `function` once, timed alone; then `warmup` times; then `samples` times, storing each
// duration as a little-endian u32 at `store`. Before the last of these calls it calls
// `before_last`, untimed.
Timing time_calls(TimedFunction function, TimedFunction before_last, void* context, uint32_t warmup,
                  uint32_t samples, uint8_t* store);

}  // namespace bench
