#include "frame_writer.h"

#include <cstring>

#include "crc32.h"

namespace bench {
namespace {

constexpr size_t kBlock = 254;  // most bytes of a COBS block

}  // namespace

void FrameWriter::begin(const protocol::Header& header) {
  if (wire_size(header.length) > capacity_ - size_) {
    flush();
  }
  buffer_[size_++] = 0;
  buffer_[size_++] = protocol::kMark;
  block_ = size_++;
  crc_ = 0;
  uint8_t packed[protocol::Header::kBytes];
  header.pack(packed);
  add(packed, sizeof packed);
}

void FrameWriter::add(const uint8_t* data, size_t size) {
  crc_ = crc32(crc_, data, size);
  encode(data, size);
}

void FrameWriter::end() {
  uint8_t crc[protocol::kCrcBytes];
  put_u32(crc, crc_);
  encode(crc, sizeof crc);
  buffer_[block_] = static_cast<uint8_t>(size_ - block_);
  buffer_[size_++] = 0;
  // Small frames go out together; after a large one the line can work while the next is made.
  if (size_ >= capacity_ / 4) {
    flush();
  }
}

void FrameWriter::flush() {
  if (size_ > 0) {
    port_.write(buffer_, size_);
    size_ = 0;
  }
}

void FrameWriter::encode(const uint8_t* data, size_t size) {
  while (size > 0) {
    const size_t filled = size_ - block_ - 1;
    if (filled == kBlock) {
      close_block(0xFF);
      continue;
    }
    const size_t room = kBlock - filled < size ? kBlock - filled : size;
    const void* zero = memchr(data, 0, room);
    const size_t length =
        zero == nullptr ? room : static_cast<size_t>(static_cast<const uint8_t*>(zero) - data);
    memcpy(buffer_ + size_, data, length);
    size_ += length;
    data += length;
    size -= length;
    // The zero itself is the block's end; after a full block it takes a block of its own.
    if (zero != nullptr && filled + length < kBlock) {
      close_block(static_cast<uint8_t>(filled + length + 1));
      ++data;
      --size;
    }
  }
}

void FrameWriter::close_block(uint8_t code) {
  buffer_[block_] = code;
  block_ = size_++;
}

}  // namespace bench
