// RUN_KERNEL.
#include <cstring>

#include "mul_int8.h"
#include "port_timing.h"
#include "runner.h"
#include "timing.h"

namespace bench {

using protocol::Status;

namespace {

struct KernelCall {
  MulInt8Kernel run;
  const int8_t* x;
  const int8_t* y;
  int8_t* out;
  size_t elements;
  MulInt8Params params;
  const uint8_t* refill;  // null: poison
  PathCount count;
};

// Beside what reads the clock, so that a timed call fetches no code but the kernel's from elsewhere.
BENCH_TIMED_CODE __attribute__((noinline)) void call_kernel(void* context) {
  KernelCall& call = *static_cast<KernelCall*>(context);
  call.count = call.run(call.x, call.y, call.out, call.elements, call.params);
}

void refill_output(void* context) {
  const KernelCall& call = *static_cast<KernelCall*>(context);
  if (call.refill == nullptr) {
    memset(call.out, protocol::kPoison, call.elements);
  } else {
    memmove(call.out, call.refill, call.elements);
  }
}

}  // namespace

void Runner::run_kernel() {
  protocol::RunKernelRequest request;
  if (!unpack(&request)) {
    return;
  }
  if (request.kernel != static_cast<uint8_t>(protocol::Kernel::kMulInt8)) {
    refuse(Status::kNoSuchKernel, "no kernel of that number");
    return;
  }
  size_t count = 0;
  const MulInt8Variant* variants = mul_int8_variants(&count);
  if (request.variant >= count) {
    refuse(Status::kNoSuchVariant, "no variant of that number");
    return;
  }
  KernelCall call = {};
  call.run = variants[request.variant].run;
  call.elements = request.elements;
  call.params = {request.zero_point1,    request.zero_point2,    request.zero_point_out,
                 request.multiplier,     request.shift,          request.activation_min,
                 request.activation_max, request.scale1,         request.scale2,
                 request.scale_out};
  if (!mul_int8_params_valid(call.params)) {
    refuse(Status::kBadParameters, "parameters outside what the kernels accept");
    return;
  }
  const uint8_t* input = locate_readable(request.x_memory, request.x_offset, request.elements, "x");
  if (input == nullptr) {
    return;
  }
  call.x = reinterpret_cast<const int8_t*>(input);
  input = locate_readable(request.y_memory, request.y_offset, request.elements, "y");
  if (input == nullptr) {
    return;
  }
  call.y = reinterpret_cast<const int8_t*>(input);
  uint8_t* place = locate(request.out_memory, request.out_offset, request.elements, "out");
  if (place == nullptr) {
    return;
  }
  call.out = reinterpret_cast<int8_t*>(place);
  if (request.refill_memory != protocol::kNoMemory) {
    call.refill = locate_readable(request.refill_memory, request.refill_offset, request.elements,
                                  "the refill");
    if (call.refill == nullptr) {
      return;
    }
  }
  uint8_t* store = nullptr;
  if (!locate_samples(request.sample_memory, request.sample_offset, request.samples, &store)) {
    return;
  }
  reply_working();
  const Timing timing = time_calls(call_kernel, refill_output, &call, request.warmup, request.samples, store);
  protocol::RunKernelReply{request.variant, call.count.vector_elements, call.count.scalar_elements,
                           timing.first_ticks, timing.overhead_ticks, timing.all_ticks}
      .pack(kept_);
  reply_kept(protocol::RunKernelReply::kBytes);
}

}  // namespace bench
