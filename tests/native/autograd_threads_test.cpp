// Threads: a graph per thread, a graph for all threads, and graphs freed while others run.
#include <atomic>
#include <cmath>
#include <mutex>
#include <thread>

#include "graph.h"

namespace uh {
namespace {

using namespace uh::test;

constexpr int kThreads = 8;

// Runs `body(thread)` on all threads at once and rethrows the first error.
void in_threads(const std::function<void(int)>& body) {
  std::atomic<int> waiting{kThreads};
  std::mutex lock;
  std::exception_ptr wrong;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      --waiting;
      while (waiting) std::this_thread::yield();
      try {
        body(t);
      } catch (...) {
        const std::lock_guard<std::mutex> guard(lock);
        wrong = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (wrong) std::rethrow_exception(wrong);
}

GRAPH_TEST(threads_with_graphs_of_their_own) {
  in_threads([](int t) {
    const double w = t + 1;
    for (int i = 0; i < 40; ++i) {
      const Tensor x = leaf({w, 2 * w});
      const Tensor y = ops::mul(x, Scalar(2));
      ops::mul_(ops::narrow(y, 0, 0, 1), x.dtype() == DType::kFloat64 ? Scalar(3) : Scalar(0));
      backward(ops::sum(ops::mul(ops::cat({y, x}), ops::cat({x, y}))));
      same(grad(x), {24 * w, 16 * w});
    }
  });
}

GRAPH_TEST(threads_on_one_graph_that_is_kept) {
  constexpr int kPasses = 25;
  const Tensor x = leaf({1, 2, 3}), w = leaf({4, 5, 6});
  const Tensor middle = ops::mul(ops::exp(ops::mul(x, Scalar(0))), w);
  const Tensor y = ops::sum(ops::mul(ops::cat({middle, x}), ops::cat({x, middle})));
  in_threads([&](int) {
    for (int i = 0; i < kPasses; ++i) backward(y, kKeep);
  });
  const double n = kThreads * kPasses;
  same(grad(w), {2 * n, 4 * n, 6 * n});
  same(grad(x), {8 * n, 10 * n, 12 * n});
}

GRAPH_TEST(threads_that_ask_one_graph_for_different_gradients) {
  const Tensor x = leaf({1, 2}), w = leaf({3, 4});
  const Tensor y = ops::sum(ops::mul(ops::sin(x), ops::mul(w, w)));
  const std::vector<double> of_x = read(gradient(y, x, kAsk));
  const std::vector<double> of_w = read(gradient(y, w, kAsk));
  in_threads([&](int t) {
    for (int i = 0; i < 25; ++i) {
      same(gradient(y, t % 2 ? x : w, kAsk), t % 2 ? of_x : of_w);
      if (t % 4 == 0) {
        const Tensor first = gradient(y, w, kDifferentiable);
        same(gradient(ops::sum(first), w, kAsk), {2 * std::sin(1), 2 * std::sin(2)});
      }
    }
  });
}

// The first pass that completes releases the saved values: others succeed or fail with an error.
GRAPH_TEST(threads_on_one_graph_that_is_not_kept) {
  for (int round = 0; round < 20; ++round) {
    const Tensor x = leaf({1, 2});
    Tensor y = x;
    for (int i = 0; i < 5; ++i) {
      y = ops::tanh(y);
      y = ops::index(ops::mul(y, y), {constant_index({1, 0})});
    }
    const Tensor root = ops::sum(y);
    std::atomic<int> good{0};
    in_threads([&](int) {
      try {
        backward(root);
        ++good;
      } catch (const Error& error) {
        CHECK(std::string(error.what()).find("a second time") != std::string::npos, error.what());
      }
    });
    if (!good) continue;
    const std::vector<double> sum = read(grad(x));
    autograd::set_grad(x, Tensor());
    Tensor again = x;
    for (int i = 0; i < 5; ++i) {
      again = ops::tanh(again);
      again = ops::index(ops::mul(again, again), {constant_index({1, 0})});
    }
    const std::vector<double> expected = read(gradient(ops::sum(again), x));
    CHECK(std::abs(sum[0] - good * expected[0]) < 1e-12 &&
              std::abs(sum[1] - good * expected[1]) < 1e-12,
          good.load(), " passes ended well");
  }
}

// The AccumulateGrad of a leaf is created and destroyed with every graph.
GRAPH_TEST(threads_that_run_while_others_free_their_graphs) {
  const Tensor x = leaf({1, 2});
  constexpr int kRounds = 60;
  std::atomic<int> passes{0};
  in_threads([&](int t) {
    for (int i = 0; i < kRounds; ++i) {
      Tensor y = ops::mul(x, Scalar(2));
      for (int k = 0; k < 10; ++k) y = ops::tanh(ops::mul(y, x));
      if (t % 2) continue;  // destroyed without a backward pass
      backward(ops::sum(ops::add(ops::mul(x, Scalar(3)), ops::mul(y, Scalar(0)))));
      ++passes;
    }
  });
  same(grad(x), {3. * passes, 3. * passes});
}

// A tensor created in one thread is destroyed in another, with its graph.
GRAPH_TEST(threads_hand_their_graphs_on) {
  const Tensor x = leaf({1, 2});
  std::mutex lock;
  std::vector<Tensor> shelf(4);
  in_threads([&](int t) {
    for (int i = 0; i < 60; ++i) {
      Tensor y = ops::exp(ops::mul(x, Scalar(0.1)));
      for (int k = 0; k < 5; ++k) y = ops::mul(y, y);
      Tensor other;
      {
        const std::lock_guard<std::mutex> guard(lock);
        other = std::exchange(shelf[static_cast<size_t>((t + i) % 4)], std::move(y));
      }
      if (other && i % 2) gradient(ops::sum(other), x);
    }
  });
  shelf.clear();
}

// A view of a written base gets its new Node in the first thread that reads its grad_fn.
GRAPH_TEST(threads_that_read_views_of_a_written_base) {
  for (int round = 0; round < 20; ++round) {
    const Tensor x = leaf({1, 2, 3, 4});
    // The threads share these Nodes, which save nothing that the first pass could release.
    const Tensor base = ops::add(x, Scalar(0), Scalar(1));
    const Tensor view = ops::narrow(base, 0, 1, 2);
    ops::neg_(base);
    in_threads([&](int) { backward(ops::sum(ops::mul(view, Scalar(2)))); });
    same(grad(x), {0, -2. * kThreads, -2. * kThreads, 0});
  }
}

GRAPH_TEST(threads_that_go_deep) {
  in_threads([](int) {
    const Tensor x = leaf({1});
    const std::function<Tensor(int)> build = [&](int depth) -> Tensor {
      return through(x, [&build, &x, depth](const Tensor& g) {
        if (depth == 70) return g;
        const GradMode recording(true);
        return gradient(build(depth + 1), x);
      });
    };
    same(gradient(build(0), x), {1});
  });
}

}  // namespace
}  // namespace uh
