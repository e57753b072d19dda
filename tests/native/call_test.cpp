// Boxed calls: any operator by its name, with arguments that fit its schema and with ones that do
// not.
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>

#include "capi/underhood.h"
#include "check.h"
#include "dispatch/dispatcher.h"
#include "memory/allocator.h"
#include "recording.h"

namespace uh {
namespace {

enum Tag { kNone, kTensor, kInt, kFloat, kBool, kInts, kString, kTensors, kDType, kDevice };

const std::vector<int64_t> kExtremes = {
    INT64_MIN, INT64_MAX, int64_t{1} << 62, int64_t{1} << 40, int64_t{1} << 31, -7, 100};
const std::vector<double> kReals = {
    0.0, 1.0, -1.5, 1e300, -1e300, 1e-320, HUGE_VAL, -HUGE_VAL, __builtin_nan("")};

// The arguments of one call and what they point to.
class Arguments {
 public:
  explicit Arguments(test::Random& random) : random_(random) {}
  ~Arguments() {
    for (uh_handle h : handles_) uh_decref(h);
  }
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  void add(const Argument& argument) {
    values_.push_back(random_.one_in(25) ? anything() : fitting(argument));
    texts_.push_back(argument.name + " tag " + std::to_string(values_.back().tag) + " = " +
                     std::to_string(values_.back().i));
  }
  const uh_value* data() const { return values_.data(); }
  int64_t size() const { return static_cast<int64_t>(values_.size()); }
  std::string text() const {
    std::string out;
    for (const std::string& t : texts_) out += t + "; ";
    return out;
  }

 private:
  int64_t number() { return random_.one_in(12) ? random_.of(kExtremes) : random_.in(-3, 5); }

  uh_value fitting(const Argument& argument) {
    std::string type = argument.type;
    if (type.back() == '?') {
      if (random_.one_in(2)) return {kNone, 0, 0, nullptr};
      type.pop_back();
    }
    if (type == "Tensor") return {kTensor, static_cast<int64_t>(tensor()), 0, nullptr};
    if (type == "Tensor[]" || type == "Tensor?[]") return tensors();
    if (type == "int") return {kInt, number(), 0, nullptr};
    if (type == "int[]") return ints();
    if (type == "float") return {kFloat, 0, random_.of(kReals), nullptr};
    if (type == "bool") return {kBool, random_.in(0, 1), 0, nullptr};
    if (type == "ScalarType") return {kDType, random_.in(-1, 9), 0, nullptr};
    if (type == "Device") return {kDevice, random_.in(0, 1), 0, nullptr};
    if (type == "Scalar") return scalar();
    if (type == "str") return string();
    return anything();
  }
  uh_value anything() {
    switch (random_.in(0, 9)) {
      case kTensor:
        return {kTensor, random_.one_in(3) ? 0 : static_cast<int64_t>(tensor()), 0, nullptr};
      case kInt: return {kInt, number(), 0, nullptr};
      case kFloat: return {kFloat, 0, random_.of(kReals), nullptr};
      case kBool: return {kBool, random_.in(0, 1), 0, nullptr};
      case kInts: return ints();
      case kString: return string();
      case kTensors: return tensors();
      case kDType: return {kDType, random_.in(-3, 40), 0, nullptr};
      case kDevice: return {kDevice, random_.in(-3, 40), 0, nullptr};
      default: return {kNone, 0, 0, nullptr};
    }
  }
  uh_value scalar() {
    if (random_.one_in(3)) return {kFloat, 0, random_.of(kReals), nullptr};
    if (random_.one_in(3)) return {kBool, random_.in(0, 1), 0, nullptr};
    return {kInt, number(), 0, nullptr};
  }
  uh_value ints() {
    auto& list = lists_.emplace_back(new int64_t[8]);
    const int64_t n = random_.in(0, 5);
    for (int64_t i = 0; i < n; ++i) list[static_cast<size_t>(i)] = number();
    return {kInts, n, 0, list.get()};
  }
  uh_value tensors() {
    auto& list = lists_.emplace_back(new int64_t[8]);
    const int64_t n = random_.in(0, 4);
    for (int64_t i = 0; i < n; ++i) {
      list[static_cast<size_t>(i)] = random_.one_in(10) ? 0 : static_cast<int64_t>(tensor());
    }
    return {kTensors, n, 0, list.get()};
  }
  uh_value string() {
    static const char text[] = "floor";
    return {kString, random_.in(0, 5), 0, text};
  }

