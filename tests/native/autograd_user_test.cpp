// User code in a backward pass: hooks, custom functions, nested backward passes, and errors.
#include <cmath>
#include <thread>

#include "graph.h"

namespace uh {
namespace {

using namespace uh::test;
using autograd::FunctionNode;
using autograd::grad_fn;

GRAPH_TEST(a_hook_replaces_the_gradient_and_later_ones_see_it) {
  const Tensor x = leaf({1, 2});
  const Tensor y = ops::mul(x, Scalar(2));
  std::vector<double> seen;
  hook(y, [](Tensor* gradients, size_t) { gradients[0] = ops::mul(gradients[0], Scalar(10)); });
  hook(y, [&](Tensor* gradients, size_t) { seen = read(gradients[0]); });
  backward(ops::sum(y));
  CHECK(seen == std::vector<double>({10, 10}));
  same(grad(x), {20, 20});
}

GRAPH_TEST(a_leaf_has_hooks_before_and_after_its_gradient_is_added) {
  const Tensor x = leaf({1, 2});
  std::vector<double> after;
  autograd::meta(x).hooks.push_back(
      make_ref<CallHook>([](Tensor* g, size_t) { g[0] = ops::neg(g[0]); }));
  autograd::meta(x).after_accumulate.push_back(
      make_ref<CallHook>([&](Tensor* leaf, size_t) { after = read(grad(leaf[0])); }));
  backward(ops::sum(ops::mul(x, Scalar(2))));
  same(grad(x), {-2, -2});
  CHECK(after == std::vector<double>({-2, -2}));
}

GRAPH_TEST(hooks_around_a_node_see_what_goes_in_and_what_comes_out) {
  const Tensor x = leaf({1, 2}), w = leaf({3, 4});
  const Tensor y = ops::mul(x, w);
  size_t n_in = 0, n_out = 0;
  grad_fn(y)->add_hook(&autograd::Node::Hooks::before, make_ref<CallHook>([&](Tensor* g, size_t n) {
    n_in = n;
    g[0] = ops::mul(g[0], Scalar(2));
  }));
  grad_fn(y)->add_hook(&autograd::Node::Hooks::after, make_ref<CallHook>([&](Tensor* g, size_t n) {
    n_out = n;
    g[1] = Tensor();
  }));
  backward(ops::sum(y));
  CHECK_EQ(n_in, 1u);
  CHECK_EQ(n_out, 2u);
  same(grad(x), {6, 8});
  CHECK(!grad(w));
}

GRAPH_TEST(a_hook_may_remove_itself_and_others_while_it_runs) {
  const Tensor x = leaf({1});
  const Tensor y = ops::mul(x, Scalar(2));
  const Ref<autograd::Node> node = grad_fn(y);
  std::vector<int64_t> ids;
  int calls = 0;
  for (int i = 0; i < 3; ++i) {
    ids.push_back(hook(y, [&](Tensor*, size_t) {
      ++calls;
      for (const int64_t id : ids) node->remove_hook(id);
    }));
  }
  backward(y, kKeep);
  CHECK_EQ(calls, 3);  // this pass copied the list before
  backward(y, kKeep);
  CHECK_EQ(calls, 3);
}

GRAPH_TEST(a_throwing_hook_ends_the_pass_and_the_graph_runs_again) {
  const Tensor x = leaf({1, 2});
  const Tensor y = ops::mul(x, x);
  bool angry = true;
  hook(y, [&](Tensor*, size_t) {
    if (angry) fail(ErrorKind::kValue, "the hook is angry");
  });
  const Tensor z = ops::sum(y);
  for (int i = 0; i < 3; ++i) CHECK_FAILS(backward(z, kKeep), "the hook is angry");
  CHECK_EQ(autograd::current_run(), 0);
  CHECK(!grad(x));
  angry = false;
  backward(z);
  same(grad(x), {2, 4});
}

GRAPH_TEST(a_throwing_node_leaves_no_slot_of_its_pass_behind) {
  const Tensor x = leaf({1, 2});
  bool broken = true;
  Tensor y = ops::mul(x, x);
  y = through(y, [&](const Tensor& g) {
    if (broken) fail(ErrorKind::kRuntime, "this step is broken");
    return g;
  });
  const Tensor z = ops::sum(ops::mul(y, y));
  CHECK_FAILS(backward(z, kKeep), "this step is broken");
  CHECK(autograd::running_node() == nullptr);
  // Every Node must also be free for another thread, whose passes have other addresses.
  std::string error_message;
  std::thread other([&] {
    try {
      backward(z, kKeep);
    } catch (const Error& error) {
      error_message = error.what();
    }
  });
  other.join();
  CHECK(error_message.find("this step is broken") != std::string::npos, error_message);
  broken = false;
  backward(z);
  same(grad(x), {4, 32});
}

GRAPH_TEST(a_gradient_of_a_wrong_shape_is_refused_by_name) {
  const Tensor x = leaf({1, 2});
  const Tensor y = through(x, [](const Tensor&) { return constant({1, 2, 3}); });
  CHECK_FAILS(backward(ops::sum(y), kKeep), "Through returned an invalid gradient at index 0");
  const Tensor z = through(x, [](const Tensor&) { return constant({5}); });
  CHECK_FAILS(backward(ops::sum(z), kKeep), "but expected shape compatible with [2]");
  const Tensor wide =
      through(x, [](const Tensor&) { return ops::ones(Dims{3, 2}, DType::kFloat32); });
  backward(ops::sum(wide));
  same(grad(x), {3, 3});
}

// A function whose context counts its calls and its destruction.
struct Twice {
  FunctionNode* node = nullptr;
  int applied = 0, released = 0, destroyed = 0;
  bool undefined = false;

