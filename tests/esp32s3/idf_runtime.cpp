// The functions behind idf_stubs/, as a process on standard input and output: enough of ESP-IDF to
// run the port's own code, no model of the chip.
#include <esp_app_desc.h>
#include <esp_chip_info.h>
#include <esp_clk_tree.h>
#include <esp_cpu.h>
#include <esp_heap_caps.h>
#include <esp_mac.h>
#include <esp_random.h>
#include <esp_system.h>
#include <esp_timer.h>
#include <driver/uart.h>
#include <driver/usb_serial_jtag.h>
#include <freertos/FreeRTOS.h>
#include <freertos/queue.h>
#include <soc/soc.h>
#include <soc/syscon_reg.h>

#include <poll.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <deque>

// The memory that outlives a restart; the port keeps one number there.
extern uint32_t __start_rtc_noinit[];

namespace {

bool masked = false;

// Bytes that the heap has left, by kind; the size of the other kind comes from the environment.
size_t internal_left = 230 * 1024;

size_t external_size() {
  const char* size = getenv("FAKE_PSRAM_BYTES");
  return size != nullptr ? strtoul(size, nullptr, 10) : 0;
}

size_t external_taken = 0;

int read_line(void* buf, uint32_t length, TickType_t ticks) {
  pollfd waiting = {STDIN_FILENO, POLLIN, 0};
  if (poll(&waiting, 1, static_cast<int>(ticks)) <= 0) {
    return 0;
  }
  const ssize_t size = read(STDIN_FILENO, buf, length);
  if (size <= 0) {
    _exit(0);  // the line closed
  }
  return static_cast<int>(size);
}

int write_line(const void* src, size_t size) {
  size_t done = 0;
  while (done < size) {
    const ssize_t written = write(STDOUT_FILENO, static_cast<const char*>(src) + done, size - done);
    if (written <= 0) {
      _exit(0);
    }
    done += static_cast<size_t>(written);
  }
  return static_cast<int>(size);
}

uint32_t number_of(const char* name, uint32_t otherwise) {
  const char* text = getenv(name);
  return text != nullptr ? static_cast<uint32_t>(strtoul(text, nullptr, 10)) : otherwise;
}

int64_t nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000000000 + now.tv_nsec;
}

// The driver says so for every so many bytes.
constexpr size_t kFifoThreshold = 120;

}  // namespace

// The events of the UART: what finds no room is dropped.
struct QueueDefinition {
  std::deque<uart_event_t> events;
  size_t capacity = 0;
  size_t received = 0;

  void add(uart_event_type_t type) {
    if (events.size() < capacity) {
      events.push_back({type, 0, false});
    }
  }

  // With FAKE_OVERRUN_AT, all kinds of events come once, before that byte is read.
  void receive(size_t size) {
    for (size_t at = 0; at < size; at += kFifoThreshold) {
      add(UART_DATA);
    }
    const char* at = getenv("FAKE_OVERRUN_AT");
    const size_t overrun = at != nullptr ? strtoul(at, nullptr, 10) : SIZE_MAX;
    if (received < overrun && received + size >= overrun) {
      for (int type = UART_DATA; type < UART_EVENT_MAX; ++type) {
        add(static_cast<uart_event_type_t>(type));
      }
    }
    received += size;
  }
};

namespace {

QueueDefinition uart_events;

}  // namespace

