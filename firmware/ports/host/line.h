// The host board's serial line: a pty given as standard input and output, or a served socket.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bench {

class Line {
 public:
  // Uses descriptors that are open already; writes block.
  Line(int in, int out) : in_(in), out_(out) {}

  size_t read(uint8_t* data, size_t capacity, uint32_t timeout_ms);
  void write(const uint8_t* data, size_t size);
  bool is_open() const { return open_; }

 private:
  const int in_;
  const int out_;
  bool open_ = true;
};

// Listens on "HOST:PORT" (port 0: any), says on standard error where, and returns the descriptor;
// exits with a message if that fails.
int listen_at(const char* address);

// Waits for a client.
int accept_client(int listener);

}  // namespace bench
