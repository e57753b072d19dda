// SmallVector: a vector whose first N elements need no heap; used by graph nodes.
//
// Invariant: elements [0, size) are alive; up to N of them are stored inline.
// Move-only: its elements own resources.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <utility>

namespace uh {

template <class T, size_t N>
class SmallVector {
 public:
  SmallVector() = default;
  explicit SmallVector(size_t n) { resize(n); }
  SmallVector(SmallVector&& other) noexcept { take(other); }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this != &other) {
      clear();
      take(other);
    }
    return *this;
  }
  ~SmallVector() { clear(); }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& back() { return data_[size_ - 1]; }

  template <class... Args>
  T& emplace_back(Args&&... args) {
    if (size_ == capacity_) grow(2 * capacity_);
    T* result = new (data_ + size_) T(std::forward<Args>(args)...);
    ++size_;
    return *result;
  }
  void push_back(T value) { emplace_back(std::move(value)); }
  void resize(size_t n) {
    if (n > capacity_) grow(n);
    while (size_ < n) emplace_back();
    while (size_ > n) data_[--size_].~T();
  }
  void clear() {
    resize_to_nothing();
    if (data_ != inline_data()) ::operator delete(data_);
    data_ = inline_data();
    capacity_ = N;
  }

 private:
  T* inline_data() { return reinterpret_cast<T*>(inline_); }
  void resize_to_nothing() {
    while (size_) data_[--size_].~T();
  }
  void grow(size_t capacity) {
    T* bigger = static_cast<T*>(::operator new(capacity * sizeof(T)));
    std::uninitialized_move_n(data_, size_, bigger);
    std::destroy_n(data_, size_);
    if (data_ != inline_data()) ::operator delete(data_);
    data_ = bigger;
    capacity_ = capacity;
  }
  void take(SmallVector& other) {
    if (other.data_ != other.inline_data()) {
      data_ = std::exchange(other.data_, other.inline_data());
      capacity_ = std::exchange(other.capacity_, N);
      size_ = std::exchange(other.size_, 0);
      return;
    }
    data_ = inline_data();
    std::uninitialized_move_n(other.data_, other.size_, data_);
    size_ = other.size_;
    other.resize_to_nothing();
  }

  T* data_ = inline_data();
  size_t size_ = 0, capacity_ = N;
  alignas(T) std::byte inline_[N * sizeof(T)];
};

}  // namespace uh
