// CallSection: the running calls and the objects they use, so that nothing is changed under them.
//
// Note [Calls and changes]: the host calls the core from many threads, and takes no lock. A
// call uses many words of a tensor (sizes, strides, dtype, the Storage and its address), which
// another call may replace: `resize_`, `set_`, `t_`, `x.data = y`, an `out=` that grows.
//   - A call of the C ABI is a CallSection. It names the tensors and Storages that it uses
//     (`use`), or declares that it may use any: a backward pass, a compiled program.
//   - A thread that replaces a tensor's description first makes a Change of the tensor. The
//     Change waits until no other thread's call uses the tensor; calls that then want to use it
//     wait until the Change is over. Memory that several tensors share is replaced in a Change of
//     everything: no other thread is in a call.
//   - While a call runs host code it is outside of its section (OutsideCalls): the host may wait
//     for other threads and may change anything, as between two calls.
//   - No thread waits for a thread that waits here, so there are no deadlocks. A section takes no
//     lock of the host's.
//   - fork() is a Change of everything: when the child is copied, no lock of ours is held and no
//     OpenBLAS product is running.
// Parts that are replaced separately have locks: hooks, `.grad` and history (Meta::lock), hooks of
// Nodes and their saved tensors (Node::lock). Races on elements are left to the user. A tensor with
// a single reference is visible to one thread only: it is changed without waiting.
//
// Invariant: the address that a section names stays alive for the length of the section, through a
// reference that the caller holds. If violated: a Change waits for the wrong call, and freed memory
// is read.
//
// Entering costs a few plain instructions: a section is announced by a store without a fence, and a
// Change has the system run a fence in every thread of the process (membarrier).
#pragma once

#include <atomic>
#include <cstdint>

namespace uh {
namespace calls {

inline constexpr uint32_t kMaxObjects = 8;
inline constexpr uint32_t kAny = kMaxObjects + 1;  // value of the count that means any object

// The objects that one thread's calls use. Written by that thread, read by threads that make
// Changes.
struct State {
  std::atomic<uint32_t> depth{0};  // open sections; 0: outside
  std::atomic<uint32_t> count{0};
  std::atomic<const void*> objects[kMaxObjects]{};
  std::atomic<bool> waiting{false};  // for a Change to end, or for its turn to make one
  // For a thread that waits for its turn and has read objects: `stale` if one was changed since.
  bool has_looked = false, stale = false;
  const void* target = nullptr;
};

// Null before the thread's first call. A single pointer: a library that Python loads shares a small
// space for initial-exec thread-local variables with all others.
extern thread_local constinit State* t_calls __attribute__((tls_model("initial-exec")));
State& first_call();
inline State& state_of_thread() {
  State* state = t_calls;
  return state ? *state : first_call();
}
// True while a Change runs: read by every thread that begins to use an object.
extern std::atomic<bool> g_changing;

#if defined(__SANITIZE_THREAD__)
inline constexpr auto kAnnounce = std::memory_order_seq_cst, kLook = std::memory_order_seq_cst;
inline void compiler_fence() {}
#else
inline constexpr auto kAnnounce = std::memory_order_relaxed, kLook = std::memory_order_acquire;
inline void compiler_fence() { std::atomic_signal_fence(std::memory_order_seq_cst); }
#endif

void enter_slowly();
void use_slowly(uint32_t before);

}  // namespace calls

class CallSection {
 public:
  CallSection()
      : state_(calls::state_of_thread()),
        depth_(state_.depth.load(std::memory_order_relaxed)),
        count_(state_.count.load(std::memory_order_relaxed)) {
    state_.depth.store(depth_ + 1, calls::kAnnounce);
    calls::compiler_fence();
    if (calls::g_changing.load(calls::kLook)) [[unlikely]]
      calls::enter_slowly();
  }
  ~CallSection() {
    state_.count.store(count_, std::memory_order_release);
    state_.depth.store(depth_, std::memory_order_release);
  }
  CallSection(const CallSection&) = delete;
  CallSection& operator=(const CallSection&) = delete;

 private:
  calls::State& state_;
  const uint32_t depth_, count_;
};

namespace calls {

// Called within a section: until its end no other thread changes `object`.
inline void use(const void* object) {
  State& state = state_of_thread();
  const uint32_t before = state.count.load(std::memory_order_relaxed);
  if (before < kMaxObjects) [[likely]] {
    state.objects[before].store(object, std::memory_order_relaxed);
    state.count.store(before + 1, kAnnounce);
  } else {
    state.count.store(kAny, kAnnounce);
  }
  compiler_fence();
  if (g_changing.load(kLook)) [[unlikely]]
    use_slowly(before);
}
// Until the end of the section no other thread changes any object.
void use_any();
// Called within a section that may use any object: lets waiting Changes of other threads run now.
inline void let_changes_in();

}  // namespace calls

// Leaves the section while host code runs: hooks, Functions, foreign deleters.
class OutsideCalls {
 public:
  OutsideCalls()
      : state_(calls::state_of_thread()), depth_(state_.depth.load(std::memory_order_relaxed)) {
    state_.depth.store(0, std::memory_order_release);
  }
  ~OutsideCalls();
  OutsideCalls(const OutsideCalls&) = delete;
  OutsideCalls& operator=(const OutsideCalls&) = delete;

 private:
  calls::State& state_;
  const uint32_t depth_;
};

inline void calls::let_changes_in() {
  if (g_changing.load(std::memory_order_relaxed)) [[unlikely]] {
    const OutsideCalls meanwhile;
  }
}

// Returns the memory that an object describes; set by tensor_impl.cpp.
namespace calls {
extern const void* (*g_memory_of)(const void* object);
}

// Exclusive access to `object` until destroyed; null: no other thread is in any call. Changes nest.
class Change {
 public:
  // has_looked: the call has read other objects that it uses. The constructor then throws if
  // another thread changed one of them while this one waited.
  explicit Change(const void* object, bool has_looked = false)
      : Change(object, nullptr, has_looked) {}
  // Exclusive access to all objects, to replace memory that several of them describe.
  struct Memory {
    const void* address;
  };
  explicit Change(Memory memory) : Change(nullptr, memory.address, false) {}
  ~Change();
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;

 private:
  Change(const void* object, const void* memory, bool has_looked);
};

// Makes fork() wait until no thread is in a call. Must be called after OpenBLAS is loaded: handlers
// run newest first, and OpenBLAS's hangs while a product is running.
void stop_calls_at_fork();

}  // namespace uh
