// Intrusive reference counting.
//
// RefCounted has the count inside the object; Ref<T> is the owning pointer. Invariant: an object
// made by make_ref starts at 1 and is deleted by the release that makes the count 0. If
// violated: a use-after-free or a leak. Counts are atomic because the engine runs without the
// GIL.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace uh {

class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;
  virtual ~RefCounted() = default;

  int64_t use_count() const { return count_.load(std::memory_order_relaxed); }
  void retain() { count_.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (drop()) delete this;
  }
  // Retains an object that may be dying: false if its count has already reached 0.
  bool try_retain() {
    int64_t count = count_.load(std::memory_order_relaxed);
    while (count > 0) {
      if (count_.compare_exchange_weak(count, count + 1, std::memory_order_relaxed)) return true;
    }
    return false;
  }

 protected:
  // Decrements the count; true if it was the last reference and the object must be deleted.
  bool drop() { return count_.fetch_sub(1, std::memory_order_acq_rel) == 1; }

 private:
  std::atomic<int64_t> count_{1};
};

template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  // Adopts the reference that `object` already carries.
  static Ref adopt(T* object) {
    Ref ref;
    ref.object_ = object;
    return ref;
  }
  // Adds a reference.
  static Ref share(T* object) {
    if (object) object->retain();
    return adopt(object);
  }
  Ref(const Ref& other) : object_(other.object_) {
    if (object_) object_->retain();
  }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  // A Ref to a derived class converts to a Ref to its base.
  template <class U>
    requires std::is_base_of_v<T, U>
  Ref(Ref<U> other) : object_(other.leak()) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_) object_->release();
  }

  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  // Returns the pointer without releasing it: the caller must release the reference.
  T* leak() { return std::exchange(object_, nullptr); }

 private:
  T* object_ = nullptr;
};

template <class T, class... Args>
Ref<T> make_ref(Args&&... args) {
  return Ref<T>::adopt(new T(std::forward<Args>(args)...));
}

}  // namespace uh
