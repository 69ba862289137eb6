// The device's side of the link: answers requests, one after the other, from fixed memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "frame_parser.h"
#include "frame_writer.h"
#include "port.h"
#include "programs.h"
#include "protocol.h"
#include "session.h"

namespace bench {

// All memory the runner needs besides the board's memories. `Chunk` is the most data bytes of one
// WRITE or READ.
template <size_t Chunk>
struct RunnerStorage {
  static constexpr size_t kPayload = Chunk + protocol::WriteRequest::kBytes;

  uint8_t frame[protocol::Header::kBytes + kPayload + protocol::kCrcBytes];
  uint8_t wire[2 * wire_size(kPayload)];
  uint8_t input[4096];
};

class Runner {
 public:
  // `programs` is null if the firmware has no runtime for them.
  template <size_t Chunk>
  Runner(Port& port, Programs* programs, RunnerStorage<Chunk>& storage)
      : Runner(port, programs, Chunk, storage.frame, sizeof storage.frame, storage.wire,
               sizeof storage.wire, storage.input, sizeof storage.input) {
    static_assert(Chunk >= kKeptBytes, "every reply must fit a frame");
    static_assert(Chunk <= UINT16_MAX - protocol::WriteRequest::kBytes, "lengths are 16 bits");
  }

  // Serves the line until it closes.
  void run();

  // Takes bytes of the line, as `run` does with what it reads.
  void take(const uint8_t* data, size_t size);

  // Sends what is still waiting for more to go with it.
  void flush() { writer_.flush(); }

 private:
  static constexpr size_t kDescriptionBytes = 4096;
  // LOAD_PROGRAM has the largest reply that must be kept.
  static constexpr size_t kMaxTensors = sizeof(ProgramInfo::tensors) / sizeof(TensorInfo);
  static constexpr size_t kMaxRank = sizeof(TensorInfo::sizes) / sizeof(uint32_t);
  static constexpr size_t kKeptBytes =
      protocol::LoadProgramReply::kBytes + kMaxTensors * (protocol::Tensor::kBytes + 4 * kMaxRank);

  Runner(Port& port, Programs* programs, uint32_t chunk, uint8_t* frame, size_t frame_size,
         uint8_t* wire, size_t wire_size, uint8_t* input, size_t input_size);

  void handle();
  void handle_once();
  void act();

  void hello();
  void open();
  void write();
  void read();
  void fill();
  void crc();
  void run_kernel();
  void load_program();
  void execute();
  void trace();
  void counters();
  void reset();

  // Replies to the request at hand.
  void reply(const uint8_t* payload, size_t size);
  void reply_kept(size_t size);
  void reply_working();
  void refuse(protocol::Status status, const char* text);
  void refuse_program(int error);
  void refuse_session();
  void send(protocol::Status status, const uint8_t* payload, size_t size);

  template <class Request>
  bool unpack(Request* request, bool exact = true);
  void refuse_range(protocol::Status status, const char* what, const char* why, const char* memory);
  // The address of `size` bytes of a memory, or null after a refusal. `what` names the range.
  uint8_t* locate(uint8_t memory, uint32_t offset, uint32_t size, const char* what);
  const uint8_t* locate_readable(uint8_t memory, uint32_t offset, uint32_t size, const char* what);
  // The same, of the description as well.
  const uint8_t* locate_described(uint8_t memory, uint32_t offset, uint32_t size);
  // The same for the samples of a timed run; also true without samples.
  bool locate_samples(uint8_t memory, uint32_t offset, uint32_t samples, uint8_t** place);

  Port& port_;
  Programs* const programs_;
  const uint32_t chunk_;
  const uint32_t window_;
  const uint32_t boot_id_;
  uint8_t* const input_;
  const size_t input_size_;
  FrameParser parser_;
  FrameWriter writer_;
  Session session_;

  // The last reply that cannot be given again by doing the same again.
  uint8_t kept_[kKeptBytes];
  size_t kept_size_ = 0;
  uint32_t kept_sequence_ = 0;
  protocol::Status kept_status_ = protocol::Status::kOk;

  ProgramInfo program_ = {};
  bool program_loaded_ = false;

  uint32_t duplicates_ = 0;
  uint32_t resends_ = 0;
  uint32_t stale_ = 0;
  uint32_t refused_ = 0;

  char description_[kDescriptionBytes];
  uint32_t description_size_ = 0;
};

template <class Request>
bool Runner::unpack(Request* request, bool exact) {
  const size_t length = parser_.header().length;
  if (length < Request::kBytes || (exact && length > Request::kBytes)) {
    refuse(protocol::Status::kBadRequest, "wrong length of request");
    return false;
  }
  request->unpack(parser_.payload());
  return true;
}

}  // namespace bench
