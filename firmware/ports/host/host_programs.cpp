#include "host_programs.h"

#include "executorch_programs.h"

namespace bench {
namespace {

alignas(64) uint8_t method_pool[1024 * 1024];
alignas(64) uint8_t planned_pool[4 * 1024 * 1024];

}  // namespace

Programs* host_programs() {
  static ProgramRunner runner(method_pool, sizeof method_pool, planned_pool, sizeof planned_pool);
  static ExecutorchPrograms programs(runner);
  return &programs;
}

}  // namespace bench
