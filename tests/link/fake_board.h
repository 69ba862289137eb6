// A board without hardware: collects what is sent, counts what is done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "mul_int8.h"
#include "port.h"

class FakeBoard final : public bench::Port {
 public:
  static constexpr size_t kMemory = 4096;

  std::basic_string<uint8_t> sent;
  unsigned reboots = 0;
  static inline unsigned kernel_runs = 0;

  size_t read(uint8_t*, size_t, uint32_t) override { return 0; }
  void write(const uint8_t* data, size_t size) override { sent.append(data, size); }
  bool is_open() override { return false; }
  uint32_t receive_buffer() override { return 16384; }
  uint32_t overruns() override { return 0; }
  uint32_t boot_id() override { return 12345; }
  const bench::Memory* memories(size_t* count) override {
    *count = 2;
    return memories_;
  }
  bench::Identity identity() override {
    bench::Identity identity = {};
    identity.target = "fake";
    identity.board_id = "fake-1";
    identity.description = "a \"quoted\" board";
    identity.firmware = "00";
    identity.reset_reason = "power on";
    identity.clock_unit = "ns";
    identity.clock_hz = 1000000000;
    return identity;
  }
  void reboot() override { ++reboots; }

 private:
  alignas(64) uint8_t bytes_[kMemory] = {};
  uint8_t constants_[4] = {1, 2, 3, 4};
  const bench::Memory memories_[2] = {{"ram", bytes_, sizeof bytes_, false},
                                      {"constants", constants_, sizeof constants_, true}};
};

// For programs of one file. The only kernel: adds, so that a second run in place is seen.
namespace bench {

inline PathCount fake_kernel(const int8_t* x, const int8_t* y, int8_t* out, size_t n,
                             const MulInt8Params&) {
  ++FakeBoard::kernel_runs;
  for (size_t i = 0; i < n; ++i) {
    out[i] = static_cast<int8_t>(x[i] + y[i]);
  }
  return {0, static_cast<uint32_t>(n)};
}

inline constexpr MulInt8Variant kFakeVariants[] = {{"fake", fake_kernel}};

const MulInt8Variant* mul_int8_variants(size_t* count) {
  *count = 1;
  return kFakeVariants;
}

}  // namespace bench