  // A small tensor of any dtype: dense, transposed, with gaps, expanded, zero-size, meta, or one
  // that this call already has.
  uh_handle tensor() {
    if (!handles_.empty() && random_.one_in(5)) return random_.of(handles_);
    const auto dtype = static_cast<int>(random_.in(0, 9));
    const int64_t rank = random_.in(0, 4);
    int64_t sizes[4];
    double values[1024];
    const int64_t usual = random_.in(1, 3);
    int64_t n = 1;
    for (int64_t d = 0; d < rank; ++d) {
      sizes[d] = random_.one_in(12) ? 0 : random_.one_in(2) ? usual : random_.in(1, 4);
      n *= sizes[d];
    }
    for (int64_t i = 0; i < n; ++i)
      values[i] = random_.one_in(10) ? random_.of(kReals) : static_cast<double>(random_.in(-4, 4));
    const auto f64 = static_cast<int>(DType::kFloat64);
    uh_handle made = uh_from_data(values, f64, sizes, rank, dtype);
    if (!made) throw test::Failure(uh_last_error());
    handles_.push_back(made);
    if (rank >= 2 && random_.one_in(3))
      made = changed("transpose.int", {{kTensor, static_cast<int64_t>(made), 0, nullptr},
                                       {kInt, 0, 0, nullptr},
                                       {kInt, rank - 1, 0, nullptr}});
    if (rank >= 1 && random_.one_in(4))
      made = changed("slice.Tensor", {{kTensor, static_cast<int64_t>(made), 0, nullptr},
                                      {kInt, 0, 0, nullptr},
                                      {kInt, random_.in(0, 1), 0, nullptr},
                                      {kNone, 0, 0, nullptr},
                                      {kInt, random_.in(1, 2), 0, nullptr}});
    if (random_.one_in(15))
      made = changed("unsqueeze",
                     {{kTensor, static_cast<int64_t>(made), 0, nullptr}, {kInt, 0, 0, nullptr}});
    return made;
  }
  uh_handle changed(const char* op, const std::vector<uh_value>& args) {
    uh_value result[8];
    if (uh_call_boxed(op, args.data(), static_cast<int64_t>(args.size()), result) != 1)
      throw test::Failure(uh_last_error());
    handles_.push_back(static_cast<uh_handle>(result[0].i));
    return handles_.back();
  }

  test::Random& random_;
  std::vector<uh_value> values_;
  std::vector<std::string> texts_;
  std::vector<uh_handle> handles_;
  std::vector<std::unique_ptr<int64_t[]>> lists_;
};

// Reads every element, then lets the tensor go: the sanitizer watches both.
void read_and_release(uh_handle h) {
  const int64_t n = uh_numel(h);
  if (uh_device(h) == 0 && n < 1 << 20) {
    std::vector<double> values(static_cast<size_t>(n));
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

// One random call; whether it succeeded.
bool call(const OperatorInfo& op, test::Random& random) {
  Arguments arguments(random);
  for (const Argument& a : op.schema().arguments) arguments.add(a);
  uh_value results[8];
  const int n = uh_call_boxed(op.full_name().c_str(), arguments.data(), arguments.size(), results);
  for (int i = 0; i < n; ++i) release(results[i]);
  if (n >= 0) return true;
  CHECK(uh_last_error_kind() != static_cast<int>(ErrorKind::kInternal), op.schema_text(), ": ",
        uh_last_error(), " with ", arguments.text());
  CHECK(std::strlen(uh_last_error()) > 0, op.schema_text(), ": failed without a word");
  return false;
}

FUZZ(every_operator_with_random_arguments) {
  test::Random random(budget.seed);
  const auto operators = Dispatcher::instance().all();
  const int64_t before = pool_allocator().stats().live_bytes;
  std::vector<int64_t> succeeded(operators.size(), 0);
  for (int64_t round = 0; !budget.over(); ++round) {
    std::optional<test::Recording> recording;
    if (round % 4 == 3) recording.emplace(1 << 12, 1 << 18, 3);
    for (size_t i = 0; i < operators.size() && !budget.over(); ++i)
      succeeded[i] += call(*operators[i], random);
  }
  CHECK_EQ(pool_allocator().stats().live_bytes, before);
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
