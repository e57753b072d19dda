// Sizes and strides: short vectors of int64, in elements, stored inline up to rank 6.
//
// Invariant: sizes are >= 0; their product fits int64 (checked_numel throws otherwise).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace uh {

using IntSpan = std::span<const int64_t>;

// A vector of int64 without a heap allocation up to kInline entries.
class Dims {
 public:
  static constexpr size_t kInline = 6;

  Dims() = default;
  explicit Dims(size_t n, int64_t fill = 0) { resize(n, fill); }
  Dims(std::initializer_list<int64_t> values) : Dims(IntSpan(values.begin(), values.size())) {}
  Dims(IntSpan values) {
    resize(values.size());
    if (!values.empty()) std::memcpy(data(), values.data(), values.size() * sizeof(int64_t));
  }
  Dims(const Dims& other) : size_(other.size_) {
    if (size_ <= kInline) [[likely]] {
      std::memcpy(inline_, other.data(), sizeof inline_);  // all: a few vector moves, no call
    } else {
      size_ = 0;
      *this = Dims(IntSpan(other));
    }
  }
  Dims(Dims&& other) noexcept { take(other); }
  Dims& operator=(const Dims& other) {
    if (this != &other) *this = Dims(other);
    return *this;
  }
  Dims& operator=(Dims&& other) noexcept {
    if (this != &other) {
      delete[] heap_;
      take(other);
    }
    return *this;
  }
  ~Dims() { delete[] heap_; }

  size_t size() const { return size_; }
  int64_t ndim() const { return static_cast<int64_t>(size_); }
  bool empty() const { return size_ == 0; }
  int64_t* data() { return heap_ ? heap_ : inline_; }
  const int64_t* data() const { return heap_ ? heap_ : inline_; }
  int64_t& operator[](size_t i) { return data()[i]; }
  int64_t operator[](size_t i) const { return data()[i]; }
  int64_t* begin() { return data(); }
  int64_t* end() { return data() + size_; }
  const int64_t* begin() const { return data(); }
  const int64_t* end() const { return data() + size_; }
  int64_t back() const { return data()[size_ - 1]; }
  operator IntSpan() const { return {data(), size_}; }

  void resize(size_t n, int64_t fill = 0) {
    if (n > capacity_) grow(n);
    for (size_t i = size_; i < n; ++i) data()[i] = fill;
    size_ = static_cast<uint32_t>(n);
  }
  void push_back(int64_t value) { resize(size_ + 1, value); }
  void insert(size_t at, int64_t value) {
    push_back(value);
    for (size_t i = size_ - 1; i > at; --i) data()[i] = data()[i - 1];
    data()[at] = value;
  }
  void erase(size_t at) {
    for (size_t i = at; i + 1 < size_; ++i) data()[i] = data()[i + 1];
    --size_;
  }

 private:
  void grow(size_t n) {
    const size_t capacity = n > 2 * size_t{capacity_} ? n : 2 * size_t{capacity_};
    auto* bigger = new int64_t[capacity];
    if (size_) std::memcpy(bigger, data(), size_ * sizeof(int64_t));
    delete[] heap_;
    heap_ = bigger;
    capacity_ = static_cast<uint32_t>(capacity);
  }
  void take(Dims& other) {
    heap_ = std::exchange(other.heap_, nullptr);
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, kInline);
    if (!heap_) std::memcpy(inline_, other.inline_, sizeof inline_);
  }

  uint32_t size_ = 0;
  uint32_t capacity_ = kInline;
  int64_t* heap_ = nullptr;
  int64_t inline_[kInline] = {};
};

inline bool operator==(const Dims& a, const Dims& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
}

// "[2, 3]": sizes as PyTorch's messages print them.
std::string to_string(IntSpan values);
inline std::ostream& operator<<(std::ostream& out, const Dims& d) { return out << to_string(d); }

// A span as an argument of check(), formatted only if the check fails.
struct Printed {
  IntSpan values;
};
inline Printed printed(IntSpan values) { return {values}; }
inline std::ostream& operator<<(std::ostream& out, Printed s) { return out << to_string(s.values); }

// The product of the sizes; throws when one is negative or the product overflows int64.
int64_t checked_numel(IntSpan sizes, std::string_view op);
inline int64_t numel_of(IntSpan sizes) {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  return n;
}

// Row-major strides in elements: the last dimension has stride 1.
Dims contiguous_strides(IntSpan sizes);

// Turns a dimension in [-ndim, ndim) into [0, ndim); a 0-d tensor accepts -1 and 0.
int64_t wrap_dim(int64_t dim, int64_t ndim, std::string_view op = "");

// The shape that two shapes broadcast to, aligned at the right.
Dims broadcast_shapes(IntSpan a, IntSpan b);

}  // namespace uh
