// Generated from bench/link/protocol.py by `python -m bench.link.header`: do not edit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bytes.h"

namespace bench {
namespace protocol {

constexpr uint8_t kVersion = 1;
constexpr uint8_t kMark = 0xC1;
constexpr size_t kFrameOverhead = 3;
constexpr size_t kCrcBytes = 4;
constexpr uint32_t kSequenceWindow = 64;
constexpr uint32_t kMaxWindow = 32;
constexpr uint8_t kNoMemory = 0xFF;
constexpr uint8_t kPoison = 0xA5;
constexpr uint8_t kDescription = 0xFE;
constexpr uint8_t kReply = 0x80;

enum class Type : uint8_t {
  kHello = 1,
  kOpen = 2,
  kWrite = 3,
  kRead = 4,
  kFill = 5,
  kCrc32 = 6,
  kRunKernel = 7,
  kLoadProgram = 8,
  kExecute = 9,
  kCounters = 10,
  kReset = 11,
  kTrace = 12,
};

enum class Status : uint8_t {
  kOk = 0,
  kWorking = 1,
  kBadRequest = 2,
  kUnknownType = 3,
  kUnknownSession = 4,
  kWrongVersion = 5,
  kNoSuchMemory = 6,
  kOutOfBounds = 7,
  kMisaligned = 8,
  kNoSuchKernel = 9,
  kNoSuchVariant = 10,
  kBadParameters = 11,
  kNoPrograms = 12,
  kNoProgramLoaded = 13,
  kProgramFailed = 14,
  kReadOnly = 15,
};

enum class Kernel : uint8_t {
  kMulInt8 = 0,
};

struct Header {
  static constexpr size_t kBytes = 14;
  uint8_t version;
  uint8_t type;
  uint8_t attempt;
  uint8_t status;
  uint32_t session;
  uint32_t sequence;
  uint16_t length;

  void pack(uint8_t* to) const {
    put_u8(to + 0, version);
    put_u8(to + 1, type);
    put_u8(to + 2, attempt);
    put_u8(to + 3, status);
    put_u32(to + 4, session);
    put_u32(to + 8, sequence);
    put_u16(to + 12, length);
  }

  void unpack(const uint8_t* from) {
    version = get_u8(from + 0);
    type = get_u8(from + 1);
    attempt = get_u8(from + 2);
    status = get_u8(from + 3);
    session = get_u32(from + 4);
    sequence = get_u32(from + 8);
    length = get_u16(from + 12);
  }
};

struct HelloReply {
  static constexpr size_t kBytes = 13;
  uint32_t boot_id;
  uint32_t next_session;
  uint16_t chunk;
  uint8_t window;
  uint16_t description_bytes;

  void pack(uint8_t* to) const {
    put_u32(to + 0, boot_id);
    put_u32(to + 4, next_session);
    put_u16(to + 8, chunk);
    put_u8(to + 10, window);
    put_u16(to + 11, description_bytes);
  }

  void unpack(const uint8_t* from) {
    boot_id = get_u32(from + 0);
    next_session = get_u32(from + 4);
    chunk = get_u16(from + 8);
    window = get_u8(from + 10);
    description_bytes = get_u16(from + 11);
  }
};

struct OpenReply {
  static constexpr size_t kBytes = 4;
  uint32_t boot_id;

  void pack(uint8_t* to) const {
    put_u32(to + 0, boot_id);
  }

  void unpack(const uint8_t* from) {
    boot_id = get_u32(from + 0);
  }
};

struct UnknownSessionReply {
  static constexpr size_t kBytes = 4;
  uint32_t boot_id;

  void pack(uint8_t* to) const {
    put_u32(to + 0, boot_id);
  }

  void unpack(const uint8_t* from) {
    boot_id = get_u32(from + 0);
  }
};

struct WriteRequest {
  static constexpr size_t kBytes = 5;
  uint8_t memory;
  uint32_t offset;

