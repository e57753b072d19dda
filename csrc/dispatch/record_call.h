// The events of a recorded operator call: OP_ENTER with its arguments, HOPs, OP_EXIT or ERROR.
//
// Note [Recorded arguments]: the blob of OP_ENTER is a stream of int64, per argument a tag and its
// payload, in schema order: 0 none; 1 tensor id; 2 int; 3 double bits; 4 bool; 5 int list (n, ...);
// 6 string id; 7 tensor list (n, ids...); 8 dtype; 9 device; 10 double list (n, bits...);
// 11 complex (bits of the real and of the imaginary part).
#pragma once

#include <bit>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "tensor/call_scope.h"
#include "tensor/tensor.h"

namespace uh {

class OperatorInfo;

void record_hop(const OperatorInfo& op, Key key, KeySet keys);

// A buffer of words with room on the stack for most calls: a recorded call should not allocate.
class WordStream {
 public:
  void push(int64_t word) {
    if (n_ < kInline) {
      inline_[n_++] = word;
      return;
    }
    if (n_ == kInline) spilled_.assign(inline_, inline_ + n_);
    spilled_.push_back(word);
    ++n_;
  }
  size_t size() const { return n_; }
  const int64_t* data() const { return n_ > kInline ? spilled_.data() : inline_; }

 private:
  static constexpr size_t kInline = 32;
  int64_t inline_[kInline];
  size_t n_ = 0;
  std::vector<int64_t> spilled_;
};

// The recording of one call; ended by leave() or failed().
class CallRecord {
 public:
  explicit CallRecord(const OperatorInfo& op);
  ~CallRecord();

  // Not inline: every signature has a recorded call, whose code is the calls of these.
  void argument(const Tensor& t);
  void argument(const Operand& o);
  void argument(bool v);
  void argument(int64_t v);
  void argument(double v);
  void argument(DType v);
  void argument(Device v);
  void argument(MemoryFormat v);
  void argument(const Scalar& s);
  void argument(const Dims& dims);
  void argument(const std::string& text);
  void argument(const std::vector<Tensor>& list);
  void argument(const std::vector<double>& list);
  template <class T>
  void argument(const std::optional<T>& v) {
    v ? argument(*v) : none();
  }

  void enter();

  void result(const Tensor& t);
  void result(const std::vector<Tensor>& list);
  template <class... T>
  void result(const std::tuple<T...>& values) {
    std::apply([&](const auto&... v) { (result(v), ...); }, values);
  }
  template <class T>
  void result(const T&) {}

  void leave();
  void failed(const Error& error);

 private:
  void none();
  void put(int64_t tag) {
    arguments_.push(tag);
    ++n_args_;
  }
  void put(int64_t tag, int64_t payload) {
    put(tag);
    arguments_.push(payload);
  }

  int64_t op_;
  int64_t call_;
  int64_t n_args_ = 0;
  WordStream arguments_;
  WordStream results_;
  std::optional<CallScope> scope_;
};

}  // namespace uh
