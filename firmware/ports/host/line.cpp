#include "line.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace bench {

size_t Line::read(uint8_t* data, size_t capacity, uint32_t timeout_ms) {
  pollfd waiting = {in_, POLLIN, 0};
  if (poll(&waiting, 1, static_cast<int>(timeout_ms)) <= 0) {
    return 0;
  }
  const ssize_t size = ::read(in_, data, capacity);
  if (size > 0) {
    return static_cast<size_t>(size);
  }
  // A pty whose other end is closed reads as an error, a closed socket as an end.
  if (size == 0 || (errno != EINTR && errno != EAGAIN)) {
    open_ = false;
  }
  return 0;
}

void Line::write(const uint8_t* data, size_t size) {
  while (size > 0 && open_) {
    const ssize_t written = ::write(out_, data, size);
    if (written >= 0) {
      data += written;
      size -= static_cast<size_t>(written);
    } else if (errno != EINTR) {
      open_ = false;
    }
  }
}

namespace {

[[noreturn]] void fail(const char* address, const char* reason) {
  fprintf(stderr, "bench-runner: cannot listen on %s: %s\n", address, reason);
  exit(2);
}

}  // namespace

int listen_at(const char* address) {
  char host[256];
  const char* colon = strrchr(address, ':');
  if (colon == nullptr || static_cast<size_t>(colon - address) >= sizeof host) {
    fail(address, "give HOST:PORT");
  }
  const size_t length = static_cast<size_t>(colon - address);
  memcpy(host, address, length);
  host[length] = '\0';

  addrinfo hints = {};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host, colon + 1, &hints, &found);
  if (error != 0) {
    fail(address, gai_strerror(error));
  }
  const int listener = socket(found->ai_family, found->ai_socktype, 0);
  const int yes = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (listener < 0 || bind(listener, found->ai_addr, found->ai_addrlen) != 0 ||
      listen(listener, 1) != 0) {
    fail(address, strerror(errno));
  }
  freeaddrinfo(found);

  sockaddr_in bound = {};
  socklen_t bound_size = sizeof bound;
  getsockname(listener, reinterpret_cast<sockaddr*>(&bound), &bound_size);
  fprintf(stderr, "listening %s:%u\n", host, ntohs(bound.sin_port));
  fflush(stderr);
  return listener;
}

int accept_client(int listener) {
  while (true) {
    const int client = accept(listener, nullptr, nullptr);
    if (client >= 0) {
      const int yes = 1;
      setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
      return client;
    }
    if (errno != EINTR && errno != ECONNABORTED) {
      perror("bench-runner: accept");
      exit(2);
    }
  }
}

}  // namespace bench
