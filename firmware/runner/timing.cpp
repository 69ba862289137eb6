#include "timing.h"

#include "port_timing.h"
#include "bytes.h"

namespace bench {
namespace {

constexpr uint32_t kEmptyCalls = 31;

// Only what runs between two readings of the clock is timed code; time_calls, around it, is not.

BENCH_TIMED_CODE __attribute__((noinline)) uint32_t time_call(TimedFunction function, void* context,
                                                              bool mask) {
  const TimedSection section(mask);
  const uint32_t start = port_ticks();
  function(context);
  // Unsigned: right across one wrap of the clock.
  return port_ticks() - start;
}

BENCH_TIMED_CODE __attribute__((noinline)) void empty_call(void*) {
  __asm__ volatile("" ::: "memory");
}

uint32_t median_of_empty_calls() {
  uint32_t sorted[kEmptyCalls];
  for (uint32_t count = 0; count < kEmptyCalls; ++count) {
    const uint32_t ticks = time_call(empty_call, nullptr, true);
    uint32_t at = count;
    for (; at > 0 && sorted[at - 1] > ticks; --at) {
      sorted[at] = sorted[at - 1];
    }
    sorted[at] = ticks;
  }
  return sorted[kEmptyCalls / 2];
}

}  // namespace

Timing time_calls(TimedFunction function, TimedFunction before_last, void* context, uint32_t warmup,
                  uint32_t samples, uint8_t* store) {
  Timing timing;
  timing.overhead_ticks = median_of_empty_calls();
  // Summed up call by call: the clock may wrap meanwhile, but not within one.
  uint32_t last = port_ticks();
  const auto add_elapsed = [&timing, &last] {
    const uint32_t now = port_ticks();
    timing.all_ticks += static_cast<uint32_t>(now - last);
    last = now;
  };
  timing.all_ticks = 0;
  // Nobody knows yet how long a call takes: not masked.
  const uint32_t first = time_call(function, context, false);
  timing.first_ticks = first;
  add_elapsed();
  const bool mask = first <= kMaskedTicks;
  for (uint32_t i = 0; i < warmup; ++i) {
    function(context);
    add_elapsed();
  }
  for (uint32_t i = 0; i < samples; ++i) {
    if (i + 1 == samples) {
      before_last(context);
    }
    put_u32(store + 4 * static_cast<size_t>(i), time_call(function, context, mask));
    add_elapsed();
  }
  return timing;
}

}  // namespace bench
