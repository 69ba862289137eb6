#pragma once

#include <stddef.h>
#include <stdint.h>

#include "esp_err.h"
#include "freertos/FreeRTOS.h"
#include "freertos/queue.h"

extern "C" {

typedef enum { UART_NUM_0, UART_NUM_1, UART_NUM_2, UART_NUM_MAX } uart_port_t;
typedef enum { UART_DATA_5_BITS, UART_DATA_8_BITS = 3 } uart_word_length_t;
typedef enum { UART_PARITY_DISABLE, UART_PARITY_EVEN = 2 } uart_parity_t;
typedef enum { UART_STOP_BITS_1 = 1, UART_STOP_BITS_2 = 3 } uart_stop_bits_t;
typedef enum { UART_HW_FLOWCTRL_DISABLE, UART_HW_FLOWCTRL_RTS } uart_hw_flowcontrol_t;
typedef enum { UART_SCLK_APB = 4, UART_SCLK_DEFAULT = UART_SCLK_APB } uart_sclk_t;

typedef struct {
  int baud_rate;
  uart_word_length_t data_bits;
  uart_parity_t parity;
  uart_stop_bits_t stop_bits;
  uart_hw_flowcontrol_t flow_ctrl;
  uint8_t rx_flow_ctrl_thresh;
  union {
    uart_sclk_t source_clk;
  };
  struct {
    uint32_t allow_pd : 1;
    uint32_t backup_before_sleep : 1;
  } flags;
} uart_config_t;

typedef enum {
  UART_DATA,
  UART_BREAK,
  UART_BUFFER_FULL,
  UART_FIFO_OVF,
  UART_FRAME_ERR,
  UART_PARITY_ERR,
  UART_DATA_BREAK,
  UART_PATTERN_DET,
  UART_EVENT_MAX
} uart_event_type_t;

typedef struct {
  uart_event_type_t type;
  size_t size;
  bool timeout_flag;
} uart_event_t;

esp_err_t uart_driver_install(uart_port_t uart_num, int rx_buffer_size, int tx_buffer_size,
                              int queue_size, QueueHandle_t* uart_queue, int intr_alloc_flags);
esp_err_t uart_param_config(uart_port_t uart_num, const uart_config_t* uart_config);
int uart_read_bytes(uart_port_t uart_num, void* buf, uint32_t length, TickType_t ticks_to_wait);
int uart_write_bytes(uart_port_t uart_num, const void* src, size_t size);
esp_err_t uart_wait_tx_done(uart_port_t uart_num, TickType_t ticks_to_wait);

}  // extern "C"
