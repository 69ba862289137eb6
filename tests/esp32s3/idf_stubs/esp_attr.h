#pragma once

#define IDF_STUB_TEXT(counter) #counter
#define IDF_STUB_SECTION(name, counter) \
  __attribute__((section(name "." IDF_STUB_TEXT(counter))))
#define IRAM_ATTR IDF_STUB_SECTION(".iram1", __COUNTER__)
// One section, so that a process can keep what is in it over a restart.
#define RTC_NOINIT_ATTR __attribute__((section("rtc_noinit")))
