#include "runner.h"

#include <cstring>

#include "description.h"
#include "text.h"

namespace bench {

using protocol::Status;
using protocol::Type;

namespace {

constexpr uint32_t kWait = 1000;  // ms; how often a quiet line is looked at for its end

uint32_t window_of(uint32_t receive_buffer, uint32_t chunk) {
  const size_t largest = wire_size(chunk + protocol::WriteRequest::kBytes);
  const size_t window = receive_buffer / largest;
  return static_cast<uint32_t>(
      window < 1 ? 1 : window > protocol::kMaxWindow ? protocol::kMaxWindow : window);
}

}  // namespace

Runner::Runner(Port& port, Programs* programs, uint32_t chunk, uint8_t* frame, size_t frame_size,
               uint8_t* wire, size_t wire_size, uint8_t* input, size_t input_size)
    : port_(port),
      programs_(programs),
      chunk_(chunk),
      window_(window_of(port.receive_buffer(), chunk)),
      boot_id_(port.boot_id()),
      input_(input),
      input_size_(input_size),
      parser_(frame, frame_size),
      writer_(port, wire, wire_size),
      session_(boot_id_) {
  Text json(description_, sizeof description_);
  write_description(json, port_, programs_, boot_id_, chunk_, window_);
  // Half a description is none: the host says that it is empty.
  description_size_ = json.fits() ? static_cast<uint32_t>(json.size()) : 0;
}

void Runner::run() {
  size_t since_flush = 0;
  while (port_.is_open()) {
    // Replies go out together, when no more requests are waiting or a chunk's worth has come:
    // the host must not wait for an answer longer than for the line.
    const size_t size = port_.read(input_, input_size_, writer_.pending() ? 0 : kWait);
    take(input_, size);
    since_flush += size;
    if (size == 0 || since_flush >= chunk_ / 2) {
      writer_.flush();
      since_flush = 0;
    }
  }
}

void Runner::take(const uint8_t* data, size_t size) {
  size_t used = 0;
  while (used < size) {
    bool complete = false;
    used += parser_.feed(data + used, size - used, &complete);
    if (complete) {
      handle();
    }
  }
}

void Runner::handle() {
  const protocol::Header& header = parser_.header();
  if (header.attempt > 0) {
    ++resends_;
  }
  if (header.version != protocol::kVersion) {
    refuse(Status::kWrongVersion, "this firmware speaks another version of the protocol");
    return;
  }
  const Type type = static_cast<Type>(header.type);
  if (type == Type::kHello) {
    hello();
  } else if (type == Type::kOpen) {
    open();
  } else if (!session_.is_open(header.session)) {
    refuse_session();
  } else {
    handle_once();
  }
}

// Acts on a request of the open session unless it did so before.
void Runner::handle_once() {
  const uint32_t sequence = parser_.header().sequence;
  const Type type = static_cast<Type>(parser_.header().type);
  switch (session_.judge(sequence)) {
    case Session::Verdict::kStale:
      ++stale_;
      break;
    case Session::Verdict::kDone:
      ++duplicates_;
      if (sequence == kept_sequence_) {
        send(kept_status_, kept_, kept_size_);
      } else if (type == Type::kWrite || type == Type::kFill) {
        reply(nullptr, 0);
      }
      break;
    case Session::Verdict::kNew:
      session_.note(sequence, false);
      act();
      break;
  }
}

void Runner::act() {
  switch (static_cast<Type>(parser_.header().type)) {
    case Type::kWrite:
      return write();
    case Type::kRead:
      return read();
    case Type::kFill:
      return fill();
    case Type::kCrc32:
      return crc();
    case Type::kRunKernel:
      return run_kernel();
    case Type::kLoadProgram:
      return load_program();
    case Type::kExecute:
      return execute();
    case Type::kTrace:
      return trace();
    case Type::kCounters:
      return counters();
    case Type::kReset:
      return reset();
    case Type::kHello:
    case Type::kOpen:
      break;
  }
  refuse(Status::kUnknownType, "no such request");
}

void Runner::hello() {
  uint8_t payload[protocol::HelloReply::kBytes];
  protocol::HelloReply{boot_id_, session_.next(), static_cast<uint16_t>(chunk_),
                       static_cast<uint8_t>(window_), static_cast<uint16_t>(description_size_)}
      .pack(payload);
  reply(payload, sizeof payload);
}

void Runner::open() {
  const uint32_t before = session_.next();
  if (!session_.open(parser_.header().session)) {
    refuse_session();
    return;
  }
  if (session_.next() != before) {
    kept_sequence_ = 0;
  }
  uint8_t payload[protocol::OpenReply::kBytes];
  protocol::OpenReply{boot_id_}.pack(payload);
  reply(payload, sizeof payload);
}

void Runner::counters() {
  uint8_t payload[protocol::CountersReply::kBytes];
  protocol::CountersReply{parser_.frames(), parser_.bad_frames(), port_.overruns(),
                          duplicates_,      resends_,             stale_,
                          refused_,         parser_.text_bytes()}
      .pack(payload);
  reply(payload, sizeof payload);
}

void Runner::reset() {
  reply(nullptr, 0);
  writer_.flush();
  port_.reboot();
}

void Runner::reply(const uint8_t* payload, size_t size) { send(Status::kOk, payload, size); }

// Replies with the first `size` bytes of `kept_`, which answer copies of this request as well.
void Runner::reply_kept(size_t size) {
  kept_size_ = size;
  kept_status_ = Status::kOk;
  send(kept_status_, kept_, kept_size_);
}

// Says that the request came whole and will take a while, and that it will not be acted on again.
void Runner::reply_working() {
  kept_sequence_ = parser_.header().sequence;
  session_.note(kept_sequence_, true);
  send(Status::kWorking, nullptr, 0);
  writer_.flush();
}

void Runner::refuse(Status status, const char* text) {
  ++refused_;
  send(status, reinterpret_cast<const uint8_t*>(text), strlen(text));
}

void Runner::refuse_session() {
  uint8_t payload[protocol::UnknownSessionReply::kBytes];
  protocol::UnknownSessionReply{boot_id_}.pack(payload);
  send(Status::kUnknownSession, payload, sizeof payload);
}

void Runner::send(Status status, const uint8_t* payload, size_t size) {
  protocol::Header header = parser_.header();
  header.version = protocol::kVersion;
  header.type |= protocol::kReply;
  header.status = static_cast<uint8_t>(status);
  header.length = static_cast<uint16_t>(size);
  writer_.begin(header);
  if (size > 0) {
    writer_.add(payload, size);
  }
  writer_.end();
}

}  // namespace bench
