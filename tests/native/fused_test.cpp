// Fusion groups compared with their operators: random programs of steps, run as one kernel and
// operator by operator, must compute the same bits.
//
// If the inputs are not all row-major and of one shape, eager mode may run the scalar form of a
// loop and the group its vector form. glibc's vector functions differ from its scalar ones in the
// last bits, so programs with such functions are then compared with a tolerance.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <set>

#include "base/json.h"
#include "base/parallel.h"
#include "check.h"
#include "dispatch/dispatcher.h"
#include "generated/ops.h"
#include "jit/fused/program.h"
#include "jit/fused/step_operators.h"

namespace uh {
namespace {

using namespace uh::jit::fused;
using test::Random;

const std::vector<DType> kDTypes = {DType::kFloat32, DType::kFloat32,  DType::kFloat32,
                                    DType::kFloat64, DType::kBFloat16, DType::kFloat16,
                                    DType::kInt64,   DType::kInt32,    DType::kBool,
                                    DType::kUInt8,   DType::kComplex64};

const std::vector<DType> kBlockDTypes = {DType::kFloat32, DType::kFloat32, DType::kFloat64};

// The number of threads is global: restored when a test ends, passed or failed.
struct Threads {
  explicit Threads(int n) : previous(get_num_threads()) { set_num_threads(n); }
  ~Threads() { set_num_threads(previous); }
  int previous;
};

void fill(const Tensor& t, Random& random) {
  const bool special = random.one_in(8);
  visit_any(t.dtype(), [&](auto zero) {
    using T = decltype(zero);
    auto* at = t.data_as<T>();
    for (int64_t i = 0; i < t.numel(); ++i) {
      const auto value = static_cast<double>(random.in(-4000, 4000)) / 1000.0;
      if constexpr (std::is_same_v<T, bool>)
        at[i] = random.one_in(2);
      else if constexpr (std::is_integral_v<T>)
        at[i] = static_cast<T>(random.in(-20, 100));
      else if (special && random.one_in(16))
        at[i] =
            T(std::array{0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1e-40f, 3e38f}[random.next() % 7]);
      else
        at[i] = T(static_cast<float>(value));
    }
  });
}

// Returns a tensor of these sizes in a random layout: row-major, transposed, or with gaps.
Tensor scattered(const Dims& sizes, DType dtype, Random& random) {
  Dims strides(sizes.size());
  std::vector<size_t> order(sizes.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  for (size_t i = order.size(); i > 1 && random.one_in(2); --i)
    std::swap(order[i - 1], order[static_cast<size_t>(random.in(0, static_cast<int64_t>(i) - 1))]);
  int64_t step = random.one_in(4) ? 2 : 1, extent = 1;
  for (size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = step;
    step *= std::max<int64_t>(sizes[order[i]], 1) + (random.one_in(6) ? 1 : 0);
  }
  for (size_t i = 0; i < sizes.size(); ++i)
    extent += (std::max<int64_t>(sizes[i], 1) - 1) * strides[i];
  const Tensor memory = empty(Dims{extent}, dtype);
  fill(memory, random);
  // Eager mode may keep unusual strides of size-1 dimensions of a row-major tensor. They have no
  // meaning but affect the order of a result, so they are normalised here.
  const Tensor result = alias(memory, {sizes, strides, 0});
  return result.is_contiguous() ? alias(memory, {sizes, contiguous_strides(sizes), 0}) : result;
}

struct Program {
  std::vector<Tensor> values;  // in eager mode: inputs, then the steps' results
  std::vector<Term> terms;
  Builder builder;
  std::vector<Tensor> inputs;
  std::vector<Tensor> expected;
  std::string text;
  bool chains = true;   // steps read results of other steps
  bool alone = false;   // a single operator on the inputs
  bool simple = false;  // only operators that machine code blocks support
  bool exact = true;    // vector and scalar forms of its loops agree

  void input(const Tensor& t) {
    inputs.push_back(t);
    values.push_back(t);
    terms.push_back(builder.input({t.dtype(), t.ndim() == 0}));
    text += "  %" + std::to_string(values.size() - 1) + " = input " + std::string(name(t.dtype())) +
            to_string(t.sizes()) + " strides " + to_string(t.strides()) + "\n";
  }
  void output(size_t i) {
    builder.output(terms[i]);
    expected.push_back(values[i]);
    text += "  return %" + std::to_string(i) + "\n";
  }
};

// Returns whether a loop's vector and scalar forms compute the same bits: not if glibc has both
// forms of a function, or if a product and a sum may be fused.
bool is_exact(const StepOperator& op) {
  const std::string_view name = op.name, expression = op.expression;
  const auto has = [&](const char* part) {
    return expression.find(part) != std::string_view::npos;
  };
  for (const char* part : {"exp",   "log",   "sin",      "cos",   "tan",  "erf",     "**",
                           "hypot", "gamma", "bessel",   "zeta",  "silu", "sigmoid", "elu",
                           "mod",   "mish",  "softplus", "slope", "//",   " % ",     "atan"}) {
    if (has(part)) return false;
  }
  // A product of two numbers is rounded before the loop; a product in the loop may not be.
  return !name.starts_with("special_") && (!has(" * ") || (!has(" + ") && !has(" - ")));
}

Scalar any_number(Random& random) {
  switch (random.in(0, 5)) {
    case 0: return Scalar(random.in(-3, 5));
    case 1: return Scalar(0.5);
    case 2: return Scalar(2);
    case 3: return Scalar(-0.25);
    case 4: return Scalar(static_cast<double>(random.in(-3000, 3000)) / 1000.0);
    default: return Scalar(1);
  }
}

// Returns an argument for the builder, and the same one boxed for the dispatcher.
std::pair<StepArgument, IValue> argument(const uh::Argument& a, bool operand, Program& p,
                                         Random& random) {
  const std::string type = a.type.without_optional().text();
  const bool optional = a.type.is(SchemaKind::kOptional);
  if (operand) {
    if (random.one_in(6)) {
      const Scalar number = any_number(random);
      return {number, number};
    }
    // Inexact results must not feed discontinuous operators: rounding, comparisons.
    const size_t terms = p.chains ? p.terms.size() : p.inputs.size();
    const auto i = static_cast<size_t>(random.in(0, static_cast<int64_t>(terms) - 1));
    p.text += " %" + std::to_string(i);
    return {p.terms[i], p.values[i]};
  }
  if (optional && random.one_in(2)) return {std::monostate(), IValue()};
  const Scalar number = type == "int"    ? Scalar(random.in(-2, 3))
                        : type == "bool" ? Scalar(random.one_in(2))
                                         : any_number(random);
  if (type == "int") return {number, number.to_int()};
  if (type == "bool") return {number, number.to_bool()};
  if (type == "float") return {number, number.to_double()};
  return {number, number};
}

// Some binary functions iterate as often as an operand's value, which may be 3e38.
bool recurs(const StepOperator& op) {
  const std::string_view name = op.name;
  return (name.starts_with("special_") || name.starts_with("igamma")) &&
         std::string_view(op.roles) == "oo";
}

// If a sum or product has two NaNs, the compiler chooses which one it returns, so their sign may
// differ.
bool shows_sign(const StepOperator& op) {
  const std::string_view name = op.name;
  return name == "signbit" || name == "copysign.Tensor";
}

bool is_simple(const StepOperator& op) { return op.postfix[0] != 0; }

// Adds a random step and returns its operator's name, or null if the step is not possible.
const char* add_step(Program& p, Random& random, bool only_exact) {
  const auto table = step_operators();
  const StepOperator& op = table[random.next() % table.size()];
  if (p.simple && !is_simple(op)) return nullptr;
  if (recurs(op)) return nullptr;
  if (!p.alone && shows_sign(op)) return nullptr;
  if (only_exact && !is_exact(op)) return nullptr;
  OperatorInfo* info = Dispatcher::instance().find(op.name);
  const std::string before = p.text;
  p.text += std::string("  %") + std::to_string(p.values.size()) + " = " + op.name;
  std::vector<StepArgument> actual;
  Stack stack;
  const auto& schema = info->schema().arguments;
  for (size_t i = 0; i < schema.size(); ++i) {
    auto [step, boxed] = argument(schema[i], op.roles[i] == 'o', p, random);
    if (const auto* number = std::get_if<Scalar>(&step)) {
      std::ostringstream out;
      out << *number;
      p.text += " " + out.str();
    }
    actual.push_back(std::move(step));
    stack.push_back(std::move(boxed));
  }
  try {
    info->call_boxed(stack);
  } catch (const Error&) {  // unsupported dtypes, or no numbers allowed
    p.text = before;
    return nullptr;
  }
  const std::optional<Term> result = p.builder.step(op.name, actual);
  if (!result) {
    p.text = before;
    return nullptr;
  }
  p.values.push_back(*stack.back().get_if<Tensor>());
  p.terms.push_back(*result);
  p.exact = p.exact && is_exact(op);
  p.text += "\n";
  CHECK(p.builder.kind(*result).dtype == p.values.back().dtype(), "dtypes\n", p.text);
  return op.name;
}

void negate(Program& p) {
  const auto result = p.builder.step("neg", std::array<StepArgument, 1>{p.terms.back()});
  if (!result) return;
  p.values.push_back(ops::neg(p.values.back()));
  p.terms.push_back(*result);
  p.text += "  neg of the last\n";
}

template <class T>
bool same_number(T a, T b, double tolerance) {
  if constexpr (is_complex_v<T>) {
    return same_number(a.re, b.re, tolerance) && same_number(a.im, b.im, tolerance);
  } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return same_number(static_cast<float>(a), static_cast<float>(b), tolerance);
  } else if constexpr (std::is_floating_point_v<T>) {
    if (a != a || b != b) return a != a && b != b;
    if (a == b) return std::signbit(a) == std::signbit(b) || tolerance > 0;
    return std::fabs(a - b) <= tolerance * std::max(std::fabs(a), std::fabs(b)) + tolerance;
  } else {
    return a == b;
  }
}

// Compares element by element, ignoring strides.
void check_same(const Tensor& result, const Tensor& expected, double tolerance,
                const std::string& text) {
  CHECK(result.sizes() == expected.sizes(), result.sizes(), " not ", expected.sizes(), "\n", text);
  CHECK(result.dtype() == expected.dtype(), "dtype\n", text);
  for (size_t d = 0; d < result.sizes().size(); ++d) {
    CHECK(result.sizes()[d] < 2 || result.strides()[d] == expected.strides()[d] ||
              result.numel() == 0,
          "strides ", result.strides(), " not ", expected.strides(), "\n", text);
  }
  const Tensor a = ops::contiguous(result), b = ops::contiguous(expected);
  visit_any(a.dtype(), [&](auto zero) {
    using T = std::conditional_t<std::is_same_v<decltype(zero), bool>, uint8_t, decltype(zero)>;
    for (int64_t i = 0; i < a.numel(); ++i) {
      const T x = a.data_as<T>()[i], y = b.data_as<T>()[i];
      if (same_number(x, y, tolerance)) continue;
      if constexpr (is_complex_v<T>)
        test::failed(__FILE__, __LINE__, "element ", i, " differs\n", text);
      else
        test::failed(__FILE__, __LINE__, "element ", i, ": ", static_cast<double>(x), ", eager ",
                     static_cast<double>(y), "\n", text);
    }
  });
}

void check_program(Program& p, Random& random, bool dense) {
  const size_t count = p.values.size();
  for (size_t i = p.inputs.size(); i < count; ++i) {
    if (i + 1 == count || (p.expected.size() < 8 && random.one_in(4))) p.output(i);
  }
  if (p.expected.empty()) return;
  const ProgramRef program = p.builder.build();
  std::vector<Tensor> outputs(p.expected.size());
  run(*program, p.inputs, outputs);
  const double tolerance = dense || p.exact ? 0 : 1e-3;
  for (size_t i = 0; i < outputs.size(); ++i)
    check_same(outputs[i], p.expected[i], tolerance, p.text);
  (void)Json::parse(describe(*program));
}

const std::vector<int64_t> kLengths = {0,   1,   2,   15,   16,   17,   63,   64,   65,   255, 256,
                                       511, 512, 513, 1000, 1023, 1024, 1025, 1536, 1537, 5000};

void random_dense(Random& random, bool simple) {
  Program p;
  p.simple = simple;
  const Dims sizes =
      random.one_in(4) ? Dims{random.in(1, 40), random.in(1, 40)} : Dims{random.of(kLengths)};
  const int64_t n = random.in(1, 4);
  for (int64_t i = 0; i < n; ++i) {
    const Tensor t = empty(sizes, simple ? random.of(kBlockDTypes) : random.of(kDTypes));
    fill(t, random);
    p.input(t);
  }
  for (int64_t i = random.in(1, simple ? 300 : 40); i > 0; --i) add_step(p, random, false);
  check_program(p, random, true);
}

void random_shapes(Random& random, bool exact) {
  Program p;
  p.chains = exact;
  Dims shape;
  for (int64_t d = random.in(0, 4); d > 0; --d)
    shape.push_back(random.one_in(12) ? 0 : random.one_in(6) ? random.in(1, 600) : random.in(1, 7));
  if (numel_of(shape) > 200000) return;
  const int64_t n = random.in(1, 5);
  for (int64_t i = 0; i < n; ++i) {
    const auto skipped = static_cast<size_t>(random.one_in(3) ? random.in(0, shape.ndim()) : 0);
    Dims sizes(IntSpan(shape.data() + skipped, shape.size() - skipped));
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (random.one_in(5)) sizes[d] = 1;
    }
    p.input(scattered(sizes, random.of(kDTypes), random));
  }
  for (int64_t i = random.in(1, 25); i > 0; --i) add_step(p, random, exact);
  check_program(p, random, false);
}

Term must(std::optional<Term> term) {
  CHECK(term.has_value());
  return *term;
}

}  // namespace

