// The host as a board.
#pragma once

#include "line.h"
#include "port.h"

namespace bench {

class HostPort final : public Port {
 public:
  // `restart` runs the program anew on the same line; it does not return.
  HostPort(Line& line, const char* reset_reason, void (*restart)());

  size_t read(uint8_t* data, size_t capacity, uint32_t timeout_ms) override;
  void write(const uint8_t* data, size_t size) override;
  bool is_open() override;
  uint32_t receive_buffer() override;
  uint32_t overruns() override;
  uint32_t boot_id() override;
  const Memory* memories(size_t* count) override;
  Identity identity() override;
  void reboot() override;

 private:
  Line& line_;
  const char* const reset_reason_;
  void (*const restart_)();
  char board_id_[80];
  char description_[200];
};

}  // namespace bench
