// SpinLock: one byte that guards a few instructions. For what is touched often and hardly ever by
// two threads at once: the slots of one graph node. Never held across a call that may wait.
#pragma once

#include <atomic>
#include <thread>

namespace uh {

class SpinLock {
 public:
  void lock() {
    while (locked_.exchange(true, std::memory_order_acquire)) std::this_thread::yield();
  }
  void unlock() { locked_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> locked_{false};
};

}  // namespace uh
