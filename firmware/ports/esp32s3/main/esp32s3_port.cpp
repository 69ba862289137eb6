#include "esp32s3_port.h"

#include "sdkconfig.h"

#include <esp_app_desc.h>
#include <esp_attr.h>
#include <esp_chip_info.h>
#include <esp_clk_tree.h>
#include <esp_cpu.h>
#include <esp_err.h>
#include <esp_heap_caps.h>
#include <esp_mac.h>
#include <esp_random.h>
#include <esp_system.h>
#include <esp_timer.h>
#include <soc/soc.h>
#include <soc/syscon_reg.h>

#include <cstdio>

#include "line.h"
#include "memories.h"
#include "port_timing.h"
#include "stringify.h"

namespace bench {

portMUX_TYPE timed_section_lock = portMUX_INITIALIZER_UNLOCKED;

namespace {

constexpr uint32_t kFullSpeed = 240000000;

// "QEMU": Espressif's emulator shows it in front of the date register, where the chip has nothing.
constexpr uint32_t kEmulatorSign = 0x51454d55;

// Survives a restart and is arbitrary after power-on.
RTC_NOINIT_ATTR uint32_t starts;

#if CONFIG_SPIRAM_MODE_OCT
constexpr char kPsramMode[] = "octal";
#elif CONFIG_SPIRAM_MODE_QUAD
constexpr char kPsramMode[] = "quad";
#else
constexpr char kPsramMode[] = "off";
#endif

#if CONFIG_COMPILER_OPTIMIZATION_PERF
constexpr char kOptimization[] = "performance";
#elif CONFIG_COMPILER_OPTIMIZATION_SIZE
constexpr char kOptimization[] = "size";
#else
constexpr char kOptimization[] = "debug";
#endif

#if CONFIG_NN_SKIP_NUDGE
constexpr char kSkipNudge[] = "on";
#else
constexpr char kSkipNudge[] = "off";
#endif

const char* reset_reason() {
  switch (esp_reset_reason()) {
    case ESP_RST_POWERON:
      return "power on";
    case ESP_RST_EXT:
      return "reset pin";
    case ESP_RST_SW:
      return "restart by software";
    case ESP_RST_PANIC:
      return "panic";
    case ESP_RST_INT_WDT:
      return "interrupt watchdog";
    case ESP_RST_TASK_WDT:
      return "task watchdog";
    case ESP_RST_WDT:
      return "watchdog";
    case ESP_RST_DEEPSLEEP:
      return "deep sleep";
    case ESP_RST_BROWNOUT:
      return "brownout";
    case ESP_RST_USB:
      return "USB";
    case ESP_RST_JTAG:
      return "JTAG";
    default:
      return "unknown";
  }
}

// Cycles a second by the system timer, which has a clock of its own.
uint32_t measure_hz() {
  constexpr int64_t kMicroseconds = 20000;
  const int64_t start = esp_timer_get_time();
  const uint32_t cycles = esp_cpu_get_cycle_count();
  int64_t elapsed = 0;
  while (elapsed < kMicroseconds) {
    elapsed = esp_timer_get_time() - start;
  }
  const uint64_t passed = static_cast<uint32_t>(esp_cpu_get_cycle_count() - cycles);
  return static_cast<uint32_t>(passed * 1000000u / static_cast<uint64_t>(elapsed));
}

uint32_t configured_hz() {
  uint32_t hz = 0;
  ESP_ERROR_CHECK(esp_clk_tree_src_get_freq_hz(SOC_MOD_CLK_CPU,
                                               ESP_CLK_TREE_SRC_FREQ_PRECISION_CACHED, &hz));
  return hz;
}

// A chip's two clocks agree within parts of a thousand; an emulator need not know of either.
bool agree(uint32_t hz, uint32_t other) {
  const uint32_t distance = hz > other ? hz - other : other - hz;
  return distance <= other / 20;
}

// uint32_t is a long on this chip.
template <size_t Size>
void print_number(char (&text)[Size], uint32_t number) {
  snprintf(text, Size, "%lu", static_cast<unsigned long>(number));
}

void print_hex(char* text, const uint8_t* bytes, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    snprintf(text + 2 * i, 3, "%02x", static_cast<unsigned>(bytes[i]));
  }
}

}  // namespace

