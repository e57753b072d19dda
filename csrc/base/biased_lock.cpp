#include "base/biased_lock.h"

#include <thread>

// ThreadSanitizer does not know the barrier.
#if defined(__linux__) && __has_include(<linux/membarrier.h>) && !defined(__SANITIZE_THREAD__)
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>
#define UH_MEMBARRIER(command) syscall(SYS_membarrier, MEMBARRIER_CMD_##command, 0, 0)
#else
#define UH_MEMBARRIER(command) -1L
#endif

namespace uh {

void BiasedLock::bias(const void* thread) {
  // A process may use the barrier once it is registered; a forked one registers again.
  if (UH_MEMBARRIER(REGISTER_PRIVATE_EXPEDITED) == 0)
    owner_.store(thread, std::memory_order_release);
}

void BiasedLock::lock_against_owner() {
  lock_.lock();
  if (!owner_.load(std::memory_order_relaxed)) return;
  owner_.store(nullptr, std::memory_order_relaxed);
  UH_MEMBARRIER(PRIVATE_EXPEDITED);
  while (is_owner_inside_.load(std::memory_order_acquire)) std::this_thread::yield();
}

}  // namespace uh
