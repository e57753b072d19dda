// One compiled function called by many threads: profiled, specialised, bailed out of, fused, run
// backward and recorded, all at once.
#include <atomic>
#include <cmath>
#include <mutex>
#include <thread>

#include "graph.h"
#include "jit/function.h"
#include "jit/run/executor.h"
#include "jit/text/parse.h"
#include "recording.h"

namespace uh::test {
namespace {

using namespace uh::jit;

constexpr int kThreads = 4;

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

// The value and sum of ((x * y + x) * k), where a scalar loop computes k = 1 + ... + n.
constexpr const char* kMixed = R"(graph(%x : Tensor, %y : Tensor, %n : int):
  %one : int = prim::Constant[value=1]()
  %zero : int = prim::Constant[value=0]()
  %true : bool = prim::Constant[value=1]()
  %none : NoneType = prim::Constant()
  %k : int = prim::Loop(%n, %true, %zero)
    block0(%i : int, %k.1 : int):
      %j : int = aten::add(%i, %one)
      %k.2 : int = aten::add(%k.1, %j)
      -> (%true, %k.2)
  %a : Tensor = aten::mul(%x, %y)
  %b : Tensor = aten::add(%a, %x, %one)
  %c : Tensor = aten::mul(%b, %k)
  %false : bool = prim::Constant[value=0]()
  %s : Tensor = aten::sum(%c, %none, %false, %none)
  %both : (Tensor, Tensor) = prim::TupleConstruct(%c, %s)
  return (%both)
)";

Tensor filled(const Dims& sizes, DType dtype, double value) {
  Tensor t = empty(sizes, dtype);
  for (int64_t i = 0; i < t.numel(); ++i) {
    if (dtype == DType::kFloat32)
      t.data_as<float>()[i] = static_cast<float>(value);
    else
      t.data_as<double>()[i] = value;
  }
  return t;
}
double first_of(const Tensor& t) {
  return t.dtype() == DType::kFloat32 ? double{t.data_as<float>()[0]} : t.data_as<double>()[0];
}

// A call whose inputs depend on thread and iteration: five kinds, more than are specialised.
void call_once(Function& f, int thread, int trip) {
  const int kind = (thread + trip / 3) % 5;
  const DType dtype = kind == 1 ? DType::kFloat64 : DType::kFloat32;
  const Dims sizes = kind == 2 ? Dims{2, 3} : kind == 4 ? Dims{2, 1, 3} : Dims{6};
  const double x = thread + 1, y = trip % 7, k = 6;
  const Tensor a = filled(sizes, dtype, x), b = filled(sizes, dtype, y);
  if (kind == 3) autograd::set_requires_grad(a, true);
  Stack stack{a, b, int64_t{3}};
  f.call(stack);
  const Tuple& both = *stack.back().tuple();
  const Tensor &result = *both.items[0].get_if<Tensor>(), &sum = *both.items[1].get_if<Tensor>();
  CHECK_EQ(first_of(result), (x * y + x) * k);
  CHECK_EQ(first_of(sum), 6 * (x * y + x) * k);
  CHECK(result.dtype() == dtype && result.sizes() == sizes);
  if (kind != 3) return;
  backward(sum);
  CHECK_EQ(first_of(grad(a)), (y + 1) * k);
}

void call_often(int rounds, int trips) {
  for (int round = 0; round < rounds; ++round) {
    const Ref<Function> f = make_ref<Function>("f", parse(kMixed));
    in_threads([&](int t) {
      for (int i = 0; i < trips; ++i) call_once(*f, t, i);
    });
    CHECK_EQ(f->executor().specialised_count(), Executor::kMaxSpecialisations);
  }
}

TEST(jit_threads_that_call_one_function) { call_often(static_cast<int>(20 / kSlower), 60); }

TEST(jit_threads_that_call_one_function_while_it_is_recorded) {
  std::atomic<int64_t> specialised{0};
  Recording recording(1 << 16, 1 << 24, events::kOn, [&](const events::Record& r, auto) {
    specialised += r.kind == static_cast<int64_t>(events::Kind::kSPECIALISE);
  });
  call_often(2, 30);
  recording.finish();
  CHECK_EQ(specialised.load(), int64_t{2} * int64_t{Executor::kMaxSpecialisations});
}

// A recording starts and ends while they run.
TEST(jit_threads_that_a_recording_comes_to) {
  const Ref<Function> f = make_ref<Function>("f", parse(kMixed));
  std::atomic<int> running{kThreads - 1};
  in_threads([&](int t) {
    if (t != 0) {
      for (int i = 0; i < 60; ++i) call_once(*f, t, i);
      --running;
      return;
    }
    do {
      Recording recording(1 << 16, 1 << 24, events::kOn);
      call_once(*f, t, 1);
      recording.finish();
    } while (running);
  });
}

// Gradients of a fusion group for many sizes: the first thread traces each of them once.
TEST(jit_threads_that_go_back_through_one_group) {
  const Ref<Function> f = make_ref<Function>("f", parse(kMixed));
  in_threads([&](int t) {
    for (int i = 0; i < 24; ++i) {
      const double x = t + 1, y = i;
      const Tensor a = filled({1 + (i + t) % 6, 2}, DType::kFloat32, x);
      const Tensor b = filled({1 + (i + t) % 6, 2}, DType::kFloat32, y);
      autograd::set_requires_grad(a, true);
      autograd::set_requires_grad(b, true);
      Stack stack{a, b, int64_t{2}};
      f->call(stack);
      backward(*stack.back().tuple()->items[1].get_if<Tensor>());
      CHECK_EQ(first_of(grad(a)), (y + 1) * 3);
      CHECK_EQ(first_of(grad(b)), x * 3);
    }
  });
}

// Compiles graphs in parallel: names, signatures and passes are shared.
TEST(jit_threads_that_compile) {
  in_threads([&](int t) {
    for (int i = 0; i < 5; ++i) {
      const Ref<Function> f = make_ref<Function>("f", parse(kMixed));
      for (int k = 0; k < 6; ++k) call_once(*f, t, 3 * i);
    }
  });
}

// Errors are confined to their call.
TEST(jit_threads_whose_calls_fail) {
  const Ref<Function> f = make_ref<Function>("f", parse(kMixed));
  in_threads([&](int t) {
    for (int i = 0; i < 40; ++i) {
      if ((i + t) % 2) {
        call_once(*f, t, 0);
        continue;
      }
      const int64_t other = 7 + t;
      Stack stack{filled({6}, DType::kFloat32, 1), filled({other}, DType::kFloat32, 1), int64_t{1}};
      CHECK_FAILS(f->call(stack), std::to_string(other));
    }
  });
}

}  // namespace
}  // namespace uh::test
