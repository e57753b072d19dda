// DataPtr: a pointer with a deleter.
//
// {pointer, context, deleter}. The deleter of our memory returns it to its allocator. For memory of
// another owner (a NumPy array) the context is the owner's handle, which the deleter releases.
// Invariant: move-only; the deleter runs exactly once.
#pragma once

#include <cstddef>
#include <utility>

namespace uh {

using Deleter = void (*)(void* context, void* pointer, size_t bytes);

class DataPtr {
 public:
  DataPtr() = default;
  DataPtr(void* pointer, size_t bytes, void* context, Deleter deleter)
      : pointer_(pointer), bytes_(bytes), context_(context), deleter_(deleter) {}
  DataPtr(DataPtr&& other) noexcept { swap(other); }
  DataPtr& operator=(DataPtr&& other) noexcept {
    DataPtr moved(std::move(other));
    swap(moved);
    return *this;
  }
  ~DataPtr() {
    if (deleter_) deleter_(context_, pointer_, bytes_);
  }

  void* get() const { return pointer_; }

 private:
  void swap(DataPtr& other) noexcept {
    std::swap(pointer_, other.pointer_);
    std::swap(bytes_, other.bytes_);
    std::swap(context_, other.context_);
    std::swap(deleter_, other.deleter_);
  }

  void* pointer_ = nullptr;
  size_t bytes_ = 0;
  void* context_ = nullptr;
  Deleter deleter_ = nullptr;
};

}  // namespace uh
