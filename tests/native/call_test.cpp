// Boxed calls: any operator by its name, with arguments that fit its schema and with ones that do
// not.
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
#include "capi/underhood.h"
#include "check.h"
#include "dispatch/dispatcher.h"
#include "memory/allocator.h"
#include "recording.h"

namespace uh {
namespace {

using namespace uh::test;

// Reads every element, then lets the tensor go: the sanitizer watches both.
void read_and_release(uh_handle h) {
  const int64_t n = uh_numel(h);
  if (uh_device(h) == 0 && n < 1 << 20) {
    std::vector<double> values(2 * static_cast<size_t>(n));  // two of each complex number
    CHECK_EQ(uh_read_doubles(h, values.data()), 0);
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

// The call that is running: what a crash, or a call that does not come back, is told by.
const Arguments* g_running = nullptr;
constexpr unsigned kSecondsPerCall = 30;

void tell_running() {
  if (!g_running) return;
  const std::string text = "\nwhile calling " + g_running->text();
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
}

void too_slow(int) {
  static const char text[] = "\na call does not come back";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
  tell_running();
  _exit(1);
}

// One random call; whether it succeeded.
bool call(const OperatorInfo& op, Random& random) {
  Arguments arguments(op.schema(), random);
  uh_value results[8];
  g_running = &arguments;
  alarm(kSecondsPerCall);
  const int n = uh_call_boxed(op.full_name().c_str(), arguments.data(), arguments.size(), results);
  for (int i = 0; i < n; ++i) release(results[i]);
  alarm(0);
  g_running = nullptr;
  if (n >= 0) return true;
  CHECK(uh_last_error_kind() != static_cast<int>(ErrorKind::kInternal), uh_last_error(), "\n  of ",
        arguments.text());
  CHECK(std::strlen(uh_last_error()) > 0, "failed without a word: ", arguments.text());
  return false;
}

// What was reached, said openly: an operator whose calls were all refused has not been tested.
void tell_coverage(const std::vector<const OperatorInfo*>& operators,
                   const std::vector<int64_t>& succeeded, int64_t calls) {
  std::string never;
  int64_t reached = 0, good = 0;
  for (size_t i = 0; i < operators.size(); ++i) {
    reached += succeeded[i] > 0;
    good += succeeded[i];
    if (!succeeded[i]) never += (never.empty() ? "" : ", ") + operators[i]->full_name();
  }
  std::printf("\n  %zu operators, %lld calls, %lld%% of them returned; never returned: %s\n  ",
              operators.size(), static_cast<long long>(calls),
              static_cast<long long>(calls ? 100 * good / calls : 0),
              never.empty() ? "none" : never.c_str());
}

FUZZ(every_operator_with_random_arguments) {
  constexpr int64_t kRounds = 36;  // at least, however long they take
  Random random(budget.seed);
  auto operators = Dispatcher::instance().all();
  std::erase_if(operators, [&](const OperatorInfo* op) {
    return op->full_name().find(budget.operators) == std::string::npos;
  });
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_set_death_callback(tell_running);
#endif
  std::signal(SIGABRT, [](int) { tell_running(); });  // UndefinedBehaviorSanitizer's way to end
  std::signal(SIGALRM, too_slow);
  const int64_t before = pool_allocator().stats().live_bytes;
  std::vector<int64_t> succeeded(operators.size(), 0);
  int64_t calls = 0;
  for (int64_t round = 0; round < kRounds || !budget.over(); ++round) {
    std::optional<Recording> recording;
    if (round % 4 == 3) recording.emplace(1 << 12, 1 << 18, 3);
    for (size_t i = 0; i < operators.size(); ++i, ++calls)
      succeeded[i] += call(*operators[i], random);
  }
  CHECK_EQ(pool_allocator().stats().live_bytes, before);
  tell_coverage(operators, succeeded, calls);
}

TEST(a_boxed_call_names_what_is_wrong) {
  uh_value results[8];
  const uh_value one{kInt, 1, 0, nullptr};
  CHECK_EQ(uh_call_boxed("no_such_operator", &one, 1, results), -1);
  CHECK(std::strstr(uh_last_error(), "no_such_operator"), uh_last_error());
  CHECK_EQ(uh_call_boxed("t", &one, 0, results), -1);
  CHECK(std::strstr(uh_last_error(), "expected 1 arguments, got 0"), uh_last_error());
  CHECK_EQ(uh_call_boxed("t", &one, 1, results), -1);
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
        stack.assign(1, Value(2 * x));
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