FUZZ(fused_programs_of_one_shape) {
  const Threads single(1);
  for (uint64_t i = 0; i < 50 || !budget.over(); ++i) {
    Random random(budget.seed * 1000003 + i);
    random_dense(random, i % 3 == 0);
  }
}

FUZZ(fused_programs_of_any_shape) {
  for (uint64_t i = 0; i < 50 || !budget.over(); ++i) {
    Random random(budget.seed * 1000003 + i);
    random_shapes(random, i % 2 == 0);
  }
}

TEST(fused_every_operator_alone) {
  const Threads single(1);
  Random random(7);
  std::set<std::string> seen;
  for (int round = 0; round < 12000; ++round) {
    Program p;
    p.alone = true;
    const DType dtype = random.of(kDTypes);
    for (int i = 0; i < 3; ++i) {
      const Tensor t = empty(Dims{513}, random.one_in(4) ? random.of(kDTypes) : dtype);
      fill(t, random);
      p.input(t);
    }
    if (const char* name = add_step(p, random, false)) {
      seen.insert(name);
      negate(p);  // a second step that may share a block with it
    }
    check_program(p, random, true);
  }
  for (const StepOperator& op : step_operators())
    CHECK(seen.contains(op.name) || recurs(op), op.name, " was never a step");
}

