#include "base/biased_lock.h"

#include <thread>

// ThreadSanitizer does not know the barrier.
#if defined(__linux__) && __has_include(<linux/membarrier.h>) && !defined(__SANITIZE_THREAD__)
#define UH_HAS_MEMBARRIER
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace uh {
namespace {

// Returns whether this process may use the barrier; a forked one asks again.
bool may_use_barrier() {
#ifdef UH_HAS_MEMBARRIER
  return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
#else
  return false;
#endif
}

void barrier_in_all_threads() {
#ifdef UH_HAS_MEMBARRIER
  syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
#endif
}

}  // namespace

void BiasedLock::bias(const void* thread) {
  if (may_use_barrier()) owner_.store(thread, std::memory_order_release);
}

void BiasedLock::lock_against_owner() {
  lock_.lock();
  if (!owner_.load(std::memory_order_relaxed)) return;
  owner_.store(nullptr, std::memory_order_relaxed);
  barrier_in_all_threads();
  while (is_owner_inside_.load(std::memory_order_acquire)) std::this_thread::yield();
}

}  // namespace uh
