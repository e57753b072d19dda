#include "base/parallel.h"

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace uh {
namespace {

thread_local bool t_inside = false;

// The number of cores that this process may use, at most 16; OMP_NUM_THREADS overrides it, as in
// PyTorch.
int default_threads() {
  if (const char* text = std::getenv("OMP_NUM_THREADS")) {
    const int expected = std::atoi(text);
    if (expected > 0) return expected;
  }
  cpu_set_t set;
  CPU_ZERO(&set);
  const int cores = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  return std::clamp(cores, 1, 16);
}

std::atomic<int>& threads() {
  static std::atomic<int> n{default_threads()};
  return n;
}

// Note [Spinning]: waking a sleeping thread takes as long as a small loop runs. A waiting thread
// polls for some 50 microseconds before it sleeps, so that loops in quick succession find the
// workers awake.
template <class Done>
bool spin(const Done& done) {
  constexpr int kLooks = 1000;
  for (int i = 0; i < kLooks; ++i) {
    if (done()) return true;
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  return false;
}

class Pool {
 public:
  // Returns false while another caller's loop uses the pool: then the loop runs serially.
  bool run(detail::ChunkFn fn, const void* body, int64_t chunks) {
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) return false;
    const auto helpers = static_cast<size_t>(chunks - 1);
    while (workers_.size() < helpers) start_worker();
    fn_ = fn;
    body_ = body;
    chunks_ = chunks;
    error_ = nullptr;
    next_.store(0, std::memory_order_relaxed);
    state_.store(kOpen, std::memory_order_release);
    for (size_t i = 0; i < helpers; ++i) {
      workers_[i]->calls.fetch_add(1, std::memory_order_release);
      workers_[i]->calls.notify_one();
    }
    work();
    uint32_t state = state_.fetch_and(~kOpen, std::memory_order_acq_rel) & ~kOpen;
    spin([&] { return (state = state_.load(std::memory_order_acquire)) == 0; });
    while (state != 0) {
      state_.wait(state, std::memory_order_acquire);
      state = state_.load(std::memory_order_acquire);
    }
    if (error_) std::rethrow_exception(error_);
    return true;
  }

 private:
  struct Worker {
    std::atomic<uint32_t> calls{0};  // grows when there is work
  };
  static constexpr uint32_t kOpen = uint32_t{1} << 31;

  // Note [Late workers]: on a busy machine a worker may run only after the caller has run all
  // ranges. The caller does not wait for it: it closes the loop, and waits for those workers alone
  // that have joined it.
  bool join() {
    uint32_t state = state_.load(std::memory_order_relaxed);
    while (state & kOpen)
      if (state_.compare_exchange_weak(state, state + 1, std::memory_order_acq_rel)) return true;
    return false;
  }

  void leave() {
    if (state_.fetch_sub(1, std::memory_order_acq_rel) == 1) state_.notify_one();
  }

  void start_worker() {
    Worker& worker = *workers_.emplace_back(std::make_unique<Worker>());
    std::thread([this, &worker] {
      for (uint32_t seen = 0;;) {
        if (!spin([&] { return worker.calls.load(std::memory_order_relaxed) != seen; }))
          worker.calls.wait(seen, std::memory_order_acquire);
        seen = worker.calls.load(std::memory_order_acquire);
        if (!join()) continue;
        work();
        leave();
      }
    }).detach();
  }

  void work() {
    t_inside = true;
    for (;;) {
      const int64_t chunk = next_.fetch_add(1, std::memory_order_relaxed);
      if (chunk >= chunks_) break;
      try {
        fn_(body_, chunk);
      } catch (...) {
        const std::lock_guard guard(error_mutex_);
        if (!error_) error_ = std::current_exception();
      }
    }
    t_inside = false;
  }

  std::mutex mutex_;  // held for the length of one loop
  std::mutex error_mutex_;
  std::vector<std::unique_ptr<Worker>> workers_;
  detail::ChunkFn fn_ = nullptr;
  const void* body_ = nullptr;
  int64_t chunks_ = 0;
  std::exception_ptr error_;
  std::atomic<int64_t> next_{0};
  std::atomic<uint32_t> state_{0};  // kOpen while ranges may remain, plus the workers in the loop
};

// Never destroyed: its threads sleep until the process ends. A child process makes a new pool, as
// its copy of the parent's is in an unknown state. See Note [Fork].
std::atomic<Pool*> g_pool{nullptr};

Pool& pool() {
  static const bool first = [] {
    g_pool = new Pool;
    pthread_atfork(nullptr, nullptr, [] {
      g_pool = new Pool;
      t_inside = false;
    });
    return true;
  }();
  (void)first;
  return *g_pool.load(std::memory_order_acquire);
}

}  // namespace

int get_num_threads() { return threads().load(std::memory_order_relaxed); }

void set_num_threads(int n) { threads().store(std::max(n, 1), std::memory_order_relaxed); }

bool detail::inside_parallel() { return t_inside; }

void detail::run_chunks(ChunkFn fn, const void* body, int64_t chunks) {
  if (pool().run(fn, body, chunks)) return;
  for (int64_t chunk = 0; chunk < chunks; ++chunk) fn(body, chunk);
}

}  // namespace uh
