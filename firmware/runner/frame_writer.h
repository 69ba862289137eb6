// Encodes frames into a buffer that goes to the port when it is full or flushed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "port.h"
#include "protocol.h"

namespace bench {

// Most bytes that a frame with `payload` bytes takes on the wire.
constexpr size_t wire_size(size_t payload) {
  const size_t body = protocol::Header::kBytes + payload + protocol::kCrcBytes;
  return protocol::kFrameOverhead + body + body / 254 + 1;
}

class FrameWriter {
 public:
  // `capacity` is at least the wire size of the largest payload.
  FrameWriter(Port& port, uint8_t* buffer, size_t capacity)
      : port_(port), buffer_(buffer), capacity_(capacity) {}

  // A frame is begun, gets header.length bytes of payload in any number of parts, and ends.
  void begin(const protocol::Header& header);
  void add(const uint8_t* data, size_t size);
  void end();

  bool pending() const { return size_ > 0; }
  void flush();

 private:
  void encode(const uint8_t* data, size_t size);
  void close_block(uint8_t code);

  Port& port_;
  uint8_t* const buffer_;
  const size_t capacity_;
  size_t size_ = 0;
  size_t block_ = 0;  // where the open block's code byte stands
  uint32_t crc_ = 0;
};

}  // namespace bench
