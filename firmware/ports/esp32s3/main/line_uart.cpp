#include "sdkconfig.h"

#include <driver/uart.h>
#include <esp_err.h>
#include <freertos/FreeRTOS.h>
#include <freertos/queue.h>

#include "line.h"
#include "stringify.h"

namespace bench {
namespace {

constexpr uart_port_t kUart = UART_NUM_0;
constexpr uint32_t kDrainTimeout = 2000;  // ms
// The driver has an event for every 120 bytes, too, and drops what finds no room in its queue: it
// holds those of a full receive buffer, and some of ends of frames and of overruns.
constexpr uint32_t kEvents = kLineReceiveBuffer / 120 + 24;

QueueHandle_t events = nullptr;
uint32_t overruns = 0;

void count_overruns() {
  uart_event_t event;
  while (xQueueReceive(events, &event, 0) == pdTRUE) {
    if (event.type == UART_FIFO_OVF || event.type == UART_BUFFER_FULL) {
      ++overruns;
    }
  }
}

}  // namespace

const char* const kLineName = "UART0, " BENCH_STRINGIFY(CONFIG_BENCH_LINK_BAUD_RATE) " baud";

void line_open() {
  uart_config_t config = {};
  config.baud_rate = CONFIG_BENCH_LINK_BAUD_RATE;
  config.data_bits = UART_DATA_8_BITS;
  config.parity = UART_PARITY_DISABLE;
  config.stop_bits = UART_STOP_BITS_1;
  config.flow_ctrl = UART_HW_FLOWCTRL_DISABLE;
  config.source_clk = UART_SCLK_DEFAULT;
  ESP_ERROR_CHECK(uart_driver_install(kUart, static_cast<int>(kLineReceiveBuffer),
                                      static_cast<int>(kLineSendBuffer),
                                      static_cast<int>(kEvents), &events, 0));
  ESP_ERROR_CHECK(uart_param_config(kUart, &config));
}

size_t line_read(uint8_t* data, size_t capacity, uint32_t timeout_ms) {
  count_overruns();
  int size = uart_read_bytes(kUart, data, static_cast<uint32_t>(capacity), 0);
  if (size == 0 && timeout_ms > 0) {
    // The driver waits for as much as it is asked for: for one byte first, then for nothing.
    size = uart_read_bytes(kUart, data, 1, pdMS_TO_TICKS(timeout_ms));
    if (size == 1 && capacity > 1) {
      const int more = uart_read_bytes(kUart, data + 1, static_cast<uint32_t>(capacity - 1), 0);
      size += more > 0 ? more : 0;
    }
  }
  return size > 0 ? static_cast<size_t>(size) : 0;
}

void line_write(const uint8_t* data, size_t size) {
  if (size > 0) {
    uart_write_bytes(kUart, data, size);
  }
}

uint32_t line_overruns() {
  count_overruns();
  return overruns;
}

void line_drain() { uart_wait_tx_done(kUart, pdMS_TO_TICKS(kDrainTimeout)); }

}  // namespace bench