  void pack(uint8_t* to) const {
    put_u8(to + 0, memory);
    put_u32(to + 1, offset);
  }

  void unpack(const uint8_t* from) {
    memory = get_u8(from + 0);
    offset = get_u32(from + 1);
  }
};

struct ReadRequest {
  static constexpr size_t kBytes = 7;
  uint8_t memory;
  uint32_t offset;
  uint16_t size;

  void pack(uint8_t* to) const {
    put_u8(to + 0, memory);
    put_u32(to + 1, offset);
    put_u16(to + 5, size);
  }

  void unpack(const uint8_t* from) {
    memory = get_u8(from + 0);
    offset = get_u32(from + 1);
    size = get_u16(from + 5);
  }
};

struct FillRequest {
  static constexpr size_t kBytes = 10;
  uint8_t memory;
  uint32_t offset;
  uint32_t size;
  uint8_t value;

  void pack(uint8_t* to) const {
    put_u8(to + 0, memory);
    put_u32(to + 1, offset);
    put_u32(to + 5, size);
    put_u8(to + 9, value);
  }

  void unpack(const uint8_t* from) {
    memory = get_u8(from + 0);
    offset = get_u32(from + 1);
    size = get_u32(from + 5);
    value = get_u8(from + 9);
  }
};

struct Crc32Request {
  static constexpr size_t kBytes = 9;
  uint8_t memory;
  uint32_t offset;
  uint32_t size;

  void pack(uint8_t* to) const {
    put_u8(to + 0, memory);
    put_u32(to + 1, offset);
    put_u32(to + 5, size);
  }

  void unpack(const uint8_t* from) {
    memory = get_u8(from + 0);
    offset = get_u32(from + 1);
    size = get_u32(from + 5);
  }
};

struct Crc32Reply {
  static constexpr size_t kBytes = 4;
  uint32_t crc;

  void pack(uint8_t* to) const {
    put_u32(to + 0, crc);
  }

  void unpack(const uint8_t* from) {
    crc = get_u32(from + 0);
  }
};

struct RunKernelRequest {
  static constexpr size_t kBytes = 91;
  uint8_t kernel;
  uint8_t variant;
  uint8_t x_memory;
  uint32_t x_offset;
  uint8_t y_memory;
  uint32_t y_offset;
  uint8_t out_memory;
  uint32_t out_offset;
  uint32_t elements;
  int32_t zero_point1;
  int32_t zero_point2;
  int32_t zero_point_out;
  int32_t multiplier;
  int32_t shift;
  int32_t activation_min;
  int32_t activation_max;
  double scale1;
  double scale2;
  double scale_out;
  uint32_t warmup;
  uint32_t samples;
  uint8_t sample_memory;
  uint32_t sample_offset;
  uint8_t refill_memory;
  uint32_t refill_offset;

  void pack(uint8_t* to) const {
    put_u8(to + 0, kernel);
    put_u8(to + 1, variant);
    put_u8(to + 2, x_memory);
    put_u32(to + 3, x_offset);
    put_u8(to + 7, y_memory);
    put_u32(to + 8, y_offset);
    put_u8(to + 12, out_memory);
    put_u32(to + 13, out_offset);
    put_u32(to + 17, elements);
    put_i32(to + 21, zero_point1);
    put_i32(to + 25, zero_point2);
    put_i32(to + 29, zero_point_out);
    put_i32(to + 33, multiplier);
    put_i32(to + 37, shift);
    put_i32(to + 41, activation_min);
    put_i32(to + 45, activation_max);
    put_f64(to + 49, scale1);
    put_f64(to + 57, scale2);
    put_f64(to + 65, scale_out);
    put_u32(to + 73, warmup);
    put_u32(to + 77, samples);
    put_u8(to + 81, sample_memory);
    put_u32(to + 82, sample_offset);
    put_u8(to + 86, refill_memory);
    put_u32(to + 87, refill_offset);
  }

