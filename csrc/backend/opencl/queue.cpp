#include "backend/opencl/queue.h"

#include <atomic>

#include "backend/opencl/platform.h"
#include "base/json.h"
#include "events/recorder.h"
#include "tensor/call_scope.h"

namespace uh::opencl {
namespace {

constexpr size_t kMaxPending = 1024;  // beyond this, the host waits for half of them

std::atomic<int64_t> g_commands{0};
std::atomic<int64_t> g_waits{0};

// The statuses that drivers return for the queue of a lost device.
bool means_lost(cl_int status) { return status == kDeviceNotAvailable || status == kInvalidQueue; }

const char* kind_name(CommandKind kind) {
  switch (kind) {
    case CommandKind::kKernel: return "kernel";
    case CommandKind::kWrite: return "host to device";
    case CommandKind::kRead: return "device to host";
    case CommandKind::kCopy: return "device to device";
    case CommandKind::kNewBuffer: return "new buffer";
  }
  return "";
}

// Note [Recorded commands]: COMMAND is emitted when a command is enqueued, COMMAND_END when the
// host learns that it has finished. COMMAND_END has the four times of the command's profile on the
// recorder's clock: the device's clock plus an offset. The offset changes only if, by it, a command
// was not queued within the call that enqueued it.
int64_t record_command(Device device, const Command& command) {
  const int64_t number = g_commands.fetch_add(1) + 1;
  JsonWriter json;
  json.begin_object().member("kind", kind_name(command.kind)).member("name", command.name);
  if (command.kind == CommandKind::kKernel) {
    json.member("program", command.program)
        .member("items", command.items)
        .member("group", command.group);
  } else {
    json.member("from", reinterpret_cast<int64_t>(command.from))
        .member("to", reinterpret_cast<int64_t>(command.to))
        .member("pinned", command.pinned);
  }
  const std::string text = json.end_object().take();
  events::emit_blob(events::Kind::kCOMMAND, number, current_call(), device.code(), command.bytes,
                    text.data(), text.size());
  return number;
}

class Mark final : public DeviceEvent {
 public:
  Mark(Queue& queue, cl_event event) : queue_(queue), event_(event) {}
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;
  ~Mark() override {
    if (!is_forked()) api().ReleaseEvent(event_);
  }

  bool reached() override {
    check_not_forked();
    cl_int status = kComplete;
    check_status(api().GetEventInfo(event_, kEventStatus, sizeof status, &status, nullptr),
                 name(queue_.device()), ": asking for an event");
    if (status > kComplete) return false;
    queue_.check_failures();
    return true;
  }
  void wait() override {
    if (!reached()) queue_.wait(event_, "an event");
    queue_.check_failures();
  }
  int64_t time() override {
    check_not_forked();
    int64_t end = 0;
    check_status(api().GetEventProfilingInfo(event_, kProfilingQueued + 3, sizeof end, &end, nullptr),
                 name(queue_.device()), ": the time of an event");
    return end;
  }

