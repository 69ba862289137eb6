// Text in a fixed buffer: what does not fit is noticed, never written.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bench {

class Text {
 public:
  Text(char* buffer, size_t capacity) : buffer_(buffer), capacity_(capacity) {}

  Text& add(const char* text) {
    for (; *text != '\0'; ++text) {
      add(*text);
    }
    return *this;
  }

  Text& add(char character) {
    if (size_ < capacity_) {
      buffer_[size_++] = character;
    } else {
      fits_ = false;
    }
    return *this;
  }

  Text& add_number(uint32_t number) {
    char digits[10];
    size_t count = 0;
    do {
      digits[count++] = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number != 0);
    while (count > 0) {
      add(digits[--count]);
    }
    return *this;
  }

  // Adds a JSON string; control characters become spaces.
  Text& add_json(const char* text) {
    add('"');
    for (; *text != '\0'; ++text) {
      if (*text == '"' || *text == '\\') {
        add('\\');
      }
      add(static_cast<unsigned char>(*text) < 0x20 ? ' ' : *text);
    }
    return add('"');
  }

  size_t size() const { return size_; }
  bool fits() const { return fits_; }

 private:
  char* const buffer_;
  const size_t capacity_;
  size_t size_ = 0;
  bool fits_ = true;
};

}  // namespace bench
