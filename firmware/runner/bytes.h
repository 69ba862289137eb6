// Little-endian access to packed bytes, on any host and at any alignment.
#pragma once

#include <cstdint>
#include <cstring>

namespace bench {

inline uint8_t get_u8(const uint8_t* from) { return from[0]; }

inline uint16_t get_u16(const uint8_t* from) {
  return static_cast<uint16_t>(from[0] | (from[1] << 8));
}

inline uint32_t get_u32(const uint8_t* from) {
  return get_u16(from) | (static_cast<uint32_t>(get_u16(from + 2)) << 16);
}

inline uint64_t get_u64(const uint8_t* from) {
  return get_u32(from) | (static_cast<uint64_t>(get_u32(from + 4)) << 32);
}

inline int32_t get_i32(const uint8_t* from) { return static_cast<int32_t>(get_u32(from)); }

inline double get_f64(const uint8_t* from) {
  const uint64_t bits = get_u64(from);
  double value;
  static_assert(sizeof value == sizeof bits, "double is IEEE binary64");
  memcpy(&value, &bits, sizeof value);
  return value;
}

inline void put_u8(uint8_t* to, uint8_t value) { to[0] = value; }

inline void put_u16(uint8_t* to, uint16_t value) {
  to[0] = static_cast<uint8_t>(value);
  to[1] = static_cast<uint8_t>(value >> 8);
}

inline void put_u32(uint8_t* to, uint32_t value) {
  put_u16(to, static_cast<uint16_t>(value));
  put_u16(to + 2, static_cast<uint16_t>(value >> 16));
}

inline void put_u64(uint8_t* to, uint64_t value) {
  put_u32(to, static_cast<uint32_t>(value));
  put_u32(to + 4, static_cast<uint32_t>(value >> 32));
}

inline void put_i32(uint8_t* to, int32_t value) { put_u32(to, static_cast<uint32_t>(value)); }

inline void put_f64(uint8_t* to, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  put_u64(to, bits);
}

}  // namespace bench
