// Finds frames in a line's bytes and decodes them in place, as they come.
#pragma once

#include <cstddef>
#include <cstdint>

#include "protocol.h"

namespace bench {

class FrameParser {
 public:
  // A frame's header, payload and CRC together must fit into `capacity` bytes.
  FrameParser(uint8_t* buffer, size_t capacity) : buffer_(buffer), capacity_(capacity) {}

  // Takes bytes up to the end of the next good frame, or all; returns how many it took. The
  // frame stays valid until the next call.
  size_t feed(const uint8_t* data, size_t size, bool* complete);

  const protocol::Header& header() const { return header_; }
  const uint8_t* payload() const { return buffer_ + protocol::Header::kBytes; }

  uint32_t frames() const { return frames_; }
  uint32_t bad_frames() const { return bad_frames_; }
  uint32_t text_bytes() const { return text_bytes_; }

 private:
  enum class State : uint8_t { kText, kZero, kFrame, kAfterFrame };

  size_t take_text(const uint8_t* data, size_t size);
  size_t take_block(const uint8_t* data, size_t size);
  bool finish();
  void start_frame();
  void abandon_frame();

  uint8_t* const buffer_;
  const size_t capacity_;
  State state_ = State::kText;
  size_t size_ = 0;           // decoded so far
  size_t block_left_ = 0;     // bytes of the COBS block still to come
  bool zero_due_ = false;     // the block before ends in a zero, unless the frame ends there
  protocol::Header header_ = {};
  uint32_t frames_ = 0;
  uint32_t bad_frames_ = 0;
  uint32_t text_bytes_ = 0;
};

}  // namespace bench
