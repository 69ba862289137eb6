// LOAD_PROGRAM, EXECUTE and TRACE.
#include <cstring>

#include "runner.h"
#include "text.h"
#include "timing.h"

namespace bench {

using protocol::Status;

namespace {

constexpr uint32_t kProgramAlignment = 16;
constexpr size_t kMaxMethodName = 63;

struct ProgramCall {
  Programs* programs;
  const uint8_t* const* inputs;
  uint8_t* const* outputs;
  const TensorInfo* output_info;
  size_t output_count;
  OperatorCounters first;
  bool called;
  int error;  // of the first call that failed
};

void call_program(void* context) {
  ProgramCall& call = *static_cast<ProgramCall*>(context);
  OperatorCounters counters = {};
  const int error = call.programs->execute(call.inputs, call.outputs, &counters);
  if (!call.called) {
    call.first = counters;
    call.called = true;
  }
  if (call.error == 0) {
    call.error = error;
  }
}

void poison_memory(void* context) {
  const ProgramCall& call = *static_cast<ProgramCall*>(context);
  call.programs->poison(protocol::kPoison);
  for (size_t i = 0; i < call.output_count; ++i) {
    memset(call.outputs[i], protocol::kPoison, call.output_info[i].bytes);
  }
}

size_t pack_info(const ProgramInfo& info, uint8_t* to) {
  protocol::LoadProgramReply{info.inputs, info.outputs, info.planned_bytes, info.method_bytes}.pack(
      to);
  size_t size = protocol::LoadProgramReply::kBytes;
  const size_t tensors = size_t{info.inputs} + info.outputs;
  for (size_t i = 0; i < tensors; ++i) {
    const TensorInfo& tensor = info.tensors[i];
    protocol::Tensor{tensor.dtype, tensor.rank, tensor.bytes}.pack(to + size);
    size += protocol::Tensor::kBytes;
    for (size_t axis = 0; axis < tensor.rank; ++axis) {
      put_u32(to + size, tensor.sizes[axis]);
      size += sizeof(uint32_t);
    }
  }
  return size;
}

}  // namespace

void Runner::load_program() {
  protocol::LoadProgramRequest request;
  if (!unpack(&request, false)) {
    return;
  }
  if (programs_ == nullptr) {
    refuse(Status::kNoPrograms, "this firmware was built without a runtime for programs");
    return;
  }
  char method[kMaxMethodName + 1];
  const size_t name_size = parser_.header().length - protocol::LoadProgramRequest::kBytes;
  if (name_size > kMaxMethodName) {
    refuse(Status::kBadRequest, "the method's name is too long");
    return;
  }
  memcpy(method, parser_.payload() + protocol::LoadProgramRequest::kBytes, name_size);
  method[name_size] = '\0';
  if (request.offset % kProgramAlignment != 0) {
    refuse(Status::kMisaligned, "a program's offset must be a multiple of 16");
    return;
  }
  const uint8_t* pte =
      locate_readable(request.memory, request.offset, request.size, "the program");
  if (pte == nullptr) {
    return;
  }
  reply_working();
  program_loaded_ = false;
  const int error = programs_->load(pte, request.size, method, request.traced != 0, &program_);
  if (error != 0) {
    refuse_program(error);
    return;
  }
  program_loaded_ = true;
  reply_kept(pack_info(program_, kept_));
}

void Runner::execute() {
  protocol::ExecuteRequest request;
  if (!unpack(&request, false)) {
    return;
  }
  if (!program_loaded_) {
    refuse(Status::kNoProgramLoaded, "no program is loaded");
    return;
  }
  const size_t places = size_t{program_.inputs} + program_.outputs;
  if (request.inputs != program_.inputs || request.outputs != program_.outputs ||
      parser_.header().length !=
          protocol::ExecuteRequest::kBytes + places * protocol::Place::kBytes) {
    refuse(Status::kBadRequest, "the program has another number of inputs or outputs");
    return;
  }
  uint8_t* outputs[kMaxTensors];
  const uint8_t* inputs[kMaxTensors];
  for (size_t i = 0; i < places; ++i) {
    protocol::Place place;
    place.unpack(parser_.payload() + protocol::ExecuteRequest::kBytes +
                 i * protocol::Place::kBytes);
    const uint32_t bytes = program_.tensors[i].bytes;
    if (i < program_.inputs) {
      inputs[i] = locate_readable(place.memory, place.offset, bytes, "an input");
      if (inputs[i] == nullptr) {
        return;
      }
    } else {
      uint8_t*& output = outputs[i - program_.inputs];
      output = locate(place.memory, place.offset, bytes, "an output");
      if (output == nullptr) {
        return;
      }
    }
  }
  uint8_t* store = nullptr;
  if (!locate_samples(request.sample_memory, request.sample_offset, request.samples, &store)) {
    return;
  }
  reply_working();
  ProgramCall call = {};
  call.programs = programs_;
  call.inputs = inputs;
  call.outputs = outputs;
  call.output_info = program_.tensors + program_.inputs;
  call.output_count = program_.outputs;
  const Timing timing =
      time_calls(call_program, poison_memory, &call, request.warmup, request.samples, store);
  if (call.error != 0) {
    refuse_program(call.error);
    return;
  }
  protocol::ExecuteReply{timing.first_ticks,         timing.overhead_ticks,
                         call.first.native_calls,    call.first.delegate_calls,
                         call.first.vector_elements, call.first.scalar_elements,
                         timing.all_ticks}
      .pack(kept_);
  reply_kept(protocol::ExecuteReply::kBytes);
}

void Runner::trace() {
  protocol::TraceRequest request;
  if (!unpack(&request)) {
    return;
  }
  if (!program_loaded_) {
    refuse(Status::kNoProgramLoaded, "no program is loaded");
    return;
  }
  uint8_t* place = locate(request.memory, request.offset, request.size, "the trace");
  if (place == nullptr) {
    return;
  }
  reply_working();
  program_loaded_ = false;
  protocol::TraceReply{static_cast<uint32_t>(programs_->trace(place, request.size))}.pack(kept_);
  reply_kept(protocol::TraceReply::kBytes);
}

// Refuses after the fact: the reply is kept, for the failed call must not be repeated either.
void Runner::refuse_program(int error) {
  ++refused_;
  Text text(reinterpret_cast<char*>(kept_), sizeof kept_);
  text.add("the runtime's error ").add_number(static_cast<uint32_t>(error));
  text.add(" (").add(programs_->error_name(error)).add(')');
  kept_size_ = text.size();
  kept_status_ = Status::kProgramFailed;
  send(kept_status_, kept_, kept_size_);
}

}  // namespace bench
