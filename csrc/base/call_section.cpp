#include "base/call_section.h"

#include <pthread.h>
#include <sys/mman.h>
#if __has_include(<linux/membarrier.h>)
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"

namespace uh {
namespace calls {

thread_local constinit State* t_calls __attribute__((tls_model("initial-exec"))) = nullptr;
std::atomic<bool> g_changing{false};
const void* (*g_memory_of)(const void* object) = nullptr;

namespace {

// State of all Changes: the running one, its thread, and the threads that it waits for.
struct Maker {
  std::mutex turn;  // held for the length of a Change
  std::atomic<State*> owner{nullptr};
  std::mutex lock;                   // guards the members below
  std::vector<State*> threads;       // all that have ever entered a call
  std::vector<const void*> targets;  // of the running Changes; null: every object
  uint32_t depth = 0;                // number of nested Changes
};
Maker& maker() {
  static auto* const instance = new Maker;
  return *instance;
}

// State of threads that are ending, whose last objects are being destroyed; no thread reads it.
State g_ended;

// Registers a thread's State, and removes it when the thread ends. The State is on the heap: the
// thread-local memory of all libraries shares a small space (t_calls).
struct Registration {
  Registration() {
    Maker& m = maker();
    const std::lock_guard guard(m.lock);
    m.threads.push_back(state.get());
    t_calls = state.get();
  }
  ~Registration() {
    Maker& m = maker();
    const std::lock_guard guard(m.lock);
    std::erase(m.threads, state.get());
    t_calls = &g_ended;
  }
  const std::unique_ptr<State> state = std::make_unique<State>();
};

bool names(const State& state, const void* object) {
  const uint32_t count = state.count.load(std::memory_order_acquire);
  if (count > kMaxObjects) return true;
  for (uint32_t i = 0; i < count; ++i)
    if (state.objects[i].load(std::memory_order_relaxed) == object) return true;
  return false;
}

// True if `target` may be changed only after that thread's call has ended.
bool in_the_way(const State& state, const void* target) {
  if (state.depth.load(std::memory_order_acquire) == 0) return false;
  if (state.waiting.load(std::memory_order_acquire)) return false;
  return !target || names(state, target);
}

// True if a thread that waits for its turn has read the object or memory that is being changed.
bool has_looked_at(const State& state, const void* object, const void* memory) {
  if (!state.waiting.load(std::memory_order_acquire) || !state.has_looked) return false;
  const uint32_t count = state.count.load(std::memory_order_relaxed);
  if (count > kMaxObjects) return object != state.target;
  for (uint32_t i = 0; i < count; ++i) {
    const void* seen = state.objects[i].load(std::memory_order_relaxed);
    if (seen == state.target) continue;
    if (seen == object || (memory && g_memory_of(seen) == memory)) return true;
  }
  return false;
}

// Runs a memory fence in all threads of the process: their earlier stores are visible afterwards.
void fence_everywhere() {
#if !defined(__SANITIZE_THREAD__)
#if __has_include(<linux/membarrier.h>)
  static const bool registered =
      syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
  if (registered && syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0) return;
#endif
  // Tightening a page's protection makes the kernel interrupt every processor (TLB shootdown).
  static void* const page =
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  static std::mutex one_at_a_time;
  const std::lock_guard guard(one_at_a_time);
  mprotect(page, 4096, PROT_READ | PROT_WRITE);
  *static_cast<volatile char*>(page) = 1;
  mprotect(page, 4096, PROT_READ);
#endif
}

class Patience {
 public:
  void wait() {
    if (++looks_ < 64)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(looks_ < 256 ? 20 : 500));
  }