  void unpack(const uint8_t* from) {
    kernel = get_u8(from + 0);
    variant = get_u8(from + 1);
    x_memory = get_u8(from + 2);
    x_offset = get_u32(from + 3);
    y_memory = get_u8(from + 7);
    y_offset = get_u32(from + 8);
    out_memory = get_u8(from + 12);
    out_offset = get_u32(from + 13);
    elements = get_u32(from + 17);
    zero_point1 = get_i32(from + 21);
    zero_point2 = get_i32(from + 25);
    zero_point_out = get_i32(from + 29);
    multiplier = get_i32(from + 33);
    shift = get_i32(from + 37);
    activation_min = get_i32(from + 41);
    activation_max = get_i32(from + 45);
    scale1 = get_f64(from + 49);
    scale2 = get_f64(from + 57);
    scale_out = get_f64(from + 65);
    warmup = get_u32(from + 73);
    samples = get_u32(from + 77);
    sample_memory = get_u8(from + 81);
    sample_offset = get_u32(from + 82);
    refill_memory = get_u8(from + 86);
    refill_offset = get_u32(from + 87);
  }
};

struct RunKernelReply {
  static constexpr size_t kBytes = 29;
  uint8_t variant;
  uint32_t vector_elements;
  uint32_t scalar_elements;
  uint64_t first_ticks;
  uint32_t overhead_ticks;
  uint64_t all_ticks;

  void pack(uint8_t* to) const {
    put_u8(to + 0, variant);
    put_u32(to + 1, vector_elements);
    put_u32(to + 5, scalar_elements);
    put_u64(to + 9, first_ticks);
    put_u32(to + 17, overhead_ticks);
    put_u64(to + 21, all_ticks);
  }

  void unpack(const uint8_t* from) {
    variant = get_u8(from + 0);
    vector_elements = get_u32(from + 1);
    scalar_elements = get_u32(from + 5);
    first_ticks = get_u64(from + 9);
    overhead_ticks = get_u32(from + 17);
    all_ticks = get_u64(from + 21);
  }
};

struct LoadProgramRequest {
  static constexpr size_t kBytes = 10;
  uint8_t memory;
  uint32_t offset;
  uint32_t size;
  uint8_t traced;

  void pack(uint8_t* to) const {
    put_u8(to + 0, memory);
    put_u32(to + 1, offset);
    put_u32(to + 5, size);
    put_u8(to + 9, traced);
  }

  void unpack(const uint8_t* from) {
    memory = get_u8(from + 0);
    offset = get_u32(from + 1);
    size = get_u32(from + 5);
    traced = get_u8(from + 9);
  }
};

struct LoadProgramReply {
  static constexpr size_t kBytes = 10;
  uint8_t inputs;
  uint8_t outputs;
  uint32_t planned_bytes;
  uint32_t method_bytes;

  void pack(uint8_t* to) const {
    put_u8(to + 0, inputs);
    put_u8(to + 1, outputs);
    put_u32(to + 2, planned_bytes);
    put_u32(to + 6, method_bytes);
  }

  void unpack(const uint8_t* from) {
    inputs = get_u8(from + 0);
    outputs = get_u8(from + 1);
    planned_bytes = get_u32(from + 2);
    method_bytes = get_u32(from + 6);
  }
};

struct Tensor {
  static constexpr size_t kBytes = 6;
  uint8_t dtype;
  uint8_t rank;
  uint32_t bytes;

  void pack(uint8_t* to) const {
    put_u8(to + 0, dtype);
    put_u8(to + 1, rank);
    put_u32(to + 2, bytes);
  }

  void unpack(const uint8_t* from) {
    dtype = get_u8(from + 0);
    rank = get_u8(from + 1);
    bytes = get_u32(from + 2);
  }
};

struct ExecuteRequest {
  static constexpr size_t kBytes = 15;
  uint8_t inputs;
  uint8_t outputs;
  uint32_t warmup;
  uint32_t samples;
  uint8_t sample_memory;
  uint32_t sample_offset;

