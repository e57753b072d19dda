// native_tests [--seconds S] [--seed N] [--operators WORD] [--facts] [name...]: runs all tests, or
// those whose name contains a word; with --facts no fuzz tests.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "capi/underhood.h"
#include "check.h"

namespace uh::test {

using Clock = std::chrono::steady_clock;
static Clock::time_point g_began;

static double elapsed() { return std::chrono::duration<double>(Clock::now() - g_began).count(); }

bool Budget::over() const { return elapsed() >= seconds; }

std::vector<Test>& tests() {
  static std::vector<Test> all;
  return all;
}

static bool run(const Test& test, const Budget& budget) {
  g_began = Clock::now();
  // Printed first, so that a sanitizer's report appears under the name of its test.
  std::printf("%-40s ", test.name);
  std::fflush(stdout);
  try {
    test.body(budget);
  } catch (const std::exception& error) {
    std::printf("FAILED (seed %llu)\n  %s\n", static_cast<unsigned long long>(budget.seed),
                error.what());
    return false;
  }
  std::printf("ok %6.2f s\n", elapsed());
  return true;
}

}  // namespace uh::test

int main(int argc, char** argv) {
  using namespace uh::test;
  Budget budget{1, 2.0, ""};
  std::vector<std::string> patterns;
  bool searches = true;
  for (int i = 1; i < argc; ++i) {
    if (!std::strcmp(argv[i], "--seconds") && i + 1 < argc)
      budget.seconds = std::atof(argv[++i]);
    else if (!std::strcmp(argv[i], "--seed") && i + 1 < argc)
      budget.seed = std::strtoull(argv[++i], nullptr, 10);
    else if (!std::strcmp(argv[i], "--operators") && i + 1 < argc)
      budget.operators = argv[++i];
    else if (!std::strcmp(argv[i], "--facts"))
      searches = false;
    else
      patterns.emplace_back(argv[i]);
  }
  uh_initialise();
  int ran = 0, broken = 0;
  for (const Test& test : tests()) {
    if (!searches && std::string(test.name).starts_with("fuzz_")) continue;
    bool is_selected = patterns.empty();
    for (const std::string& pattern : patterns)
      is_selected |= std::string(test.name).find(pattern) != std::string::npos;
    if (!is_selected) continue;
    ++ran;
    broken += !run(test, budget);
  }
  std::printf("%d tests, %d failed\n", ran, broken);
  return broken || !ran;
}
