// WRITE, READ, FILL and CRC32, and the bounds of every range a request names.
#include <cstring>

#include "crc32.h"
#include "runner.h"
#include "text.h"

namespace bench {

using protocol::Status;

void Runner::write() {
  protocol::WriteRequest request;
  if (!unpack(&request, false)) {
    return;
  }
  const size_t size = parser_.header().length - protocol::WriteRequest::kBytes;
  uint8_t* place =
      locate(request.memory, request.offset, static_cast<uint32_t>(size), "the data");
  if (place != nullptr) {
    memcpy(place, parser_.payload() + protocol::WriteRequest::kBytes, size);
    session_.note(parser_.header().sequence, true);
    reply(nullptr, 0);
  }
}

void Runner::read() {
  protocol::ReadRequest request;
  if (!unpack(&request)) {
    return;
  }
  if (request.size > chunk_) {
    refuse(Status::kBadRequest, "more than a chunk");
    return;
  }
  const uint8_t* place = locate_described(request.memory, request.offset, request.size);
  if (place != nullptr) {
    reply(place, request.size);
  }
}

void Runner::fill() {
  protocol::FillRequest request;
  if (!unpack(&request)) {
    return;
  }
  uint8_t* place = locate(request.memory, request.offset, request.size, "the range");
  if (place != nullptr) {
    memset(place, request.value, request.size);
    session_.note(parser_.header().sequence, true);
    reply(nullptr, 0);
  }
}

void Runner::crc() {
  protocol::Crc32Request request;
  if (!unpack(&request)) {
    return;
  }
  const uint8_t* place = locate_described(request.memory, request.offset, request.size);
  if (place != nullptr) {
    uint8_t payload[protocol::Crc32Reply::kBytes];
    protocol::Crc32Reply{crc32(0, place, request.size)}.pack(payload);
    reply(payload, sizeof payload);
  }
}

void Runner::refuse_range(Status status, const char* what, const char* why, const char* memory) {
  char buffer[96];
  Text text(buffer, sizeof buffer - 1);
  text.add(what).add(why).add(memory);
  buffer[text.size()] = '\0';
  refuse(status, buffer);
}

uint8_t* Runner::locate(uint8_t memory, uint32_t offset, uint32_t size, const char* what) {
  const uint8_t* place = locate_readable(memory, offset, size, what);
  if (place == nullptr) {
    return nullptr;
  }
  size_t count = 0;
  const Memory& found = port_.memories(&count)[memory];
  if (found.read_only) {
    refuse_range(Status::kReadOnly, what, " would be written to the read-only memory ", found.name);
    return nullptr;
  }
  return found.base + offset;
}

const uint8_t* Runner::locate_readable(uint8_t memory, uint32_t offset, uint32_t size,
                                       const char* what) {
  size_t count = 0;
  const Memory* memories = port_.memories(&count);
  if (memory >= count) {
    char buffer[96];
    Text text(buffer, sizeof buffer - 1);
    text.add(what).add(": no memory number ").add_number(memory);
    buffer[text.size()] = '\0';
    refuse(Status::kNoSuchMemory, buffer);
    return nullptr;
  }
  const uint32_t end = memories[memory].size;
  if (offset > end || size > end - offset) {
    refuse_range(Status::kOutOfBounds, what, " is outside memory ", memories[memory].name);
    return nullptr;
  }
  return memories[memory].base + offset;
}

const uint8_t* Runner::locate_described(uint8_t memory, uint32_t offset, uint32_t size) {
  if (memory != protocol::kDescription) {
    return locate_readable(memory, offset, size, "the range");
  }
  if (offset > description_size_ || size > description_size_ - offset) {
    refuse(Status::kOutOfBounds, "the range is outside the description");
    return nullptr;
  }
  return reinterpret_cast<const uint8_t*>(description_) + offset;
}

bool Runner::locate_samples(uint8_t memory, uint32_t offset, uint32_t samples, uint8_t** place) {
  *place = nullptr;
  if (samples == 0) {
    return true;
  }
  if (samples > UINT32_MAX / sizeof(uint32_t)) {
    refuse(Status::kOutOfBounds, "too many samples");
    return false;
  }
  const uint32_t size = samples * static_cast<uint32_t>(sizeof(uint32_t));
  *place = locate(memory, offset, size, "the sample buffer");
  return *place != nullptr;
}

}  // namespace bench