  void pack(uint8_t* to) const {
    put_u8(to + 0, inputs);
    put_u8(to + 1, outputs);
    put_u32(to + 2, warmup);
    put_u32(to + 6, samples);
    put_u8(to + 10, sample_memory);
    put_u32(to + 11, sample_offset);
  }

  void unpack(const uint8_t* from) {
    inputs = get_u8(from + 0);
    outputs = get_u8(from + 1);
    warmup = get_u32(from + 2);
    samples = get_u32(from + 6);
    sample_memory = get_u8(from + 10);
    sample_offset = get_u32(from + 11);
  }
};

struct Place {
  static constexpr size_t kBytes = 5;
  uint8_t memory;
  uint32_t offset;

  void pack(uint8_t* to) const {
    put_u8(to + 0, memory);
    put_u32(to + 1, offset);
  }

  void unpack(const uint8_t* from) {
    memory = get_u8(from + 0);
    offset = get_u32(from + 1);
  }
};

struct ExecuteReply {
  static constexpr size_t kBytes = 36;
  uint64_t first_ticks;
  uint32_t overhead_ticks;
  uint32_t native_calls;
  uint32_t delegate_calls;
  uint32_t vector_elements;
  uint32_t scalar_elements;
  uint64_t all_ticks;

  void pack(uint8_t* to) const {
    put_u64(to + 0, first_ticks);
    put_u32(to + 8, overhead_ticks);
    put_u32(to + 12, native_calls);
    put_u32(to + 16, delegate_calls);
    put_u32(to + 20, vector_elements);
    put_u32(to + 24, scalar_elements);
    put_u64(to + 28, all_ticks);
  }

  void unpack(const uint8_t* from) {
    first_ticks = get_u64(from + 0);
    overhead_ticks = get_u32(from + 8);
    native_calls = get_u32(from + 12);
    delegate_calls = get_u32(from + 16);
    vector_elements = get_u32(from + 20);
    scalar_elements = get_u32(from + 24);
    all_ticks = get_u64(from + 28);
  }
};

struct TraceRequest {
  static constexpr size_t kBytes = 9;
  uint8_t memory;
  uint32_t offset;
  uint32_t size;

  void pack(uint8_t* to) const {
    put_u8(to + 0, memory);
    put_u32(to + 1, offset);
    put_u32(to + 5, size);
  }

  void unpack(const uint8_t* from) {
    memory = get_u8(from + 0);
    offset = get_u32(from + 1);
    size = get_u32(from + 5);
  }
};

struct TraceReply {
  static constexpr size_t kBytes = 4;
  uint32_t size;

  void pack(uint8_t* to) const {
    put_u32(to + 0, size);
  }

  void unpack(const uint8_t* from) {
    size = get_u32(from + 0);
  }
};

struct CountersReply {
  static constexpr size_t kBytes = 32;
  uint32_t frames;
  uint32_t bad_frames;
  uint32_t overruns;
  uint32_t duplicates;
  uint32_t resends;
  uint32_t stale;
  uint32_t refused;
  uint32_t text_bytes;

  void pack(uint8_t* to) const {
    put_u32(to + 0, frames);
    put_u32(to + 4, bad_frames);
    put_u32(to + 8, overruns);
    put_u32(to + 12, duplicates);
    put_u32(to + 16, resends);
    put_u32(to + 20, stale);
    put_u32(to + 24, refused);
    put_u32(to + 28, text_bytes);
  }

  void unpack(const uint8_t* from) {
    frames = get_u32(from + 0);
    bad_frames = get_u32(from + 4);
    overruns = get_u32(from + 8);
    duplicates = get_u32(from + 12);
    resends = get_u32(from + 16);
    stale = get_u32(from + 20);
    refused = get_u32(from + 24);
    text_bytes = get_u32(from + 28);
  }
};

}  // namespace protocol
}  // namespace bench
