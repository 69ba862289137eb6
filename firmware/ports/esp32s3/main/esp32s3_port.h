// An ESP32-S3 as a board.
#pragma once

#include "port.h"

namespace bench {

class Esp32S3Port final : public Port {
 public:
  // Gathers what the board says of itself; the line is open and the memories are taken.
  Esp32S3Port();

  size_t read(uint8_t* data, size_t capacity, uint32_t timeout_ms) override;
  void write(const uint8_t* data, size_t size) override;
  bool is_open() override;
  uint32_t receive_buffer() override;
  uint32_t overruns() override;
  uint32_t boot_id() override;
  const Memory* memories(size_t* count) override;
  Identity identity() override;
  void reboot() override;

  // Whether this is no chip: its figures are those of the machine that emulates it.
  bool is_emulated() const;

  // Whether the processor runs at the rate that latencies are given for.
  bool is_at_full_speed() const;

 private:
  uint32_t clock_hz_ = 0;
  bool is_emulated_ = false;
  char mac_[18];
  char revision_[16];
  char cores_[12];
  char measured_hz_[12];
  char psram_[12];
  char firmware_[65];
  Fact board_[4];
};

}  // namespace bench
