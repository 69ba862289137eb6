// Lets ExecuTorch's log speak before and after it may.
#include <executorch/runtime/platform/platform.h>

#include <cstdio>

#include "executorch_pal.h"

namespace {

void sink(const uint8_t* text, size_t size) { fwrite(text, 1, size, stdout); }

void log(const char* message, size_t length) {
  et_pal_emit_log_message(0, kError, "some/file.cpp", "function", 42, message, length);
}

}  // namespace

extern "C" int64_t esp_timer_get_time(void) { return 0; }

int main() {
  log("too early", 9);
  bench::log_to(sink);
  log("plain", 5);
  const char nasty[] = "a\x01\xC1\r\nb";
  log(nasty, sizeof nasty - 1);
  char large[2000];
  for (char& character : large) {
    character = 'x';
  }
  log(large, sizeof large);
  return 0;
}
