// bench-runner: the firmware as a Linux process.
//
//   bench-runner                      serves the line on standard input and output (a pty's
//                                     master, say) until it closes
//   bench-runner --listen HOST:PORT   serves one client after the other on a socket
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "firmware_build.h"
#include "host_port.h"
#include "host_programs.h"
#include "runner.h"

namespace {

constexpr size_t kChunk = 32768;
constexpr char kRestarted[] = "BENCH_RUNNER_RESTARTED";  // the client's descriptor, after a reboot
constexpr char kListener[] = "BENCH_RUNNER_LISTENER";

bench::RunnerStorage<kChunk> storage;

char** arguments;
pid_t parent;
int listener = -1;
int client = STDIN_FILENO;
int console = STDOUT_FILENO;

void set_number(const char* name, int number) {
  char text[16];
  snprintf(text, sizeof text, "%d", number);
  setenv(name, text, 1);
}

// A reboot: the same program anew, on the same line.
void restart() {
  set_number(kRestarted, client);
  set_number(kListener, listener);
  execv("/proc/self/exe", arguments);
  perror("bench-runner: cannot restart");
  _exit(1);
}

// The signal also comes when merely the thread that started this process ends.
void on_parent_death(int) {
  if (getppid() != parent) {
    _exit(0);
  }
}

// Ends this process with its parent, however that dies.
void die_with_parent() {
  parent = getppid();
  signal(SIGUSR2, on_parent_death);
  prctl(PR_SET_PDEATHSIG, SIGUSR2);
}

// What a chip's panic handler does: says on the line that this is the end, then ends.
void on_crash(int number) {
  char text[] = "\r\npanic: signal 00\r\n";
  constexpr size_t kDigits = sizeof "\r\npanic: signal " - 1;
  text[kDigits] = static_cast<char>('0' + number / 10);
  text[kDigits + 1] = static_cast<char>('0' + number % 10);
  if (write(console, text, sizeof text - 1) < 0) {
    // There is nobody left to tell.
  }
  raise(number);
}

void announce_crashes() {
  struct sigaction action = {};
  action.sa_handler = on_crash;
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // the signal's own action is next
  constexpr int kCrashes[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV};
  for (const int number : kCrashes) {
    sigaction(number, &action, nullptr);
  }
}

void serve(int in, int out, bool restarted) {
  console = out;
  bench::Line line(in, out);
  bench::HostPort port(line, restarted ? "reset by command" : "power on", restart);
  bench::Runner runner(port, bench::host_programs(), storage);
  constexpr char kReady[] = "bench runner " BENCH_FIRMWARE_HASH " ready\r\n";
  port.write(reinterpret_cast<const uint8_t*>(kReady), sizeof kReady - 1);
  runner.run();
}

int usage() {
  fprintf(stderr, "usage: bench-runner [--listen HOST:PORT]\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  arguments = argv;
  const bool listens = argc == 3 && strcmp(argv[1], "--listen") == 0;
  if (argc != 1 && !listens) {
    return usage();
  }
  signal(SIGPIPE, SIG_IGN);
  die_with_parent();
  announce_crashes();
  const char* kept_client = getenv(kRestarted);
  const char* kept_listener = getenv(kListener);
  bool restarted = kept_client != nullptr && kept_listener != nullptr;
  if (!listens) {
    serve(STDIN_FILENO, STDOUT_FILENO, restarted);
    return 0;
  }
  listener = restarted ? atoi(kept_listener) : bench::listen_at(argv[2]);
  while (true) {
    client = restarted ? atoi(kept_client) : bench::accept_client(listener);
    serve(client, client, restarted);
    close(client);
    restarted = false;
  }
}
