// A minimal test framework: a list of tests, checks that report failures, and a random source.
#pragma once

#include <cstdint>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace uh::test {

struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// splitmix64: the same numbers from the same seed on all machines.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  // Returns a number in [low, high].
  int64_t in(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(next() % static_cast<uint64_t>(high - low + 1));
  }
  bool one_in(int64_t n) { return in(1, n) == 1; }
  template <class T>
  const T& of(const std::vector<T>& choices) {
    return choices[static_cast<size_t>(in(0, static_cast<int64_t>(choices.size()) - 1))];
  }

 private:
  uint64_t state_;
};

// The seed, time limit and operators of a fuzz test.
struct Budget {
  uint64_t seed;
  double seconds;
  std::string operators;  // only operators whose name contains this
  bool over() const;      // of the running test
};

struct Test {
  const char* name;
  std::function<void(const Budget&)> body;
};
std::vector<Test>& tests();

struct Register {
  Register(const char* name, std::function<void(const Budget&)> body) {
    tests().push_back({name, body});
  }
};

// TEST(name) { ... } checks a property; FUZZ(name) { while (!budget.over()) ... } searches for a
// failure.
#define UH_TEST(name)                                                                              \
  static void name(const ::uh::test::Budget& budget);                                              \
  static const ::uh::test::Register register_##name(#name, name);                                  \
  static void name([[maybe_unused]] const ::uh::test::Budget& budget)
#define TEST(name) UH_TEST(name)
#define FUZZ(name) UH_TEST(fuzz_##name)

template <class... Parts>
[[noreturn]] void failed(const char* file, int line, const Parts&... parts) {
  std::ostringstream out;
  out << file << ":" << line << ": ";
  (out << ... << parts);
  throw Failure(out.str());
}

#define CHECK(ok, ...)                                                                             \
  do {                                                                                             \
    if (!(ok))                                                                                     \
      ::uh::test::failed(__FILE__, __LINE__, "not so: " #ok " " __VA_OPT__(, ) __VA_ARGS__);       \
  } while (false)
#define CHECK_EQ(left, right)                                                                      \
  do {                                                                                             \
    const auto left_ = (left);                                                                     \
    const auto right_ = (right);                                                                   \
    if (!(left_ == right_))                                                                        \
      ::uh::test::failed(__FILE__, __LINE__, #left " is ", left_, ", not " #right " = ", right_);  \
  } while (false)

// Runs `body`, which must throw an Error whose message contains `part`.
#define CHECK_FAILS(body, part)                                                                    \
  do {                                                                                             \
    std::string thrown_ = "nothing";                                                               \
    try {                                                                                          \
      body;                                                                                        \
    } catch (const ::uh::Error& error_) {                                                          \
      thrown_ = error_.what();                                                                     \
    }                                                                                              \
    if (thrown_.find(part) == std::string::npos)                                                   \
      ::uh::test::failed(__FILE__, __LINE__, #body ": wanted '", part, "', said: ", thrown_);      \
  } while (false)

}  // namespace uh::test
