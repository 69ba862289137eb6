#include "executorch_pal.h"

#include <esp_timer.h>
#include <executorch/runtime/platform/platform.h>

#include <cstdlib>

#include "text.h"

namespace {

bench::LogSink log_sink = nullptr;

// A log line is text between frames: a zero in it would start one.
char printable(char character) {
  return character >= 0x20 && character < 0x7F ? character : ' ';
}

void add_printable(bench::Text& line, const char* text, size_t length) {
  for (size_t i = 0; i < length && text[i] != '\0'; ++i) {
    line.add(printable(text[i]));
  }
}

}  // namespace

namespace bench {

void log_to(LogSink sink) { log_sink = sink; }

}  // namespace bench

extern "C" {

void et_pal_init(void) {}

ET_NORETURN void et_pal_abort(void) { abort(); }

et_timestamp_t et_pal_current_ticks(void) {
  return static_cast<et_timestamp_t>(esp_timer_get_time());
}

et_tick_ratio_t et_pal_ticks_to_ns_multiplier(void) { return {1000, 1}; }

void et_pal_emit_log_message(et_timestamp_t, et_pal_log_level_t level, const char* filename,
                             const char*, size_t line, const char* message, size_t length) {
  if (log_sink == nullptr) {
    return;
  }
  char buffer[256];
  bench::Text text(buffer, sizeof buffer - 2);
  text.add(static_cast<char>(level)).add(' ');
  add_printable(text, filename, sizeof buffer);
  text.add(':').add_number(static_cast<uint32_t>(line)).add(' ');
  add_printable(text, message, length);
  size_t size = text.size();
  buffer[size++] = '\r';
  buffer[size++] = '\n';
  log_sink(reinterpret_cast<const uint8_t*>(buffer), size);
}

void* et_pal_allocate(size_t size) { return malloc(size); }

void et_pal_free(void* place) { free(place); }

}  // extern "C"
