// The port's native multiply as the operator and the delegate run it, counted.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mul_int8.h"
#include "program.h"

namespace bench {

// What the operator library and the delegate did since the program was last executed. One program
// runs at a time.
OperatorCounters& operator_counters();

// Runs the first of the port's variants and counts the elements of each path.
void run_native_mul_int8(const int8_t* x, const int8_t* y, int8_t* out, size_t n,
                         const MulInt8Params& params);

}  // namespace bench
