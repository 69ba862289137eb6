#pragma once

#include <stdint.h>

extern "C" uint32_t idf_stub_read_register(uint32_t address);

#define REG_READ(_r) (idf_stub_read_register(_r))
