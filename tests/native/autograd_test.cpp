// The graph and the backward pass: recording, execution, saved values and their release.
#include <cmath>

#include "backend/cpu/allocator.h"
#include "graph.h"
#include "recording.h"

namespace uh {
namespace {

using namespace uh::test;
using autograd::grad_fn;

int64_t live() { return pool_allocator().stats().live_bytes; }

GRAPH_TEST(a_diamond_sums_what_comes_from_both_sides) {
  const Tensor x = leaf({0.5, -2});
  const Tensor square = ops::mul(x, x);
  const Tensor left = ops::mul(square, Scalar(3)), right = ops::sin(square);
  int passed = 0;
  hook(square, [&](Tensor*, size_t) { ++passed; });
  backward(ops::sum(ops::add(left, right)));
  CHECK_EQ(passed, 1);  // both gradients arrive before the Node runs
  same(grad(x), {2 * 0.5 * (3 + std::cos(0.25)), 2 * -2 * (3 + std::cos(4.0))});
}

GRAPH_TEST(a_node_of_several_outputs_takes_zeros_for_those_that_are_not_used) {
  const Tensor x = leaf({1, 2, 3, 4});
  const std::vector<Tensor> rows = ops::unbind(ops::view(x, Dims{2, 2}), 0);
  CHECK(grad_fn(rows[0]).get() == grad_fn(rows[1]).get());
  backward(ops::sum(ops::mul(rows[1], rows[1])));
  same(grad(x), {0, 0, 6, 8});
  const auto [values, indices] = ops::topk(x, 2);
  CHECK(!autograd::requires_grad(indices));
  same(gradient(ops::sum(values), x), {0, 0, 1, 1});
  const auto [variance, mean] = ops::var_mean(x);
  same(gradient(mean, x), {0.25, 0.25, 0.25, 0.25});
  same(gradient(variance, x), {-1, -1. / 3, 1. / 3, 1}, 1e-9);
}

GRAPH_TEST(gradients_of_several_passes_add_up_in_one_place) {
  const Tensor x = leaf({1, 2});
  const Tensor y = ops::sum(ops::mul(x, Scalar(3)));
  backward(y, kKeep);
  const void* address = grad(x).data_as<double>();
  const Tensor first = grad(x);
  backward(y, kKeep);
  same(grad(x), {6, 6});
  CHECK(grad(x).data_as<double>() == address, "the second gradient was not added in place");
  same(first, {6, 6});
  autograd::set_grad(x, Tensor());
  backward(y);
  same(grad(x), {3, 3});
}

GRAPH_TEST(a_graph_runs_again_only_when_it_was_kept) {
  const Tensor x = leaf({1, 2});
  const Tensor y = ops::sum(ops::mul(x, x));
  backward(y, kKeep);
  backward(y);
  CHECK_FAILS(backward(y), "backward through the graph a second time");
  same(grad(x), {4, 8});                      // a rejected backward pass adds nothing
  const Tensor z = ops::sum(ops::add(x, x));  // saves nothing that could be released
  backward(z);
  backward(z);
}

GRAPH_TEST(gradients_that_are_recorded_have_gradients) {
  const Tensor x = leaf({0.5, -2});
  const Tensor y = ops::sum(ops::mul(ops::mul(x, x), ops::sin(x)));
  const Tensor first = gradient(y, x, kDifferentiable);
  CHECK(autograd::requires_grad(first));
  const Tensor second = gradient(ops::sum(first), x, kDifferentiable);
  const auto expected = [](double v) {
    return 2 * std::sin(v) + 4 * v * std::cos(v) - v * v * std::sin(v);
  };
  same(second, {expected(0.5), expected(-2)});
  CHECK(!autograd::requires_grad(gradient(y, x)));
}

GRAPH_TEST(a_value_that_was_written_after_it_was_saved_is_refused) {
  const Tensor x = leaf({1, 2});
  const Tensor y = ops::exp(x);  // saves its result
  const Tensor z = ops::mul(x, y);
  ops::mul_(y, Scalar(2));
  CHECK_FAILS(backward(ops::sum(y)), "output 0 of Exp");
  CHECK_FAILS(backward(ops::sum(z)), "is at version 1; expected version 0");
  CHECK(!grad(x));
}

GRAPH_TEST(what_is_not_saved_may_be_written) {
  const Tensor x = leaf({1, 2});
  const Tensor y = ops::mul(x, Scalar(2));
  const Tensor early = ops::sum(y);
  ops::add_(y, Scalar(1));
  ops::mul_(y, Scalar(5));
  backward(ops::sum(y), kKeep);
  same(grad(x), {10, 10});
  same(gradient(early, x), {2, 2});
  CHECK_FAILS(ops::add_(x, Scalar(1)), "a leaf Variable that requires grad");
  CHECK_FAILS(ops::add_(ops::narrow(x, 0, 0, 1), Scalar(1)), "a view of a leaf Variable");
}

GRAPH_TEST(a_write_through_a_view_changes_the_history_of_its_base) {
  const Tensor x = leaf({1, 2, 3, 4}), w = leaf({10, 20});
  const Tensor base = ops::mul(x, Scalar(1));
  const Tensor view = ops::narrow(base, 0, 1, 2), other = ops::narrow(base, 0, 2, 2);
  ops::mul_(view, w);
  CHECK_EQ(grad_fn(base)->name(), "CopySlices");
  CHECK_EQ(grad_fn(other)->name(), "AsStridedBackward0");
  CHECK_EQ(grad_fn(other)->edges()[0].node.get(), grad_fn(base).get());
  backward(ops::sum(other), kKeep);  // elements 3 * 20 and 4
  same(grad(x), {0, 0, 20, 1});
  same(grad(w), {0, 3});
  autograd::set_grad(x, Tensor());
  autograd::set_grad(w, Tensor());
  ops::copy_(ops::select(base, 0, 0), ops::select(w, 0, 0));
  backward(ops::sum(base));
  same(grad(x), {0, 10, 20, 1});
  same(grad(w), {1 + 2, 3});
}

GRAPH_TEST(a_saved_result_does_not_hold_its_own_graph) {
  const int64_t before = live();
  {
    const Tensor x = leaf({1, 2});
    const Tensor y = ops::exp(x);
    CHECK_EQ(y.impl()->use_count(), 1);
  }
  CHECK_EQ(live(), before);  // a cycle of tensor and Node would still be alive
  const Tensor x = leaf({1, 2});
  const Tensor y = ops::sum(ops::exp(x));  // releases the intermediate, not what was saved
  backward(y);
  same(grad(x), {std::exp(1), std::exp(2)});
}

GRAPH_TEST(what_was_saved_goes_as_soon_as_it_is_used) {
  constexpr int64_t kElements = 1 << 15, kBytes = kElements * 8, kSteps = 20;
  const Tensor x = ops::zeros(Dims{kElements}, DType::kFloat64);
  autograd::set_requires_grad(x, true);
  const int64_t before = live();
  int64_t at_the_end = -1;
  Tensor y = through(x, [&](const Tensor& gradient) {
    at_the_end = live() - before;
    return gradient;
  });
  for (int64_t i = 0; i < kSteps; ++i) y = ops::tanh(y);
  CHECK(live() - before >= kSteps * kBytes, "tanh saves its result");
  y = ops::sum(y);
  backward(y);
  CHECK(at_the_end >= 0 && at_the_end <= 3 * kBytes, "when the first Node ran there were still ",
        at_the_end / kBytes, " of ", kSteps, " saved tensors");
  CHECK(live() - before <= kBytes + 64, "the gradient and the sum are left, not ", live() - before,
        " bytes");
}

GRAPH_TEST(a_long_chain_is_run_and_freed_without_recursion) {
  const int64_t steps = 1'000'000 / kSlower;
  const Tensor x = leaf({1});
  {
    Tensor y = x;
    for (int64_t i = 0; i < steps; ++i) y = ops::neg(y);
    backward(y);
    same(grad(x), {steps % 2 ? -1. : 1.});
  }
  Tensor y = x;
  for (int64_t i = 0; i < steps; ++i) y = ops::tanh(y);  // Nodes and saved tensors alternate
}

// A library's static object is destroyed after the thread-local ones of the main thread: AddressSanitizer
// reports at exit what is used after that.
TEST(a_static_object_may_hold_the_last_reference_to_a_graph) {
  static std::vector<Tensor> results;
  const Tensor x = leaf({1, 2});
  ops::tanh(ops::neg(ops::neg(x)));  // Nodes that are freed while others are
  results.push_back(ops::tanh(ops::neg(ops::neg(x))));
}

GRAPH_TEST(a_node_may_have_many_edges) {
  const int64_t n = 20'000 / kSlower;
  const Tensor x = leaf({3});
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < n; ++i) parts.push_back(i % 2 ? x : ops::mul(x, x));
  const Tensor joined = ops::cat(parts);
  CHECK_EQ(static_cast<int64_t>(grad_fn(joined)->edges().size()), n);
  backward(ops::sum(joined));
  same(grad(x), {static_cast<double>(n / 2) * (1 + 6)});
}

GRAPH_TEST(a_pass_asks_for_the_inputs_alone) {
  const Tensor x = leaf({1, 2}), w = leaf({3, 4}), unused = leaf({5});
  const Tensor middle = ops::mul(x, w);
  int reached = 0;
  const Tensor y = ops::sum(ops::mul(through(middle,
                                             [&](const Tensor& g) {
                                               ++reached;
                                               return g;
                                             }),
                                     w));
  same(gradient(y, w), {2 * 3 * 1, 2 * 4 * 2});
  CHECK(!grad(w) && !grad(x));
  CHECK_EQ(reached, 1);
  same(gradient(y, middle), {3, 4});
  CHECK(!gradient(y, unused));
  const RunOptions strict{true, false, false, false};
  CHECK_FAILS(gradient(y, unused, strict), "appears to not have been used in the graph");
  CHECK_FAILS(backward(middle), "grad can be implicitly created only for scalar outputs");
  CHECK_FAILS(backward(constant({1})), "does not require grad and does not have a grad_fn");
}

GRAPH_TEST(a_leaf_that_was_cut_off_gets_nothing) {
  const Tensor x = leaf({1, 2});
  const Tensor cut = ops::detach(ops::mul(x, x));
  CHECK(!autograd::requires_grad(cut));
  backward(ops::sum(ops::mul(cut, x)));
  same(grad(x), {1, 4});
  {
    const GradMode quiet(false);
    CHECK(!autograd::requires_grad(ops::mul(x, x)));
  }
}

GRAPH_TEST(what_is_recorded_of_passes_is_whole) {
  Recording recording(1 << 12, 1 << 18, 3);
  const Tensor x = leaf({1, 2, 3, 4});
  for (int i = 0; i < 50; ++i) {
    const Tensor y = ops::mul(ops::tanh(x), x);
    ops::mul_(ops::narrow(y, 0, 1, 2), Scalar(2));
    backward(ops::sum(ops::add(y, ops::exp(y))), i % 2 ? kKeep : RunOptions{});
    gradient(ops::sum(gradient(ops::sum(ops::sin(x)), x, kDifferentiable)), x);
  }
  CHECK(recording.finish() > 1000);
}

}  // namespace
}  // namespace uh