Esp32S3Port::Esp32S3Port() {
  ++starts;
  const uint32_t configured = configured_hz();
  const uint32_t measured = measure_hz();
  is_emulated_ =
      REG_READ(SYSCON_DATE_REG - 4) == kEmulatorSign || !agree(measured, configured);
  clock_hz_ = is_emulated_ ? measured : configured;
  uint8_t mac[6] = {};
  ESP_ERROR_CHECK(esp_efuse_mac_get_default(mac));
  snprintf(mac_, sizeof mac_, "%02x:%02x:%02x:%02x:%02x:%02x", static_cast<unsigned>(mac[0]),
           static_cast<unsigned>(mac[1]), static_cast<unsigned>(mac[2]),
           static_cast<unsigned>(mac[3]), static_cast<unsigned>(mac[4]),
           static_cast<unsigned>(mac[5]));
  esp_chip_info_t chip = {};
  esp_chip_info(&chip);
  snprintf(revision_, sizeof revision_, "v%u.%u", static_cast<unsigned>(chip.revision / 100),
           static_cast<unsigned>(chip.revision % 100));
  print_number(cores_, chip.cores);
  print_number(measured_hz_, measured);
  print_number(psram_, static_cast<uint32_t>(heap_caps_get_total_size(MALLOC_CAP_SPIRAM)));
  print_hex(firmware_, esp_app_get_description()->app_elf_sha256, 32);
  board_[0] = {"chip_revision", revision_};
  board_[1] = {"cores", cores_};
  board_[2] = {"psram_bytes", psram_};
  board_[3] = {"measured_hz", measured_hz_};
}

size_t Esp32S3Port::read(uint8_t* data, size_t capacity, uint32_t timeout_ms) {
  return line_read(data, capacity, timeout_ms);
}

void Esp32S3Port::write(const uint8_t* data, size_t size) { line_write(data, size); }

bool Esp32S3Port::is_open() { return true; }

uint32_t Esp32S3Port::receive_buffer() { return kLineReceiveBuffer; }

uint32_t Esp32S3Port::overruns() { return line_overruns(); }

// The random generator has little entropy while the radio is off; the count makes two starts
// differ anyhow.
uint32_t Esp32S3Port::boot_id() { return esp_random() + starts; }

const Memory* Esp32S3Port::memories(size_t* count) { return bench::memories(count); }

Identity Esp32S3Port::identity() {
  const esp_app_desc_t* application = esp_app_get_description();
  static const Fact build[] = {
      {"idf", application->idf_ver},
      {"esp_nn", BENCH_ESP_NN_VERSION},
      {"esp_nn_skip_nudge", kSkipNudge},
      {"compiler", "GCC " __VERSION__},
      {"optimization", kOptimization},
      {"data_cache_bytes", BENCH_STRINGIFY(CONFIG_ESP32S3_DATA_CACHE_SIZE)},
      {"instruction_cache_bytes", BENCH_STRINGIFY(CONFIG_ESP32S3_INSTRUCTION_CACHE_SIZE)},
      {"psram", kPsramMode},
      {"link", kLineName},
      {"revision", application->version},
  };
  Identity identity = {};
  identity.target = "esp32s3";
  identity.board_id = mac_;
  identity.description = is_emulated_ ? "virtual board: an emulated ESP32-S3" : "ESP32-S3";
  identity.firmware = firmware_;
  identity.reset_reason = reset_reason();
  identity.clock_unit = "cycles";
  identity.clock_hz = clock_hz_;
  identity.board = board_;
  identity.board_facts = sizeof board_ / sizeof board_[0];
  identity.build = build;
  identity.build_facts = sizeof build / sizeof build[0];
  return identity;
}

void Esp32S3Port::reboot() {
  line_drain();
  esp_restart();
}

bool Esp32S3Port::is_emulated() const { return is_emulated_; }

bool Esp32S3Port::is_at_full_speed() const { return clock_hz_ == kFullSpeed; }

}  // namespace bench
