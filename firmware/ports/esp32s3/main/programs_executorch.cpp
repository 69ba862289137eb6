#include "board_programs.h"
#include "executorch_pal.h"
#include "executorch_programs.h"
#include "line.h"

namespace bench {
namespace {

// In internal RAM: where planned tensors lie is part of a latency.
alignas(64) uint8_t method_pool[16 * 1024];
alignas(64) uint8_t planned_pool[32 * 1024];

}  // namespace

Programs* board_programs() {
  static ProgramRunner runner(method_pool, sizeof method_pool, planned_pool, sizeof planned_pool);
  static ExecutorchPrograms programs(runner);
  log_to(line_write);
  return &programs;
}

}  // namespace bench