TEST(fused_reductions) {
  Random random(3);
  for (int round = 0; round < 300; ++round) {
    const DType dtype = random.of(std::vector{DType::kFloat32, DType::kFloat64, DType::kBFloat16});
    const std::vector<int64_t> lengths = {1, 2, 3, 7, 33, 300, 513, 1024, 40000};
    Dims sizes{random.in(1, 6), random.in(1, 5), random.of(lengths)};
    const Tensor x = scattered(sizes, dtype, random);
    const Tensor y = scattered(random.one_in(2) ? sizes : Dims{sizes[2]}, dtype, random);
    const int dims = static_cast<int>(random.of(std::vector<int64_t>{-1, 1, 2, 3}));
    const bool keepdim = random.one_in(2);
    Builder b;
    const Term tx = b.input({dtype}), ty = b.input({dtype});
    const Term z = must(b.step("mul.Tensor", std::array<StepArgument, 2>{tx, ty}));
    for (const char* op : {"aten::sum", "mean", "aten::amax", "amin", "nansum"})
      CHECK(b.reduce(op, z, dims, keepdim));
    CHECK(!b.reduce("std", z, dims));
    CHECK(!b.reduce("sum", z, dims == 1 ? 2 : 1));
    if (round % 2) b.output(z);
    const ProgramRef program = b.build();
    std::vector<Tensor> result(output_count(*program));
    run(*program, std::array{x, y}, result);
    const Tensor product = ops::mul(x, y);
    std::optional<Dims> over;
    if (dims > 0) over = Dims();
    for (int d = 0; d < dims; ++d) over->push_back(-1 - d);
    if (keepdim && dims < 0) over = Dims{0, 1, 2};
    const double near = dtype == DType::kBFloat16 ? 0.02 : 1e-5;
    const std::string text = to_string(sizes) + " dims " + std::to_string(dims);
    check_same(result[0], ops::sum(product, over, keepdim), near, text);
    check_same(result[1], ops::mean(product, over, keepdim), near, text);
    check_same(result[2], ops::amax(product, over, keepdim), 0, text);
    check_same(result[3], ops::amin(product, over, keepdim), 0, text);
    check_same(result[4], ops::nansum(product, over, keepdim), near, text);
    if (round % 2) check_same(result[5], product, 0, text);
  }
}

