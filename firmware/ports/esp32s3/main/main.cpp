// The firmware on an ESP32-S3: the runner in the main task, on core 0.
#include <cstring>

#include "board_programs.h"
#include "esp32s3_port.h"
#include "line.h"
#include "memories.h"
#include "runner.h"

namespace {

constexpr size_t kChunk = 2048;

bench::RunnerStorage<kChunk> storage;

void print(const char* text) {
  bench::line_write(reinterpret_cast<const uint8_t*>(text), strlen(text));
}

}  // namespace

extern "C" void app_main(void) {
  bench::line_open();
  bench::Programs* programs = bench::board_programs();
  bench::take_memories(programs != nullptr);
  static bench::Esp32S3Port port;
  static bench::Runner runner(port, programs, storage);
  print("bench runner ready\r\n");
  if (port.is_emulated()) {
    print("an emulated chip: latencies are not those of an ESP32-S3\r\n");
  } else if (!port.is_at_full_speed()) {
    print("the CPU does not run at 240 MHz: latencies are not those of this chip\r\n");
  }
  runner.run();
}
