#pragma once

#include <stdint.h>
#include <stdlib.h>

typedef int esp_err_t;

#define ESP_OK 0
#define ESP_FAIL -1
#define ESP_ERR_NO_MEM 0x101
#define ESP_ERROR_CHECK(x)       \
  do {                           \
    esp_err_t err_rc_ = (x);     \
    if (err_rc_ != ESP_OK) {     \
      abort();                   \
    }                            \
  } while (0)