TEST(fused_reductions_do_not_depend_on_threads) {
  const Tensor x = empty(Dims{3, 100003}, DType::kFloat32);
  Random random(5);
  fill(x, random);
  Builder b;
  const Term tx = b.input({DType::kFloat32});
  CHECK(b.reduce("sum", must(b.step("sigmoid", std::array<StepArgument, 1>{tx})), 1));
  const ProgramRef program = b.build();
  std::array<Tensor, 1> by_one, by_three;
  {
    const Threads threads(1);
    run(*program, std::array{x}, by_one);
  }
  const Threads threads(3);
  run(*program, std::array{x}, by_three);
  CHECK(std::memcmp(by_one[0].data(), by_three[0].data(), 12) == 0);
}

TEST(fused_composites_and_numbers) {
  Random random(11);
  const Tensor x = empty(Dims{30, 41}, DType::kFloat32), m = empty(Dims{41}, DType::kBool);
  fill(x, random);
  fill(m, random);
  Builder b;
  const Term tx = b.input({DType::kFloat32}), tm = b.input({DType::kBool});
  const Term n = b.number(Scalar::Kind::kFloat);
  using A = StepArgument;
  b.output(must(b.step("aten::gelu", std::array<A, 2>{tx, std::string("none")})));
  b.output(must(b.step("aten::gelu", std::array<A, 2>{tx, std::string("tanh")})));
  b.output(must(b.step("square", std::array<A, 1>{tx})));
  b.output(must(b.step("masked_fill.Scalar", std::array<A, 3>{tx, tm, Scalar(-1.5)})));
  b.output(must(b.step("_to_copy", std::array<A, 4>{tx, DType::kInt32, A(), A()})));
  b.output(must(b.step("div.Tensor_mode", std::array<A, 3>{tx, n, std::string("floor")})));
  b.output(must(b.step("mul.Tensor", std::array<A, 2>{tm, n})));
  b.output(tx);
  CHECK(!b.step("gelu", std::array<A, 2>{tx, std::string("no")}));
  CHECK(!b.step("masked_fill.Scalar", std::array<A, 3>{tm, tm, Scalar(-1.5)}));
  CHECK(!b.step("aten::matmul", std::array<A, 2>{tx, tx}));
  CHECK(!b.step("add.Tensor", std::array<A, 2>{tx, tx}));  // alpha is missing
  const ProgramRef p = b.build();
  std::vector<Tensor> result(8);
  run(*p, std::array{x, m}, result, std::array{Scalar(0.75)});
  const auto same = [&](size_t i, const Tensor& t) { check_same(result[i], t, 1e-6, "composite"); };
  same(0, ops::gelu(x, "none"));
  same(1, ops::gelu(x, "tanh"));
  same(2, ops::square(x));
  same(3, ops::masked_fill_Scalar(x, m, Scalar(-1.5)));
  same(4, ops::_to_copy(x, DType::kInt32));
  same(5, ops::div_Tensor_mode(x, Scalar(0.75), "floor"));
  same(6, ops::mul(m, Scalar(0.75)));
  same(7, x);
  CHECK(!result[7].is_same(x));
}

