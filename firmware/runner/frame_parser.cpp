#include "frame_parser.h"

#include <cstring>

#include "crc32.h"

namespace bench {

size_t FrameParser::feed(const uint8_t* data, size_t size, bool* complete) {
  *complete = false;
  size_t used = 0;
  while (used < size) {
    switch (state_) {
      case State::kText:
        used += take_text(data + used, size - used);
        break;
      case State::kZero:
        if (data[used] == protocol::kMark) {
          start_frame();
          ++used;
        } else if (data[used] == 0) {
          ++text_bytes_;
          ++used;
        } else {
          state_ = State::kText;
        }
        break;
      case State::kAfterFrame:
        // The zero that ended a frame may start the next one as well: that one's own first zero
        // can be lost, or this frame's end was.
        state_ = data[used] == protocol::kMark ? State::kZero : State::kText;
        break;
      case State::kFrame:
        if (data[used] == 0) {
          state_ = State::kAfterFrame;
          ++used;
          if (finish()) {
            *complete = true;
            return used;
          }
        } else {
          used += take_block(data + used, size - used);
        }
        break;
    }
  }
  return used;
}

size_t FrameParser::take_text(const uint8_t* data, size_t size) {
  const void* zero = memchr(data, 0, size);
  if (zero == nullptr) {
    text_bytes_ += static_cast<uint32_t>(size);
    return size;
  }
  const size_t length = static_cast<size_t>(static_cast<const uint8_t*>(zero) - data);
  text_bytes_ += static_cast<uint32_t>(length);
  state_ = State::kZero;
  return length + 1;
}

void FrameParser::start_frame() {
  state_ = State::kFrame;
  size_ = 0;
  block_left_ = 0;
  zero_due_ = false;
}

void FrameParser::abandon_frame() {
  ++bad_frames_;
  state_ = State::kText;
}

// Takes a code byte or (part of) a block's bytes; data[0] is not zero.
size_t FrameParser::take_block(const uint8_t* data, size_t size) {
  if (block_left_ == 0) {
    if (zero_due_) {
      if (size_ == capacity_) {
        abandon_frame();
        return 1;
      }
      buffer_[size_++] = 0;
    }
    block_left_ = data[0] - size_t{1};
    zero_due_ = data[0] != 0xFF;
    return 1;
  }
  size_t length = block_left_ < size ? block_left_ : size;
  if (length > capacity_ - size_) {
    abandon_frame();
    return length;
  }
  const void* zero = memchr(data, 0, length);
  if (zero != nullptr) {
    length = static_cast<size_t>(static_cast<const uint8_t*>(zero) - data);
  }
  memcpy(buffer_ + size_, data, length);
  size_ += length;
  block_left_ -= length;
  return length;
}

bool FrameParser::finish() {
  if (block_left_ == 0 && size_ >= protocol::Header::kBytes + protocol::kCrcBytes) {
    const size_t end = size_ - protocol::kCrcBytes;
    header_.unpack(buffer_);
    if (header_.length == end - protocol::Header::kBytes &&
        crc32(0, buffer_, end) == get_u32(buffer_ + end)) {
      ++frames_;
      return true;
    }
  }
  ++bad_frames_;
  return false;
}

}  // namespace bench
