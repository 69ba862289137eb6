// The line the link runs on: UART0 or USB-Serial/JTAG, as configured.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bench {

// Bytes between line and runner. Nothing holds the host back but the window that follows from it.
constexpr uint32_t kLineReceiveBuffer = 16 * 1024;
constexpr uint32_t kLineSendBuffer = 4 * 1024;

extern const char* const kLineName;

void line_open();
// Up to `capacity` bytes; waits up to `timeout_ms` for the first.
size_t line_read(uint8_t* data, size_t capacity, uint32_t timeout_ms);
// Returns when all bytes are on their way.
void line_write(const uint8_t* data, size_t size);
// Waits until all bytes have gone out.
void line_drain();
// How often received bytes found no room, as far as the line's driver tells.
uint32_t line_overruns();

}  // namespace bench