TEST(fused_groups_refuse) {
  using K = StepArgumentKind;
  const TermKind ints{DType::kInt64}, floats{DType::kFloat32}, bools{DType::kBool};
  CHECK(!can_fuse("floor_divide", std::array<K, 2>{ints, ints}));
  CHECK(can_fuse("floor_divide", std::array<K, 2>{floats, ints})->dtype == DType::kFloat32);
  CHECK(!can_fuse("sub.Tensor", std::array<K, 3>{bools, bools, Scalar(1)}));
  CHECK(!can_fuse("clamp", std::array<K, 3>{floats, K(), K()}));
  CHECK(!can_fuse("pow.Tensor_Tensor", std::array<K, 2>{ints, Scalar(-1)}));
  CHECK(can_fuse("div.Tensor", std::array<K, 2>{ints, ints})->dtype == DType::kFloat32);
  CHECK(can_fuse("mul.Tensor", std::array<K, 2>{floats, TermKind{DType::kFloat64, true}})->dtype ==
        DType::kFloat32);
  CHECK(can_fuse("aten::lt.Tensor", std::array<K, 2>{floats, Scalar(1)})->dtype == DType::kBool);

  Builder b;
  const Term x = b.input(floats), y = b.input(floats);
  b.output(must(b.step("mul.Tensor", std::array<StepArgument, 2>{x, y})));
  const ProgramRef p = b.build();
  std::array<Tensor, 1> out;
  const Tensor two = empty(Dims{2}, DType::kFloat32), three = empty(Dims{3}, DType::kFloat32);
  CHECK_FAILS(run(*p, std::array{two, three}, out), "must match");
  CHECK_FAILS(run(*p, std::array{two, empty(Dims{2}, DType::kInt64)}, out), "input 1");
  CHECK_FAILS(run(*p, std::array{two}, out), "2 inputs");
  CHECK_FAILS(run(*p, std::array{two, empty(Dims{}, DType::kFloat32)}, out), "dimensions");
}

}  // namespace uh
