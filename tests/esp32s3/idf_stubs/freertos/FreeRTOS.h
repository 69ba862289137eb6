#pragma once

#include <stddef.h>
#include <stdint.h>

#include "sdkconfig.h"

typedef uint32_t TickType_t;
typedef int BaseType_t;

#define pdFALSE ((BaseType_t)0)
#define pdTRUE ((BaseType_t)1)

typedef struct {
  uint32_t owner;
  uint32_t count;
} spinlock_t;
typedef spinlock_t portMUX_TYPE;

#define portMUX_INITIALIZER_UNLOCKED {.owner = 0xB33FFFFF, .count = 0}
#define configTICK_RATE_HZ 1000
#define pdMS_TO_TICKS(ms) \
  ((TickType_t)(((uint64_t)(ms) * (uint64_t)configTICK_RATE_HZ) / (uint64_t)1000U))

extern "C" {

void idf_stub_enter_critical(portMUX_TYPE* mux);
void idf_stub_exit_critical(portMUX_TYPE* mux);

}  // extern "C"

#define portENTER_CRITICAL(mux) idf_stub_enter_critical(mux)
#define portEXIT_CRITICAL(mux) idf_stub_exit_critical(mux)
