// The device's side of the link as a filter, for tests: one command a line on standard input, one
// answer a line.
//   encode VERSION TYPE ATTEMPT STATUS SESSION SEQUENCE PAYLOAD   prints the wire bytes
//   decode WIRE       prints each good frame in WIRE, then "." and the counters
//   take WIRE         lets a runner take WIRE (in pieces of 7 bytes) and prints what it sends
//   crc DATA          prints the CRC-32
// Numbers are decimal, bytes hexadecimal ("-" for none).
#include <cstdio>
#include <iostream>
#include <string>

#include "crc32.h"
#include "fake_board.h"
#include "frame_parser.h"
#include "frame_writer.h"
#include "runner.h"

namespace {

using Bytes = std::basic_string<uint8_t>;

Bytes from_hex(const std::string& text) {
  Bytes bytes;
  for (size_t i = 0; text != "-" && i + 1 < text.size(); i += 2) {
    bytes.push_back(static_cast<uint8_t>(strtoul(text.substr(i, 2).c_str(), nullptr, 16)));
  }
  return bytes;
}

std::string to_hex(const uint8_t* bytes, size_t size) {
  std::string text;
  for (size_t i = 0; i < size; ++i) {
    char digits[3];
    snprintf(digits, sizeof digits, "%02x", bytes[i]);
    text += digits;
  }
  return text.empty() ? "-" : text;
}

uint32_t number() {
  uint32_t value = 0;
  std::cin >> value;
  return value;
}

Bytes bytes() {
  std::string text;
  std::cin >> text;
  return from_hex(text);
}

void encode() {
  bench::protocol::Header header = {};
  header.version = static_cast<uint8_t>(number());
  header.type = static_cast<uint8_t>(number());
  header.attempt = static_cast<uint8_t>(number());
  header.status = static_cast<uint8_t>(number());
  header.session = number();
  header.sequence = number();
  const Bytes payload = bytes();
  header.length = static_cast<uint16_t>(payload.size());
  FakeBoard board;
  static uint8_t wire[bench::wire_size(65535)];
  bench::FrameWriter writer(board, wire, sizeof wire);
  writer.begin(header);
  // In two parts, as replies are written.
  writer.add(payload.data(), payload.size() / 3);
  writer.add(payload.data() + payload.size() / 3, payload.size() - payload.size() / 3);
  writer.end();
  writer.flush();
  std::cout << to_hex(board.sent.data(), board.sent.size()) << std::endl;
}

void decode() {
  static uint8_t buffer[65536 + 64];
  bench::FrameParser parser(buffer, sizeof buffer);
  const Bytes wire = bytes();
  size_t used = 0;
  while (used < wire.size()) {
    bool complete = false;
    used += parser.feed(wire.data() + used, wire.size() - used, &complete);
    if (complete) {
      const bench::protocol::Header& header = parser.header();
      std::cout << +header.version << ' ' << +header.type << ' ' << +header.attempt << ' '
                << +header.status << ' ' << header.session << ' ' << header.sequence << ' '
                << to_hex(parser.payload(), header.length) << ' ';
    }
  }
  std::cout << ". " << parser.frames() << ' ' << parser.bad_frames() << std::endl;
}

void take() {
  static FakeBoard board;
  static bench::RunnerStorage<1024> storage;
  static bench::Runner runner(board, nullptr, storage);
  const Bytes wire = bytes();
  board.sent.clear();
  for (size_t at = 0; at < wire.size(); at += 7) {
    runner.take(wire.data() + at, wire.size() - at < 7 ? wire.size() - at : 7);
  }
  runner.flush();
  std::cout << to_hex(board.sent.data(), board.sent.size()) << ' ' << board.reboots << ' '
            << FakeBoard::kernel_runs << std::endl;
}

}  // namespace

int main() {
  std::string command;
  while (std::cin >> command) {
    if (command == "encode") {
      encode();
    } else if (command == "decode") {
      decode();
    } else if (command == "take") {
      take();
    } else if (command == "crc") {
      const Bytes data = bytes();
      std::cout << bench::crc32(0, data.data(), data.size()) << std::endl;
    }
  }
}
