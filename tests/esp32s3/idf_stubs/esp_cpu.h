#pragma once

#include <stdint.h>

extern "C" {

typedef uint32_t esp_cpu_cycle_count_t;

esp_cpu_cycle_count_t idf_stub_cycle_count(void);

static inline __attribute__((always_inline)) esp_cpu_cycle_count_t esp_cpu_get_cycle_count(void) {
  return idf_stub_cycle_count();
}

}  // extern "C"
