// What an ESP-IDF build configures ESP-NN by.
#pragma once

#define CONFIG_IDF_TARGET_ESP32S3 1
#define CONFIG_NN_OPTIMIZED 1