  static Gradients apply(void* context, Gradients gradients, size_t n_results) {
    auto* self = static_cast<Twice*>(context);
    ++self->applied;
    CHECK_EQ(n_results, 1u);
    self->undefined = !gradients[1];
    Gradients result(1);
    const std::vector<Tensor> saved = self->node->unpack();
    result[0] = ops::mul(gradients[0], ops::mul(saved[0], Scalar(2)));
    return result;
  }
  static void release_saved(void* context) { ++static_cast<Twice*>(context)->released; }
  static void destroy(void* context) { ++static_cast<Twice*>(context)->destroyed; }

  // Returns the square of x, and x unchanged, which stays unused.
  std::pair<Tensor, Tensor> call(const Tensor& x, bool materialize) {
    const auto result = make_ref<FunctionNode>(
        "TwiceBackward", this, autograd::FunctionCalls{apply, release_saved, destroy});
    node = result.get();
    result->set_materialize(materialize);
    result->add_edge(x);
    const auto [square, copy] = [&] {
      const GradMode quiet(false);
      return std::pair(ops::mul(x, x), ops::mul(x, Scalar(1)));
    }();
    result->save({x}, {false});
    return {autograd::wrap_output(result, square, false, false, true),
            autograd::wrap_output(result, copy, false, false, true)};
  }
};

GRAPH_TEST(a_function_of_the_users_is_called_and_let_go_of_once) {
  for (const bool materialize : {true, false}) {
    Twice twice;
    const Tensor x = leaf({1, 2});
    {
      const auto [square, copy] = twice.call(x, materialize);
      CHECK_EQ(grad_fn(square)->name(), "TwiceBackward");
      CHECK_EQ(autograd::meta(copy).history().input, 1u);
      backward(ops::sum(square), kKeep);
      CHECK_EQ(twice.released, 0);
      backward(ops::sum(square));
      CHECK_EQ(twice.released, 1);
      CHECK_EQ(twice.undefined, !materialize);
      CHECK_FAILS(backward(ops::sum(square)), "backward through the graph a second time");
      CHECK_EQ(twice.destroyed, 0);
    }
    CHECK_EQ(twice.destroyed, 1);
    same(grad(x), {4, 8});
  }
}

// Returns x after `depth` Nodes, each of which runs a nested backward pass.
Tensor nested(const Tensor& x, int depth, int& deepest) {
  return through(x, [depth, &deepest](const Tensor& g) {
    deepest = std::max(deepest, depth);
    if (depth == 200) return g;
    const GradMode recording(true);
    const Tensor inside = leaf({1, 2});
    const Tensor y = nested(inside, depth + 1, deepest);
    return gradient(ops::sum(ops::mul(y, g)), inside);
  });
}

GRAPH_TEST(passes_inside_passes_go_as_deep_as_they_like) {
  const Tensor x = leaf({1, 2});
  int deepest = 0;
  backward(ops::sum(ops::mul(nested(x, 0, deepest), Scalar(7))));
  CHECK_EQ(deepest, 200);
  same(grad(x), {7, 7});
}

GRAPH_TEST(a_pass_inside_a_pass_runs_nodes_that_the_outer_one_holds) {
  const Tensor x = leaf({1, 2});
  const Tensor shared = ops::mul(x, x);
  Tensor inner;
  const Tensor y = through(shared, [&](const Tensor& g) {
    const GradMode recording(true);
    inner = gradient(ops::sum(ops::mul(shared, Scalar(3))), x, kAsk);
    return g;
  });
  backward(ops::sum(y));
  same(inner, {6, 12});
  same(grad(x), {2, 4});
}

GRAPH_TEST(an_error_deep_inside_comes_out_and_every_graph_still_runs) {
  const Tensor x = leaf({1, 2});
  const Tensor retained = ops::mul(x, x);
  bool broken = true;
  const std::function<Tensor(int)> build = [&](int depth) {
    return through(retained, [&, depth](const Tensor& g) {
      if (depth == 100 && broken) fail(ErrorKind::kRuntime, "too deep for me");
      if (depth == 100) return g;
      const GradMode recording(true);
      gradient(ops::sum(build(depth + 1)), x, kAsk);
      return g;
    });
  };
  const Tensor y = ops::sum(build(0));
  CHECK_FAILS(backward(y, kKeep), "too deep for me");
  CHECK_EQ(autograd::current_run(), 0);
  broken = false;
  backward(y);
  same(grad(x), {2, 4});
}

GRAPH_TEST(a_callback_runs_at_the_end_of_its_pass) {
  struct Log {
    std::vector<std::string> lines;
  } log;
  const Tensor x = leaf({1});
  const Tensor y = through(x, [&](const Tensor& g) {
    autograd::queue_callback(
        [](void* context) { static_cast<Log*>(context)->lines.push_back("end"); }, &log);
    log.lines.push_back("node");
    return g;
  });
  autograd::meta(x).hooks.push_back(
      make_ref<CallHook>([&](Tensor*, size_t) { log.lines.push_back("leaf"); }));
  backward(y);
  CHECK(log.lines == std::vector<std::string>({"node", "leaf", "end"}));
  CHECK_FAILS(autograd::queue_callback([](void*) {}, nullptr), "during backward pass");
}

}  // namespace
}  // namespace uh
