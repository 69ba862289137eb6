#include "host_port.h"

#include <sys/random.h>
#include <sys/utsname.h>

#include <cstdio>
#include <cstdlib>

#include "constants.h"
#include "firmware_build.h"

namespace bench {
namespace {

alignas(64) uint8_t ram[1024 * 1024];
alignas(64) uint8_t program[2 * 1024 * 1024];

const Memory kMemories[] = {
    {"ram", ram, sizeof ram, false},
    constant_memory("constants"),
    {"program", program, sizeof program, false},
};

// A pty and a socket lose nothing when they are full; this only bounds what is in flight.
constexpr uint32_t kReceiveBuffer = 256 * 1024;

constexpr Fact kBuild[] = {
    {"compiler", BENCH_COMPILER},
    {"flags", BENCH_FLAGS},
    {"revision", BENCH_REVISION},
};

// What this process stands for if it plays the application of another board, as it does for a
// virtual ESP32-S3; by default it stands for itself.
const char* told(const char* name, const char* otherwise) {
  const char* value = getenv(name);
  return value != nullptr ? value : otherwise;
}

}  // namespace

HostPort::HostPort(Line& line, const char* reset_reason, void (*restart)())
    : line_(line), reset_reason_(reset_reason), restart_(restart) {
  utsname system = {};
  uname(&system);
  snprintf(board_id_, sizeof board_id_, "host-%.64s", system.nodename);
  snprintf(description_, sizeof description_, "virtual board: a process on %.64s %.64s",
           system.sysname, system.machine);
}

size_t HostPort::read(uint8_t* data, size_t capacity, uint32_t timeout_ms) {
  return line_.read(data, capacity, timeout_ms);
}

void HostPort::write(const uint8_t* data, size_t size) { line_.write(data, size); }

bool HostPort::is_open() { return line_.is_open(); }

uint32_t HostPort::receive_buffer() { return kReceiveBuffer; }

uint32_t HostPort::overruns() { return 0; }

uint32_t HostPort::boot_id() {
  uint32_t id = 0;
  while (getrandom(&id, sizeof id, 0) != sizeof id) {
  }
  return id;
}

const Memory* HostPort::memories(size_t* count) {
  *count = sizeof kMemories / sizeof kMemories[0];
  return kMemories;
}

Identity HostPort::identity() {
  Identity identity = {};
  identity.target = told("BENCH_TARGET", "host");
  identity.board_id = told("BENCH_BOARD_ID", board_id_);
  identity.description = description_;
  identity.firmware = told("BENCH_FIRMWARE_HASH", BENCH_FIRMWARE_HASH);
  identity.reset_reason = reset_reason_;
  identity.clock_unit = "ns";
  identity.clock_hz = 1000000000;
  identity.build = kBuild;
  identity.build_facts = sizeof kBuild / sizeof kBuild[0];
  return identity;
}

void HostPort::reboot() { restart_(); }

}  // namespace bench
