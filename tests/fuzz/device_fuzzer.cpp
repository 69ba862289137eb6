// libFuzzer target: the device's parser, session and commands on arbitrary bytes of the line.
//
// An input is a script, so that the fuzzer gets past CRC and session: its first byte of each step
// says whether raw bytes follow or fields of a frame, which is then framed as a host would.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>

#include "../link/fake_board.h"
#include "constants.h"
#include "frame_parser.h"
#include "frame_writer.h"
#include "runner.h"

namespace {

using bench::protocol::Header;
using bench::protocol::Status;
using bench::protocol::Type;

constexpr size_t kChunk = 1024;
constexpr uint32_t kMaxCalls = 4;

void check(bool right) {
  if (!right) {
    abort();
  }
}

// A runtime for one made-up program; the interesting part is what the runner lets through to it.
class FakePrograms final : public bench::Programs {
 public:
  bench::ProgramRuntime runtime() override { return {"fake", 1, true}; }
  const char* error_name(int) override { return "some error"; }

  int load(const uint8_t* pte, size_t size, const char* method, bool,
           bench::ProgramInfo* info) override {
    check(strlen(method) < 64);
    if (size < 4) {
      return 0x23;
    }
    info->inputs = static_cast<uint8_t>(pte[0] % 9);
    info->outputs = static_cast<uint8_t>(pte[1] % 8);
    for (size_t i = 0; i < size_t{info->inputs} + info->outputs; ++i) {
      info->tensors[i] = {1, static_cast<uint8_t>(pte[2] % 9), {1, 2, 3, 4, 5, 6, 7, 8}, pte[3]};
    }
    loaded_ = *info;
    return 0;
  }

  void poison(uint8_t) override {}

  size_t trace(uint8_t* to, size_t capacity) override {
    memset(to, 0, capacity);
    return capacity;
  }

  int execute(const uint8_t* const* inputs, uint8_t* const* outputs,
              bench::OperatorCounters*) override {
    for (size_t i = 0; i < loaded_.outputs; ++i) {
      uint8_t sum = 0;
      for (size_t k = 0; k < loaded_.inputs; ++k) {
        for (size_t at = 0; at < loaded_.tensors[k].bytes; ++at) {
          sum = static_cast<uint8_t>(sum + inputs[k][at]);
        }
      }
      memset(outputs[i], sum, loaded_.tensors[loaded_.inputs + i].bytes);
    }
    return 0;
  }

 private:
  bench::ProgramInfo loaded_ = {};
};

// A memory of its own on the heap, where the address sanitizer sees every byte too many.
class FuzzBoard final : public bench::Port {
 public:
  FuzzBoard()
      : bytes_(new uint8_t[kSize]()),
        memories_{{"ram", bytes_.get(), kSize, false}, bench::constant_memory("constants")} {}

  size_t read(uint8_t*, size_t, uint32_t) override { return 0; }
  bool is_open() override { return false; }
  uint32_t receive_buffer() override { return 16384; }
  uint32_t overruns() override { return 0; }
  uint32_t boot_id() override { return 1; }
  const bench::Memory* memories(size_t* count) override {
    *count = 2;
    return memories_;
  }
  bench::Identity identity() override { return fake_.identity(); }
  void reboot() override {}

  // All that the device says must be good frames, and a request is acted on once at most.
  void write(const uint8_t* data, size_t size) override {
    size_t used = 0;
    while (used < size) {
      bool complete = false;
      used += replies_.feed(data + used, size - used, &complete);
      if (complete) {
        const Header& header = replies_.header();
        check((header.type & bench::protocol::kReply) != 0);
        check(header.version == bench::protocol::kVersion);
        if (header.status == static_cast<uint8_t>(Status::kWorking)) {
          check(acted_.insert({header.session, header.sequence}).second);
        }
      }
    }
    check(replies_.bad_frames() == 0);
    check(replies_.text_bytes() == 0);
  }

 private:
  static constexpr uint32_t kSize = 509;

  std::unique_ptr<uint8_t[]> bytes_;
  bench::Memory memories_[2];
  FakeBoard fake_;
  uint8_t buffer_[8192];
  bench::FrameParser replies_{buffer_, sizeof buffer_};
  std::set<std::pair<uint32_t, uint32_t>> acted_;
};

// What a host would put on the line; collected by a board that is none.
class Collector final : public bench::Port {
 public:
  std::basic_string<uint8_t> sent;

  size_t read(uint8_t*, size_t, uint32_t) override { return 0; }
  void write(const uint8_t* data, size_t size) override { sent.append(data, size); }
  bool is_open() override { return false; }
  uint32_t receive_buffer() override { return 0; }
  uint32_t overruns() override { return 0; }
  uint32_t boot_id() override { return 0; }
  const bench::Memory* memories(size_t*) override { return nullptr; }
  bench::Identity identity() override { return {}; }
  void reboot() override {}
};

// Keeps timed runs short: the counts of a request are its own business, not the parser's.
void bound_calls(uint8_t type, uint8_t* payload, size_t size) {
  const auto bound = [&](size_t at, size_t bytes) {
    if (at + bytes <= size) {
      memset(payload + at + 1, 0, bytes - 1);
      payload[at] = static_cast<uint8_t>(payload[at] % kMaxCalls);
    }
  };
  if (type == static_cast<uint8_t>(Type::kRunKernel)) {
    bound(bench::protocol::RunKernelRequest::kBytes - 18, 4);  // warmup
    bound(bench::protocol::RunKernelRequest::kBytes - 14, 4);  // samples
  } else if (type == static_cast<uint8_t>(Type::kExecute)) {
    bound(2, 4);
    bound(6, 4);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FuzzBoard board;
  FakePrograms programs;
  static bench::RunnerStorage<kChunk> storage;
  bench::Runner runner(board, size % 2 == 0 ? &programs : nullptr, storage);
  const bench::Session sessions(1);
  uint32_t session = sessions.next();
  uint32_t sequence = 0;
  static uint8_t wire[2 * bench::wire_size(300)];

  size_t at = 0;
  while (at < size) {
    const uint8_t step = data[at++];
    const size_t length = at < size ? data[at++] : 0;
    const size_t available = length < size - at ? length : size - at;
    if (step >= 0xC0) {  // raw bytes
      runner.take(data + at, available);
    } else {
      uint8_t payload[256];
      memcpy(payload, data + at, available);
      bound_calls(step & 15, payload, available);
      Header header = {};
      header.version = bench::protocol::kVersion;
      header.type = step & 15;
      header.session = session;
      if ((step & 0x30) == 0x30) {  // again, late, or ahead
        sequence += static_cast<uint32_t>(static_cast<int8_t>(available > 0 ? payload[0] : 0));
      } else if ((step & 0x30) != 0x20) {
        ++sequence;
      }
      if ((step & 0x80) != 0) {
        session += step & 0x40 ? 1u : 0xFFFFFFFFu;
        header.session = session;
        header.attempt = 1;
      }
      header.sequence = sequence;
      header.length = static_cast<uint16_t>(available);
      Collector line;
      bench::FrameWriter writer(line, wire, sizeof wire);
      writer.begin(header);
      writer.add(payload, available);
      writer.end();
      writer.flush();
      runner.take(line.sent.data(), line.sent.size());
    }
    at += available;
  }
  runner.flush();
  return 0;
}
