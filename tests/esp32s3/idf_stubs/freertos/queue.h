#pragma once

#include "freertos/FreeRTOS.h"

typedef struct QueueDefinition* QueueHandle_t;

extern "C" {

BaseType_t xQueueReceive(QueueHandle_t xQueue, void* const pvBuffer, TickType_t xTicksToWait);

}  // extern "C"
