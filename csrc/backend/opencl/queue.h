// The command queue of a device: it runs what the host enqueues, in that order, asynchronously.
//
// One in-order queue per device. Every command has an event with its status (pending, finished or
// failed) and the times of its profile. Pending commands are stored in order, with the bytes that a
// write still reads.
// Invariant: a failure is thrown once, by the first call that sees it, with the command's name; a
// lost device throws at every call.
// Read next: launch.h (kernels), transfer.cpp (copies).
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include "backend/opencl/api.h"
#include "base/device.h"
#include "memory/device_registry.h"

namespace uh::opencl {

enum class CommandKind : int8_t { kKernel, kWrite, kRead, kCopy, kNewBuffer };

// A description of a command, for errors and for the recorder.
struct Command {
  CommandKind kind;
  const char* name;   // of the operator or the transfer; outlives the command
  int64_t bytes = 0;  // that a transfer moves
  const void* from = nullptr;
  const void* to = nullptr;
  bool pinned = false;  // the host's side of a transfer is pinned memory
  int64_t program = 0;  // of a kernel: the number of its source
  size_t items = 0;     // of a kernel: work items, and how many of them are a group
  size_t group = 0;
};

class Queue {
 public:
  Queue(Device device, cl_context context, cl_device_id id);
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  Device device() const { return device_; }
  cl_command_queue handle() const { return handle_; }
  // Held while a kernel gets its arguments and is enqueued: kernels have one set of arguments.
  std::mutex& lock() { return lock_; }

  // Enqueues a command by enqueue(event), which returns a status; the caller holds `lock`.
  // `bytes` are freed when the command has finished.
  template <class F>
  void add_locked(const Command& command, F&& enqueue, std::unique_ptr<std::byte[]> bytes = {}) {
    before_command();
    const uint64_t before = clock_ns();
    cl_event event = nullptr;
    const cl_int status = enqueue(&event);
    if (status != kSuccess) [[unlikely]]
      enqueue_failed(command, status);
    after_command(command, event, before, std::move(bytes));
  }
  template <class F>
  void add(const Command& command, F&& enqueue, std::unique_ptr<std::byte[]> bytes = {}) {
    const std::lock_guard guard(lock_);
    add_locked(command, std::forward<F>(enqueue), std::move(bytes));
  }
  // The event of the last enqueued command, which the caller releases; null: all have finished.
  cl_event last_event();

  // Throws the failure since the last call, if any.
  void check_failures();
  // Waits for everything enqueued so far. `reason` is recorded: a literal.
  void finish(const char* reason);
  // The same, but leaves a failure to the next call.
  void settle();
  // The same for one event (which the caller owns).
  void wait(cl_event event, const char* reason);
  // Marks the current end of the queue. The queue outlives the event.
  std::unique_ptr<DeviceEvent> mark();
  // The number of commands that have not finished.
  size_t pending();

 private:
  struct Pending {
    cl_event event;
    const char* name;
    int64_t number;   // of the command in the recording, or 0: it is not recorded
    uint64_t before;  // the host's clock around the call that enqueued it
    uint64_t after;
    std::unique_ptr<std::byte[]> bytes;
  };

  static uint64_t clock_ns() {
    return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                     std::chrono::steady_clock::now().time_since_epoch())
                                     .count());
  }
  void before_command();
  [[noreturn]] void enqueue_failed(const Command& command, cl_int status);
  void after_command(const Command& command, cl_event event, uint64_t before,
                     std::unique_ptr<std::byte[]> bytes);
  void forget_completed();
  void record_profile(const Pending& command);
  void note_failure(const char* name, cl_int status);
  void throw_failure();

  const Device device_;
  cl_command_queue handle_ = nullptr;
  std::mutex lock_;
  std::deque<Pending> pending_;
  std::string failure_;  // of a command that has been enqueued; thrown by the next call
  ErrorKind failure_kind_ = ErrorKind::kRuntime;
  bool lost_ = false;
  bool calibrated_ = false;
  int64_t clock_offset_ = 0;  // the recorder's clock minus the device's
};

// The number of times that the host has waited for a device.
int64_t host_waits();

}  // namespace uh::opencl
