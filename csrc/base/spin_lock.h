// SpinLock: a one-byte lock for a few instructions and rare contention, such as the slots of a
// graph node. Never held across a call that may wait.
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
