// The chip's clock, for the timing loop: the cycle counter of the core that runs the main task.
#pragma once

#include <esp_attr.h>
#include <esp_cpu.h>
#include <freertos/FreeRTOS.h>

#include <cstdint>

#define BENCH_TIMED_CODE IRAM_ATTR

namespace bench {

// 10 ms at 240 MHz. The interrupt watchdog bites after 300 ms, and the clock of the tick
// interrupt stands still meanwhile.
constexpr uint32_t kMaskedTicks = 2400000;

__attribute__((always_inline)) inline uint32_t port_ticks() { return esp_cpu_get_cycle_count(); }

extern portMUX_TYPE timed_section_lock;

class TimedSection {
 public:
  __attribute__((always_inline)) explicit TimedSection(bool mask) : mask_(mask) {
    if (mask_) {
      portENTER_CRITICAL(&timed_section_lock);
    }
  }
  __attribute__((always_inline)) ~TimedSection() {
    if (mask_) {
      portEXIT_CRITICAL(&timed_section_lock);
    }
  }
  TimedSection(const TimedSection&) = delete;
  TimedSection& operator=(const TimedSection&) = delete;

 private:
  const bool mask_;
};

}  // namespace bench
