// A lock that one thread takes without an atomic exchange, as long as no other thread wants it.
//
// An exchange waits until all earlier stores are done, which costs as much as the rest of a short
// section. So the lock may have an owner, which says by an ordinary store that it is inside.
// Another thread that wants the lock ends the ownership: it asks the system for a barrier in all
// threads of the process (membarrier(2)), which the owner therefore does without. After that
// barrier either the owner sees that it is none any more, or its store is seen here. Without that
// system call no thread becomes the owner, and this is a SpinLock.
#pragma once

#include <atomic>

#include "base/spin_lock.h"

namespace uh {

class BiasedLock {
 public:
  // `thread` is the address of some thread-local object, the same at every call. Returns whether
  // the lock was taken as its owner, which unlock() has to know.
  bool lock(const void* thread) {
    if (owner_.load(std::memory_order_relaxed) == thread) {
      is_owner_inside_.store(true, std::memory_order_relaxed);
      std::atomic_signal_fence(std::memory_order_seq_cst);
      if (owner_.load(std::memory_order_acquire) == thread) [[likely]]
        return true;
      is_owner_inside_.store(false, std::memory_order_release);
    }
    lock_against_owner();
    return false;
  }
  void unlock(bool as_owner) {
    if (as_owner)
      is_owner_inside_.store(false, std::memory_order_release);
    else
      lock_.unlock();
  }

  // Makes the calling thread, which has the lock, its owner.
  void bias(const void* thread);

 private:
  void lock_against_owner();

  SpinLock lock_;
  std::atomic<const void*> owner_{nullptr};
  std::atomic<bool> is_owner_inside_{false};
};

class BiasedGuard {
 public:
  BiasedGuard(BiasedLock& lock, const void* thread) : lock_(lock), as_owner_(lock.lock(thread)) {}
  ~BiasedGuard() { lock_.unlock(as_owner_); }
  BiasedGuard(const BiasedGuard&) = delete;

 private:
  BiasedLock& lock_;
  const bool as_owner_;
};

}  // namespace uh
