#include "sdkconfig.h"

#include <driver/usb_serial_jtag.h>
#include <esp_err.h>
#include <freertos/FreeRTOS.h>

#include "line.h"

namespace bench {
namespace {

// A piece must fit the driver's buffer: it takes all that goes there or nothing. A frame that is cut
// nevertheless fails its check, and the host asks again.
constexpr size_t kPiece = 1024;
constexpr uint32_t kTimeout = 1000;  // ms

}  // namespace

const char* const kLineName = "USB-Serial/JTAG";

void line_open() {
  usb_serial_jtag_driver_config_t config = {};
  config.tx_buffer_size = kLineSendBuffer;
  config.rx_buffer_size = kLineReceiveBuffer;
  ESP_ERROR_CHECK(usb_serial_jtag_driver_install(&config));
}

size_t line_read(uint8_t* data, size_t capacity, uint32_t timeout_ms) {
  const int size = usb_serial_jtag_read_bytes(data, static_cast<uint32_t>(capacity),
                                              pdMS_TO_TICKS(timeout_ms));
  return size > 0 ? static_cast<size_t>(size) : 0;
}

void line_write(const uint8_t* data, size_t size) {
  while (size > 0) {
    const size_t piece = size < kPiece ? size : kPiece;
    if (usb_serial_jtag_write_bytes(data, piece, pdMS_TO_TICKS(kTimeout)) <= 0) {
      return;  // nobody reads; a host that comes later asks again
    }
    data += piece;
    size -= piece;
  }
}

// USB holds the host back until there is room.
uint32_t line_overruns() { return 0; }

void line_drain() { usb_serial_jtag_wait_tx_done(pdMS_TO_TICKS(kTimeout)); }

}  // namespace bench
