// The text of a number that the configuration gives as a macro.
#pragma once

#define BENCH_STRINGIFY(value) BENCH_STRINGIFY_EXPANDED(value)
#define BENCH_STRINGIFY_EXPANDED(value) #value
