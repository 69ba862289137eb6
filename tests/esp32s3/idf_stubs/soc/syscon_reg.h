#pragma once

#define SYSCON_DATE_REG 0x600263fc
