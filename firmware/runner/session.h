// Which requests are new: a session is one host's sequence of requests since it opened.
#pragma once

#include <cstdint>

#include "protocol.h"

namespace bench {

class Session {
 public:
  enum class Verdict : uint8_t { kNew, kDone, kStale };

  explicit Session(uint32_t boot_id) : next_(successor(boot_id * 2654435761u)) {}

  // The id that the next session will have; hello tells it. Since nobody else can know it, a late
  // copy of an earlier OPEN cannot open anything.
  uint32_t next() const { return next_; }

  // Opens the session `id` if it is the next one; true also if it is open already.
  bool open(uint32_t id) {
    if (id == next_) {
      current_ = id;
      next_ = successor(id);
      newest_ = 0;
      done_ = ~uint64_t{0};
    }
    return is_open(id);
  }

  bool is_open(uint32_t id) const { return id != 0 && id == current_; }

  // Judges a request of the open session by its sequence number.
  Verdict judge(uint32_t sequence) const {
    const uint32_t age = newest_ - sequence;
    if (age >= uint32_t{1} << 31) {
      return Verdict::kNew;
    }
    if (age >= protocol::kSequenceWindow) {
      return Verdict::kStale;
    }
    return (done_ >> age & 1) != 0 ? Verdict::kDone : Verdict::kNew;
  }

  // Notes a request that is not stale; `acted` if it must not be acted on again.
  void note(uint32_t sequence, bool acted) {
    const uint32_t ahead = sequence - newest_;
    if (ahead != 0 && ahead < uint32_t{1} << 31) {
      done_ = ahead < protocol::kSequenceWindow ? done_ << ahead : 0;
      newest_ = sequence;
    }
    if (acted) {
      done_ |= uint64_t{1} << (newest_ - sequence);
    }
  }

 private:
  static uint32_t successor(uint32_t id) { return id == 0xFFFFFFFFu ? 1 : id + 1; }

  static_assert(protocol::kSequenceWindow == 64, "one bit of done_ for each");

  uint32_t next_;
  uint32_t current_ = 0;
  uint32_t newest_ = 0;
  uint64_t done_ = 0;  // bit i: the request newest_ - i was acted on
};

}  // namespace bench
