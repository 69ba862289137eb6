// A stand-in for ESP-NN on an ESP32-S3: its elementwise multiply with the defects of its assembly.
#pragma once

#include <cstdint>

extern "C" {

void esp_nn_mul_elementwise_s8_ansi(const int8_t* input1, const int8_t* input2,
                                    int32_t input1_offset, int32_t input2_offset, int8_t* output,
                                    int32_t out_offset, int32_t out_mult, int32_t out_shift,
                                    int32_t activation_min, int32_t activation_max, int32_t size);

void esp_nn_mul_elementwise_s8_esp32s3(const int8_t* input1, const int8_t* input2,
                                       int32_t input1_offset, int32_t input2_offset,
                                       int8_t* output, int32_t out_offset, int32_t out_mult,
                                       int32_t out_shift, int32_t activation_min,
                                       int32_t activation_max, int32_t size);

}  // extern "C"

#define esp_nn_mul_elementwise_s8 esp_nn_mul_elementwise_s8_esp32s3