 private:
  int looks_ = 0;
};

// True if another thread is changing an object that this thread uses.
bool is_changed() {
  if (!g_changing.load(std::memory_order_acquire)) return false;
  Maker& m = maker();
  const std::lock_guard guard(m.lock);
  if (m.owner.load(std::memory_order_relaxed) == &state_of_thread()) return false;
  return std::any_of(m.targets.begin(), m.targets.end(), [&](const void* target) {
    return !target || names(state_of_thread(), target);
  });
}

// Stops blocking Changes until no object that this thread uses is being changed.
void wait_until_changed() {
  State& self = state_of_thread();
  for (Patience patience; is_changed();) {
    self.waiting.store(true, std::memory_order_seq_cst);
    while (is_changed()) patience.wait();
    self.waiting.store(false, std::memory_order_seq_cst);
  }
}

}  // namespace

State& first_call() {
  thread_local Registration registration;
  return *registration.state;
}

void enter_slowly() {
  const State& self = state_of_thread();
  if (self.depth.load(std::memory_order_relaxed) > 1) return;  // Changes await the outer section
  wait_until_changed();
}

void use_slowly(uint32_t before) {
  State& self = state_of_thread();
  if (before > kMaxObjects) return;
  if (self.count.load(std::memory_order_relaxed) <= kMaxObjects) {
    // Already used in this call: a thread that changes it is waiting for this one.
    const void* object = self.objects[before].load(std::memory_order_relaxed);
    for (uint32_t i = 0; i < before; ++i)
      if (self.objects[i].load(std::memory_order_relaxed) == object) return;
  }
  wait_until_changed();
}

void use_any() {
  State& self = state_of_thread();
  const uint32_t before = self.count.load(std::memory_order_relaxed);
  self.count.store(kAny, kAnnounce);
  compiler_fence();
  if (g_changing.load(kLook)) [[unlikely]]
    use_slowly(before);
}

}  // namespace calls

OutsideCalls::~OutsideCalls() {
  using namespace calls;
  state_.depth.store(depth_, kAnnounce);
  compiler_fence();
  if (depth_ > 0 && g_changing.load(kLook)) [[unlikely]]
    wait_until_changed();
}

Change::Change(const void* object, const void* memory, bool has_looked) {
  using namespace calls;
  Maker& m = maker();
  State& self = state_of_thread();
  const bool nested = m.owner.load(std::memory_order_relaxed) == &self;
  if (!nested) {
    self.target = object;
    self.has_looked = has_looked;
    self.stale = false;
    self.waiting.store(true, std::memory_order_seq_cst);
    m.turn.lock();
    self.waiting.store(false, std::memory_order_seq_cst);
    if (self.stale) {
      m.turn.unlock();
      fail(ErrorKind::kRuntime,
           "a tensor that this call reads was resized by another thread while the call waited to "
           "resize its result: threads that do so need a lock");
    }
    m.owner.store(&self, std::memory_order_relaxed);
  }
  {
    const std::lock_guard guard(m.lock);
    m.targets.push_back(object);
    ++m.depth;
    g_changing.store(true, std::memory_order_seq_cst);
    if (m.threads.size() == 1) return;  // only this thread
  }
  fence_everywhere();
  for (Patience patience;; patience.wait()) {
    const std::lock_guard guard(m.lock);  // a thread that ends removes itself from the list
    const bool busy = std::any_of(m.threads.begin(), m.threads.end(), [&](const State* other) {
      return other != &self && in_the_way(*other, object);
    });
    if (busy) continue;
    for (State* other : m.threads)
      if (other != &self && has_looked_at(*other, object, memory)) other->stale = true;
    return;
  }
}

Change::~Change() {
  using namespace calls;
  Maker& m = maker();
  {
    const std::lock_guard guard(m.lock);
    m.targets.pop_back();
    if (--m.depth > 0) return;
    m.owner.store(nullptr, std::memory_order_relaxed);
    g_changing.store(false, std::memory_order_release);
  }
  m.turn.unlock();
}

// ---- fork

namespace {

Change* t_fork = nullptr;  // held by the thread that forks, which has the turn

void before_fork() {
  t_fork = new Change(nullptr);
  calls::maker().lock.lock();
}
void after_fork() {
  calls::maker().lock.unlock();
  delete std::exchange(t_fork, nullptr);
}
void after_fork_in_child() {
  // The child process has only the thread that forked.
  std::erase_if(calls::maker().threads,
                [](auto* state) { return state != &calls::state_of_thread(); });
  after_fork();
}

}  // namespace

void stop_calls_at_fork() {
  static const int registered = pthread_atfork(before_fork, after_fork, after_fork_in_child);
  (void)registered;
}

}  // namespace uh
