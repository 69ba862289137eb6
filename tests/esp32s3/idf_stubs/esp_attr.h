#pragma once

#define IDF_STUB_TEXT(counter) #counter
#define IDF_STUB_SECTION(name, counter) \
  __attribute__((section(name "." IDF_STUB_TEXT(counter))))
#define IRAM_ATTR IDF_STUB_SECTION(".iram1", __COUNTER__)
#define RTC_NOINIT_ATTR IDF_STUB_SECTION(".rtc_noinit", __COUNTER__)
