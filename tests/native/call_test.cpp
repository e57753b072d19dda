// Boxed calls: any operator by name, with arguments that fit its schema and arguments that do not.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>

#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

#include "arguments.h"
#include "backend/cpu/allocator.h"
#include "capi/underhood.h"
#include "capi/underhood_autograd.h"
#include "check.h"
#include "dispatch/library.h"
#include "memory/allocator.h"
#include "recording.h"

namespace uh {
namespace {

using namespace uh::test;

// Reads every element (of a sparse tensor, those of its parts), then releases the tensor: both are
// visible to the sanitizer.
void read_and_release(uh_handle h) {
  for (int role = 0; role < 4; ++role)
    if (const uh_handle part = uh_sparse_part(h, role)) read_and_release(part);
  const int64_t n = uh_numel(h);
  if (uh_layout_kind(h) == 0 && uh_device(h) == 0 && n < 1 << 20) {
    const int64_t count = uh_dtype(h) >= UH_COMPLEX64 ? 2 * n : n;
    std::vector<double> values(static_cast<size_t>(count));
    CHECK_EQ(uh_read_doubles(h, values.data(), count), 0);
  }
  uh_release(h);
}

void release(const uh_value& v) {
  if (v.tag == kTensor && v.i) read_and_release(static_cast<uh_handle>(v.i));
  if (v.tag != kTensors) return;
  auto* list = static_cast<uh_list*>(const_cast<void*>(v.p));
  for (int64_t i = 0; i < list->n; ++i) read_and_release(list->items[i]);
  uh_list_free(list);
}

// Returns the result tensors that require gradients.
std::vector<uh_handle> differentiable(const uh_value* results, int n) {
  std::vector<uh_handle> result;
  const auto add = [&](uh_handle h) {
    if (h && uh_requires_grad(h)) result.push_back(h);
  };
  for (int i = 0; i < n; ++i) {
    if (results[i].tag == kTensor) add(static_cast<uh_handle>(results[i].i));
    if (results[i].tag != kTensors) continue;
    const auto* list = static_cast<const uh_list*>(results[i].p);
    for (int64_t k = 0; k < list->n; ++k) add(list->items[k]);
  }
  return result;
}

// The running call, for the report of a crash or a hang.
const Arguments* g_running = nullptr;
const char* g_phase = "";
constexpr unsigned kSecondsPerCall = 30;

void report_running() {
  if (!g_running) return;
  const std::string text = std::string("\nwhile ") + g_phase + g_running->text();
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
}

void too_slow(int) {
  static const char text[] = "\na call does not come back";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
  report_running();
  _exit(1);
}

// While alive, reports the running call if it takes too long. A failed check also ends it.
class Watch {
 public:
  explicit Watch(const Arguments& arguments) {
    g_running = &arguments;
    g_phase = "calling ";
    alarm(kSecondsPerCall);
  }
  ~Watch() {
    alarm(0);
    g_running = nullptr;
  }
};

// Checks that an error has a message, and is not an internal error of the engine.
void check_refusal(const Arguments& arguments) {
  CHECK(uh_last_error_kind() != static_cast<int>(ErrorKind::kInternal), uh_last_error(), "\n  ",
        g_phase, arguments.text());
  CHECK(std::strlen(uh_last_error()) > 0, "failed without a word: ", arguments.text());
}

// Runs a backward pass with random gradients from `roots` to the leaves of the call. Returns
// whether it succeeded.
bool pass_back(const Arguments& arguments, const std::vector<uh_handle>& roots, int flags,
               std::vector<uh_handle>& output, Random& random) {
  std::vector<uh_handle> argument;
  for (uh_handle root : roots) {
    const uh_value like[] = {{kTensor, static_cast<int64_t>(root), 0, nullptr},
                             {kNone, 0, 0, nullptr},
                             {kNone, 0, 0, nullptr},
                             {kNone, 0, 0, nullptr}};
    uh_value result[8];
    const bool implicit = uh_numel(root) == 1 && random.one_in(2);
    // An expanded tensor has less memory than the gradient needs, so allocation may fail.
    if (!implicit && uh_call_boxed("randn_like", like, 4, result) != 1) {
      for (uh_handle h : argument)
        if (h) uh_release(h);
      return false;
    }
    argument.push_back(implicit ? 0 : static_cast<uh_handle>(result[0].i));
  }
  const auto& leaves = arguments.leaves();
  output.assign(leaves.size(), 0);
  const bool accumulate = (flags & UH_BACKWARD_ACCUMULATE) != 0;
  const int status = uh_backward(roots.data(), argument.data(), static_cast<int64_t>(roots.size()),
                                 accumulate ? nullptr : leaves.data(),
                                 accumulate ? 0 : static_cast<int64_t>(leaves.size()),
                                 flags | UH_BACKWARD_ALLOW_UNUSED, output.data());
  for (uh_handle h : argument)
    if (h) uh_release(h);
  if (status) check_refusal(arguments);
  return status == 0;
}

// Runs backward from the results of a call, and occasionally from the gradients themselves.
bool differentiate(const Arguments& arguments, const std::vector<uh_handle>& roots,
                   Random& random) {
  const int flags =
      random.of(std::vector<int>{0, UH_BACKWARD_KEEP_GRAPH, UH_BACKWARD_ACCUMULATE,
                                 UH_BACKWARD_KEEP_GRAPH | UH_BACKWARD_CREATE_GRAPH});
  std::vector<uh_handle> first, second;
  g_phase = "differentiating ";
  const bool good = pass_back(arguments, roots, flags, first, random);
  std::vector<uh_handle> recorded;
  for (uh_handle h : first)
    if (h && uh_requires_grad(h)) recorded.push_back(h);
  g_phase = "differentiating twice ";
  if (!recorded.empty()) pass_back(arguments, recorded, 0, second, random);
  for (const auto* list : {&first, &second}) {
    for (uh_handle h : *list)
      if (h) read_and_release(h);
  }
  return good;
}

// Makes a random call and returns whether it succeeded. `passes` counts its backward passes.
bool call(const OperatorInfo& op, Random& random, int64_t& passes) {
  Arguments arguments(op.schema(), random);
  uh_value results[8];
  const Watch watch(arguments);
  const int n = uh_call_boxed(op.full_name().c_str(), arguments.data(), arguments.size(), results);
  if (n < 0) check_refusal(arguments);
  const auto roots = differentiable(results, n);
  if (!roots.empty()) passes += differentiate(arguments, roots, random);
  for (int i = 0; i < n; ++i) release(results[i]);
  return n >= 0;
}

// Reports the coverage: an operator whose calls all failed has not been tested.
void report_coverage(const std::vector<const OperatorInfo*>& operators,
                     const std::vector<int64_t>& succeeded, const std::vector<int64_t>& passes,
                     int64_t calls) {
  std::string never;
  int64_t differentiated = 0, good = 0;
  for (size_t i = 0; i < operators.size(); ++i) {
    differentiated += passes[i] > 0;
    good += succeeded[i];
    if (!succeeded[i]) never += (never.empty() ? "" : ", ") + operators[i]->full_name();
  }
  std::printf(
      "\n  %zu operators, %lld of them differentiated, %lld calls, %lld%% of them returned; "
      "never returned: %s\n  ",
      operators.size(), static_cast<long long>(differentiated), static_cast<long long>(calls),
      static_cast<long long>(calls ? 100 * good / calls : 0),
      never.empty() ? "none" : never.c_str());
}

FUZZ(every_operator_with_random_arguments) {
  constexpr int64_t kRounds = 36;  // minimum, regardless of the time limit
  Random random(budget.seed);
  auto operators = Dispatcher::instance().all();
  std::erase_if(operators, [&](const OperatorInfo* op) {
    return op->full_name().find(budget.operators) == std::string::npos;
  });
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_set_death_callback(report_running);
#endif
  std::signal(SIGABRT, [](int) { report_running(); });  // UndefinedBehaviorSanitizer aborts
  std::signal(SIGALRM, too_slow);
  const int64_t before = pool_allocator().stats().live_bytes;
  std::vector<int64_t> succeeded(operators.size(), 0), passes(operators.size(), 0);
  int64_t calls = 0;
  for (int64_t round = 0; round < kRounds || !budget.over(); ++round) {
    std::optional<Recording> recording;
    if (round % 4 == 3) recording.emplace(1 << 12, 1 << 18, 3);
    for (size_t i = 0; i < operators.size(); ++i, ++calls)
      succeeded[i] += call(*operators[i], random, passes[i]);
  }
  CHECK_EQ(pool_allocator().stats().live_bytes, before);
  report_coverage(operators, succeeded, passes, calls);
}

TEST(a_boxed_call_names_what_is_wrong) {
  uh_value results[8];
  const uh_value argument_one{kInt, 1, 0, nullptr};
  CHECK_EQ(uh_call_boxed("no_such_operator", &argument_one, 1, results), -1);
  CHECK(std::strstr(uh_last_error(), "no_such_operator"), uh_last_error());
  CHECK_EQ(uh_call_boxed("t", &argument_one, 0, results), -1);
  CHECK(std::strstr(uh_last_error(), "expected 1 arguments, got 0"), uh_last_error());
  CHECK_EQ(uh_call_boxed("t", &argument_one, 1, results), -1);
  CHECK(std::strstr(uh_last_error(), "expected Tensor, got int"), uh_last_error());
  const uh_value none{kNone, 0, 0, nullptr};
  CHECK_EQ(uh_call_boxed("t", &none, 1, results), -1);
  CHECK(std::strstr(uh_last_error(), "argument 'self' must be Tensor, got None"), uh_last_error());
}

TEST(a_library_defines_and_runs_an_operator) {
  Library library("native_test");
  library.define("twice(int x) -> int");
  library.implement(
      "twice", Key::kCPU,
      [](KeySet, Stack& stack) {
        const auto x = from_value<int64_t>(stack[0]);
        stack.assign(1, IValue(2 * x));
      },
      "twice_cpu");
  const uh_value argument{kInt, 21, 0, nullptr};
  uh_value results[8];
  CHECK_EQ(uh_call_boxed("native_test::twice", &argument, 1, results), 1);
  CHECK_EQ(results[0].i, 42);
  CHECK_FAILS(library.define("twice(int x) -> int"), "twice");
  CHECK_FAILS(library.implement("thrice", Key::kCPU, nullptr, "x"), "define its schema first");
  CHECK_FAILS(library.define("bad(int x -> int"), "expected");
}

}  // namespace
}  // namespace uh
