// What a board is to the runner. A port implements it thinly; all else is shared.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bench {

struct Memory {
  const char* name;
  uint8_t* base;  // 64-byte aligned
  uint32_t size;
  bool read_only;
};

// A key and a text of the description.
struct Fact {
  const char* key;
  const char* value;
};

struct Identity {
  const char* target;
  const char* board_id;
  const char* description;
  const char* firmware;  // hash, hexadecimal
  const char* reset_reason;
  const char* clock_unit;  // of port_ticks(): "ns", "cycles", "instructions"
  uint32_t clock_hz;
  const Fact* board;  // further facts of the board
  size_t board_facts;
  const Fact* build;  // facts of the build
  size_t build_facts;
};

class Port {
 public:
  // Returns up to `capacity` bytes, waiting up to `timeout_ms` for the first; 0 if none came.
  virtual size_t read(uint8_t* data, size_t capacity, uint32_t timeout_ms) = 0;
  // Returns when all bytes are on their way.
  virtual void write(const uint8_t* data, size_t size) = 0;
  // False once the line is closed for good.
  virtual bool is_open() = 0;
  // Bytes of the receive buffer between line and runner; the host keeps less than that in flight.
  virtual uint32_t receive_buffer() = 0;
  // How often received bytes found no room, if the port can tell; not how many bytes.
  virtual uint32_t overruns() = 0;
  // Random, another one at every start.
  virtual uint32_t boot_id() = 0;
  virtual const Memory* memories(size_t* count) = 0;
  virtual Identity identity() = 0;
  // Restarts the board, after all that was written has gone out.
  virtual void reboot() = 0;

 protected:
  ~Port() = default;
};

}  // namespace bench