extern "C" {

// Refuses a queue that the data of a full buffer would fill.
esp_err_t uart_driver_install(uart_port_t, int rx_buffer_size, int, int queue_size,
                              QueueHandle_t* uart_queue, int) {
  uart_events.capacity = static_cast<size_t>(queue_size);
  *uart_queue = &uart_events;
  return uart_events.capacity * kFifoThreshold > static_cast<size_t>(rx_buffer_size) ? ESP_OK
                                                                                    : ESP_FAIL;
}

BaseType_t xQueueReceive(QueueHandle_t queue, void* const buffer, TickType_t ticks) {
  if (ticks != 0) {
    abort();  // would keep the runner from its work
  }
  if (queue->events.empty()) {
    return pdFALSE;
  }
  memcpy(buffer, &queue->events.front(), sizeof(uart_event_t));
  queue->events.pop_front();
  return pdTRUE;
}

esp_err_t uart_param_config(uart_port_t, const uart_config_t* config) {
  return config->baud_rate == 921600 && config->data_bits == UART_DATA_8_BITS &&
                 config->stop_bits == UART_STOP_BITS_1
             ? ESP_OK
             : ESP_FAIL;
}

// As the driver does it: waits until all of `length` is there or the time is over.
int uart_read_bytes(uart_port_t, void* buf, uint32_t length, TickType_t ticks_to_wait) {
  uint32_t got = 0;
  while (got < length) {
    const int size = read_line(static_cast<char*>(buf) + got, length - got, ticks_to_wait);
    if (size == 0) {
      break;
    }
    uart_events.receive(static_cast<size_t>(size));
    got += static_cast<uint32_t>(size);
  }
  return static_cast<int>(got);
}

int uart_write_bytes(uart_port_t, const void* src, size_t size) { return write_line(src, size); }
esp_err_t uart_wait_tx_done(uart_port_t, TickType_t) { return ESP_OK; }

esp_err_t usb_serial_jtag_driver_install(usb_serial_jtag_driver_config_t*) { return ESP_OK; }

int usb_serial_jtag_read_bytes(void* buf, uint32_t length, TickType_t ticks_to_wait) {
  return read_line(buf, length, ticks_to_wait);
}

// All of it or nothing, by what the buffer surely has room for.
int usb_serial_jtag_write_bytes(const void* src, size_t size, TickType_t) {
  return size <= 1024 ? write_line(src, size) : 0;
}

esp_err_t usb_serial_jtag_wait_tx_done(TickType_t) { return ESP_OK; }

void* heap_caps_aligned_alloc(size_t alignment, size_t size, uint32_t caps) {
  size_t& used = (caps & MALLOC_CAP_SPIRAM) != 0 ? external_taken : internal_left;
  used = (caps & MALLOC_CAP_SPIRAM) != 0 ? used + size : used - size;
  return aligned_alloc(alignment, size);
}

size_t heap_caps_get_total_size(uint32_t caps) {
  return (caps & MALLOC_CAP_SPIRAM) != 0 ? external_size() : 300 * 1024;
}

size_t heap_caps_get_largest_free_block(uint32_t caps) {
  return (caps & MALLOC_CAP_SPIRAM) != 0 ? external_size() - external_taken : internal_left;
}

int64_t esp_timer_get_time(void) { return nanoseconds() / 1000; }

// By default at the rate that it is said to have.
esp_cpu_cycle_count_t idf_stub_cycle_count(void) {
  static const uint32_t hz = number_of("FAKE_CYCLES_HZ", number_of("FAKE_CPU_HZ", 240000000));
  return static_cast<uint32_t>(nanoseconds() / 1000 * (hz / 1000000));
}

uint32_t idf_stub_read_register(uint32_t address) {
  const char* emulator = getenv("FAKE_EMULATOR");
  uint32_t value = 0;
  if (emulator != nullptr && address == SYSCON_DATE_REG - 4) {
    for (size_t i = 0; i < 4; ++i) {
      value = value << 8 | static_cast<uint8_t>(emulator[i]);
    }
  }
  return value;
}

esp_err_t esp_clk_tree_src_get_freq_hz(soc_module_clk_t, esp_clk_tree_src_freq_precision_t,
                                       uint32_t* freq_value) {
  *freq_value = number_of("FAKE_CPU_HZ", 240000000);
  return ESP_OK;
}

esp_err_t esp_efuse_mac_get_default(uint8_t* mac) {
  const uint8_t address[] = {0x7c, 0xdf, 0xa1, 0x00, 0x0b, 0xfe};
  memcpy(mac, address, sizeof address);
  return ESP_OK;
}

void esp_chip_info(esp_chip_info_t* out_info) {
  out_info->model = CHIP_ESP32S3;
  out_info->revision = 2;
  out_info->cores = 2;
}

const esp_app_desc_t* esp_app_get_description(void) {
  static esp_app_desc_t description = {};
  strcpy(description.version, "1f00d");
  strcpy(description.idf_ver, "v5.5.5");
  for (uint8_t i = 0; i < 32; ++i) {
    description.app_elf_sha256[i] = static_cast<uint8_t>(7 * i);
  }
  return &description;
}

// A generator without entropy: what distinguishes starts must come from elsewhere.
uint32_t esp_random(void) { return 0x1234; }

esp_reset_reason_t esp_reset_reason(void) {
  return getenv("FAKE_RESTARTED") != nullptr ? ESP_RST_SW : ESP_RST_POWERON;
}

void esp_restart(void) {
  char kept[16];
  snprintf(kept, sizeof kept, "%lu", static_cast<unsigned long>(__start_rtc_noinit[0]));
  setenv("FAKE_RESTARTED", kept, 1);
  execl("/proc/self/exe", "fake-esp32s3", nullptr);
  abort();
}

void idf_stub_enter_critical(portMUX_TYPE*) {
  if (masked) {
    abort();
  }
  masked = true;
}

void idf_stub_exit_critical(portMUX_TYPE*) { masked = false; }

void app_main(void);

}  // extern "C"

int main() {
  if (const char* kept = getenv("FAKE_RESTARTED")) {
    __start_rtc_noinit[0] = static_cast<uint32_t>(strtoul(kept, nullptr, 10));
  }
  app_main();
}
