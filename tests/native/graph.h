// Small graphs for the tests of autograd: leaves, gradients, hooks and custom Nodes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "autograd/autograd_meta.h"
#include "autograd/engine.h"
#include "autograd/function_node.h"
#include "check.h"
#include "generated/ops.h"
#include "memory/allocator.h"

namespace uh::test {

using autograd::Gradients;
using autograd::RunOptions;

inline constexpr RunOptions kKeep{true, false, true, true};
inline constexpr RunOptions kAsk{true, false, false, true};  // return gradients of `inputs`
inline constexpr RunOptions kDifferentiable{true, true, false, true};  // recorded themselves

// Returns a vector of doubles that requires a gradient.
Tensor leaf(const std::vector<double>& values);
Tensor constant(const std::vector<double>& values);
Tensor constant_index(const std::vector<int64_t>& values);
std::vector<double> read(const Tensor& t);

// Runs backward from `root`, which has one element.
void backward(const Tensor& root, RunOptions options = {});
Tensor gradient(const Tensor& root, const Tensor& of, RunOptions options = kAsk);
Tensor grad(const Tensor& leaf);

// A hook that calls a function.
class CallHook final : public autograd::Hook {
 public:
  using Body = std::function<void(Tensor* gradients, size_t n)>;
  explicit CallHook(Body body);
  void call(Tensor* gradients, size_t n, const Tensor*, size_t) override { body_(gradients, n); }

 private:
  Body body_;
};
// Adds a hook on the gradient of an operator's result.
int64_t hook(const Tensor& t, CallHook::Body body);

// Returns a copy of `input` with a Node whose backward is this function.
Tensor through(const Tensor& input, std::function<Tensor(const Tensor&)> formula);

// Runs a test and checks that all its storages are freed.
void leaving_nothing(const std::function<void()>& body);

#define GRAPH_TEST(name)                                                                           \
  static void body_of_##name();                                                                    \
  TEST(name) { ::uh::test::leaving_nothing(body_of_##name); }                                      \
  static void body_of_##name()

// Compares numbers: exactly if they are computed in the same way.
void same(const Tensor& result, const std::vector<double>& expected, double tolerance = 1e-12);

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr int64_t kSlower = 10;
#else
inline constexpr int64_t kSlower = 1;
#endif

}  // namespace uh::test