 private:
  Queue& queue_;
  const cl_event event_;
};

}  // namespace

int64_t host_waits() { return g_waits.load(); }

Queue::Queue(Device device, cl_context context, cl_device_id id) : device_(device) {
  cl_int status = kSuccess;
  handle_ = api().CreateCommandQueue(context, id, kQueueProfiling, &status);
  check_status(status, name(device_), ": making a command queue");
}

void Queue::note_failure(const char* command, cl_int status) {
  lost_ = lost_ || means_lost(status);
  if (!failure_.empty()) return;  // later failures follow from the first
  failure_kind_ = error_kind(status);
  failure_ = message(name(device_), ": ", command,
                     ", which was enqueued earlier, failed on the device: ", status_name(status),
                     "; its result is undefined");
}

void Queue::throw_failure() {
  if (!failure_.empty()) throw Error(failure_kind_, std::exchange(failure_, {}));
  check(!lost_, name(device_),
        ": the device was lost: its tensors have no values any more. "
        "Tensors on the host are intact; start the program again to use the device");
}

void Queue::enqueue_failed(const Command& command, cl_int status) {
  lost_ = lost_ || means_lost(status);
  fail(error_kind(status), name(device_), ": ", command.name,
       " could not be enqueued: ", status_name(status),
       lost_ ? "; the device was lost, and its tensors have no values any more" : "");
}

void Queue::before_command() {
  forget_completed();
  throw_failure();
  if (pending_.size() < kMaxPending) return;
  const cl_event event = pending_[kMaxPending / 2].event;
  api().RetainEvent(event);
  wait(event, "the queue is full");
  api().ReleaseEvent(event);
  forget_completed();
  throw_failure();
}

void Queue::after_command(const Command& command, cl_event event, uint64_t before,
                          std::unique_ptr<std::byte[]> bytes) {
  const int64_t number = events::on() ? record_command(device_, command) : 0;
  pending_.push_back({event, command.name, number, before, clock_ns(), std::move(bytes)});
  // Until then, drivers may hold commands back.
  check_status(api().Flush(handle_), name(device_), ": ", command.name, ": submitting it");
}

void Queue::record_profile(const Pending& command) {
  if (command.number == 0 || !events::on()) return;
  int64_t times[4];
  for (cl_uint i = 0; i < 4; ++i) {
    const cl_int status = api().GetEventProfilingInfo(command.event, kProfilingQueued + i,
                                                      sizeof times[i], &times[i], nullptr);
    if (status != kSuccess) return;  // the driver does not profile: no end is recorded
  }
  const auto before = static_cast<int64_t>(command.before);
  const auto after = static_cast<int64_t>(command.after);
  if (!calibrated_ || times[0] + clock_offset_ < before) clock_offset_ = before - times[0];
  if (times[0] + clock_offset_ > after) clock_offset_ = after - times[0];
  calibrated_ = true;
  for (int64_t& time : times) time += clock_offset_;
  events::emit(events::Kind::kCOMMAND_END, command.number, times[0], times[1], times[2], times[3]);
}

void Queue::forget_completed() {
  while (!pending_.empty()) {
    const Pending& oldest = pending_.front();
    cl_int status = kComplete;
    const cl_int queried =
        api().GetEventInfo(oldest.event, kEventStatus, sizeof status, &status, nullptr);
    if (queried == kSuccess && status > kComplete) return;  // queued, submitted or running
    if (queried != kSuccess || status < kComplete)
      note_failure(oldest.name, queried != kSuccess ? queried : status);
    else
      record_profile(oldest);
    api().ReleaseEvent(oldest.event);
    pending_.pop_front();
  }
}

cl_event Queue::last_event() {
  const std::lock_guard guard(lock_);
  if (pending_.empty()) return nullptr;
  api().RetainEvent(pending_.back().event);
  return pending_.back().event;
}

void Queue::wait(cl_event event, const char* reason) {
  const int64_t number = g_waits.fetch_add(1) + 1;
  if (events::on())
    events::emit(events::Kind::kHOST_WAIT, number, current_call(), device_.code(),
                 events::intern(reason));
  const cl_int status = api().WaitForEvents(1, &event);
  if (events::on()) events::emit(events::Kind::kHOST_WAIT_END, number);
  // Not thrown here: forget_completed() finds the failed command, and so its name.
  if (status != kSuccess && means_lost(status)) lost_ = true;
}

void Queue::check_failures() {
  const std::lock_guard guard(lock_);
  forget_completed();
  throw_failure();
}

void Queue::finish(const char* reason) {
  if (const cl_event event = last_event()) {
    wait(event, reason);
    api().ReleaseEvent(event);
  }
  check_failures();
}

void Queue::settle() {
  if (const cl_event event = last_event()) {
    wait(event, "the recording ends");
    api().ReleaseEvent(event);
  }
  const std::lock_guard guard(lock_);
  forget_completed();
}

std::unique_ptr<DeviceEvent> Queue::mark() {
  const std::lock_guard guard(lock_);
  before_command();
  const uint64_t before = clock_ns();
  cl_event event = nullptr;
  check_status(api().EnqueueMarkerWithWaitList(handle_, 0, nullptr, &event), name(device_),
               ": marking the end of the queue");
  api().RetainEvent(event);
  auto mark = std::make_unique<Mark>(*this, event);
  pending_.push_back({event, "an event", 0, before, clock_ns(), {}});
  check_status(api().Flush(handle_), name(device_), ": submitting an event");
  return mark;
}

size_t Queue::pending() {
  const std::lock_guard guard(lock_);
  forget_completed();
  return pending_.size();
}

}  // namespace uh::opencl
