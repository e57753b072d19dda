// The Builder: turns operators into steps, with conversions and numbers as operands.
#include <algorithm>
#include <bit>
#include <cstring>

#include "backend/cpu/copy/elements.h"
#include "jit/fused/steps.h"
#include "ops/promotion.h"

namespace uh::jit::fused {
namespace {

const StepOperator* find_operator(std::string_view name) {
  const auto table = step_operators();
  const auto at = std::lower_bound(
      table.begin(), table.end(), name,
      [](const StepOperator& op, std::string_view n) { return std::string_view(op.name) < n; });
  return at != table.end() && at->name == name ? &*at : nullptr;
}

std::string_view plain(std::string_view name) {
  return name.starts_with("aten::") ? name.substr(6) : name;
}

// A tensor of that kind without bytes, for the rules of dtype promotion.
const Tensor& example(TermKind kind) {
  static const auto result = [] {
    std::array<std::array<Tensor, 2>, kDTypeCount> all;
    for (size_t d = 0; d < kDTypeCount; ++d) {
      all[d][0] = empty(Dims{1}, static_cast<DType>(d), Device::kMeta);
      all[d][1] = empty(Dims{}, static_cast<DType>(d), Device::kMeta);
    }
    return all;
  }();
  return result[static_cast<size_t>(kind.dtype)][kind.zero_dim];
}

template <class To, class From>
void convert(char* const* data, const int64_t*, int64_t n, const Params&) {
  cast_run(data[0], dtype_of<To>::value, data[1], dtype_of<From>::value, n);
}
LoopFn conversion(DType to, DType from) {
  return visit_any(to, [&](auto t) {
    return visit_any(from, [](auto f) -> LoopFn { return convert<decltype(t), decltype(f)>; });
  });
}

Scalar example_number(Scalar::Kind kind) {
  switch (kind) {
    case Scalar::Kind::kBool: return Scalar(true);
    case Scalar::Kind::kInt: return Scalar(1);
    case Scalar::Kind::kFloat: return Scalar(1.0);
    case Scalar::Kind::kComplex: break;
  }
  return Scalar(Complex128(1));
}

bool same(const Scalar& a, const Scalar& b) {
  if (a.kind() != b.kind()) return false;
  if (a.kind() < Scalar::Kind::kFloat) return a.to_int() == b.to_int();
  const Complex128 x = a.to_complex(), y = b.to_complex();
  return std::bit_cast<int64_t>(x.re) == std::bit_cast<int64_t>(y.re) &&
         std::bit_cast<int64_t>(x.im) == std::bit_cast<int64_t>(y.im);
}

// The arguments of one call, before any step is added.
struct Call {
  const StepOperator* op;
  std::vector<StepArgument> operands;  // terms and numbers
  std::vector<std::optional<Scalar>> params;
};

// Sorts the arguments by role; nullopt if one is neither a number nor a tensor.
std::optional<Call> by_role(const StepOperator& op, std::span<const StepArgument> arguments) {
  Call call{&op, {}, std::vector<std::optional<Scalar>>(Params::kMaxCount)};
  const std::string_view roles = op.roles;
  if (arguments.size() != roles.size()) return std::nullopt;
  size_t params = 0;
  for (size_t i = 0; i < roles.size(); ++i) {
    const StepArgument& a = arguments[i];
    if (roles[i] == 'o') {
      if (!std::holds_alternative<Term>(a) && !std::holds_alternative<Scalar>(a))
        return std::nullopt;
      call.operands.push_back(a);
    } else if (const auto* number = std::get_if<Scalar>(&a)) {
      call.params[params++] = *number;
    } else if (std::holds_alternative<std::monostate>(a)) {
      ++params;
    } else {
      return std::nullopt;
    }
  }
  return call;
}

// The dtype that the operator computes in; nullopt if it rejects the arguments or no step can do
// it.
std::optional<DType> computed_dtype(const StepOperator& op, std::span<const Input> inputs,
                                    const Params& params) {
  try {
    const DType dtype = compute_dtype(*op.op, inputs, params);
    if (op.op->check) op.op->check(*op.op, inputs, params, dtype);
    const Input& first = inputs[0];
    const bool refused = op.op->promotion == Promotion::kWhere &&
                         (first.is_number() || (first.tensor.dtype() != DType::kBool &&
                                                first.tensor.dtype() != DType::kUInt8));
    // A tensor without dimensions is converted by a step, which rounds it.
    const Input& last = inputs.back();
    const bool rounds = reads_exact_number(*op.op, last, dtype) && !last.is_number();
    const bool divides = op.refuses_zero && !is_inexact(dtype);
    if (refused || rounds || divides || !op.op->loops()[static_cast<size_t>(dtype)])
      return std::nullopt;
    return dtype;
  } catch (const Error&) {
    return std::nullopt;  // the operator reports the error when it runs unfused
  }
}

}  // namespace

Builder::Builder() : program_(std::make_shared<FusedKernel>()) {}
Builder::~Builder() = default;
Builder::Builder(Builder&&) noexcept = default;

Term Builder::input(TermKind kind) {
  FusedKernel& p = *program_;
  check(p.inputs.size() < kMaxInputs, "FusedKernel: more than ", kMaxInputs, " inputs");
  const auto id = static_cast<int>(p.items.size());
  p.items.push_back({Item::ItemKind::kInput, kind, static_cast<int>(p.inputs.size())});
  p.inputs.push_back(id);
  return {id};
}

Term Builder::number(Scalar::Kind kind) {
  FusedKernel& p = *program_;
  check(p.launch_numbers.size() < kMaxNumbers, "FusedKernel: more than ", kMaxNumbers, " numbers");
  const auto id = static_cast<int>(p.items.size());
  const DType dtype = example_number(kind).dtype(default_dtype());
  p.items.push_back(
      {Item::ItemKind::kGiven, {dtype, true}, static_cast<int>(p.launch_numbers.size())});
  p.launch_numbers.push_back(id);
  p.given_kinds.push_back(kind);
  return {id};
}

TermKind Builder::kind(Term term) const {
  return program_->items[static_cast<size_t>(term.id)].kind;
}

bool Builder::is_tensor(Term term) const {
  const Item::ItemKind is = program_->items[static_cast<size_t>(term.id)].is;
  return is == Item::ItemKind::kInput || is == Item::ItemKind::kStep;
}

// Finds or adds the item of a number in the dtype it is read in.
int FusedKernel::number_item(const Number& expected) {
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].is != Item::ItemKind::kNumber) continue;
    const Number& number = numbers[static_cast<size_t>(items[i].index)];
    if (number.launch_index == expected.launch_index && number.dtype == expected.dtype &&
        same(number.value, expected.value))
      return static_cast<int>(i);
  }
  items.push_back(
      {Item::ItemKind::kNumber, {expected.dtype, true}, static_cast<int>(numbers.size())});
  numbers.push_back(expected);
  if (expected.launch_index < 0) numbers.back().slot = number_slot(expected.value, expected.dtype);
  return static_cast<int>(items.size()) - 1;
}

int FusedKernel::add(Step step, TermKind result_kind) {
  step.result = static_cast<int>(items.size());
  items.push_back({Item::ItemKind::kStep, result_kind, static_cast<int>(steps.size())});
  steps.push_back(std::move(step));
  return steps.back().result;
}

// The converted item; reuses an earlier conversion.
int FusedKernel::converted(int id, DType dtype, bool copy) {
  const Item source = items[static_cast<size_t>(id)];
  if (source.kind.dtype == dtype && !copy) return id;
  for (const Step& step : steps) {
    const TermKind result_kind = items[static_cast<size_t>(step.result)].kind;
    if (!step.op && step.operands[0] == id && result_kind.dtype == dtype) return step.result;
  }
  return add_conversion(id, dtype);
}

bool FusedKernel::is_number(int id) const {
  const Item::ItemKind is = items[static_cast<size_t>(id)].is;
  return is == Item::ItemKind::kNumber || is == Item::ItemKind::kGiven;
}

int FusedKernel::add_conversion(int id, DType dtype) {
  const Item source = items[static_cast<size_t>(id)];
  Step step;
  step.loop = conversion(dtype, source.kind.dtype);
  step.params = std::make_shared<Params>();
  step.dtype = dtype;
  step.arity = 1;
  step.operands[0] = step.unconverted[0] = id;
  step.strides = ResultStrides::kOperand;
  return add(std::move(step), {dtype, source.kind.zero_dim});
}

std::optional<Term> Builder::step(std::string_view name, std::span<const StepArgument> arguments) {
  name = plain(name);
  FusedKernel& p = *program_;
  // A step needs at most one conversion per operand, an expansion a few steps, an output a copy.
  if (p.steps.size() + 8 + kMaxOutputs > kMaxSteps || p.numbers.size() + 8 > kMaxNumbers)
    return std::nullopt;
  const StepOperator* op = find_operator(name);
  if (!op) return expand(name, arguments);
  const std::optional<Call> call = by_role(*op, arguments);
  if (!call) return std::nullopt;

  std::vector<Operand> operands;  // as passed to the operator
  bool zero_dim = true, tensors = false;
  for (const StepArgument& a : call->operands) {
    const auto* term = std::get_if<Term>(&a);
    const Item* item = term ? &p.items[static_cast<size_t>(term->id)] : nullptr;
    if (!item) {
      operands.emplace_back(std::get<Scalar>(a));
    } else if (item->is == Item::ItemKind::kGiven) {
      if (op->op->check) return std::nullopt;  // the check needs the value, which is unknown
      operands.emplace_back(example_number(p.given_kinds[static_cast<size_t>(item->index)]));
    } else {
      operands.emplace_back(example(item->kind));
      zero_dim = zero_dim && item->kind.zero_dim;
      tensors = true;
    }
  }
  if (!tensors) return std::nullopt;
  const auto& argument = call->params;
  Step step;
  step.op = op;
  const auto params = std::make_shared<Params>(std::initializer_list<std::optional<Scalar>>{
      argument[0], argument[1], argument[2], argument[3]});
  const std::vector<Input> inputs(operands.begin(), operands.end());
  const std::optional<DType> dtype = computed_dtype(*op, inputs, *params);
  if (!dtype) return std::nullopt;
  if (reads_exact_number(*op->op, inputs.back(), *dtype)) params->mark_exact_number();
  step.params = params;
  step.dtype = *dtype;
  step.loop = op->op->loops()[static_cast<size_t>(*dtype)];
  step.strides = strides_rule(*op->op, *dtype, inputs);
  step.arity = operands.size();
  for (size_t i = 0; i < operands.size(); ++i) {
    const DType expected_dtype = operand_dtype(*op->op, i, *dtype);
    const auto* term = std::get_if<Term>(&call->operands[i]);
    const Item* item = term ? &p.items[static_cast<size_t>(term->id)] : nullptr;
    if (!item)
      step.operands[i] = p.number_item({operands[i].number, -1, expected_dtype});
    else if (item->is == Item::ItemKind::kGiven)
      step.operands[i] = p.number_item({Scalar(), item->index, expected_dtype});
    else
      step.operands[i] = p.converted(term->id, expected_dtype);
    step.unconverted[i] = term ? term->id : step.operands[i];
  }
  return Term{p.add(std::move(step), {result_dtype(*op->op, *dtype), zero_dim})};
}

void Builder::output(Term term) {
  FusedKernel& p = *program_;
  check(p.outputs.size() < kMaxOutputs, "FusedKernel: more than ", kMaxOutputs, " outputs");
  const Item item = p.items[static_cast<size_t>(term.id)];
  check(is_tensor(term), "FusedKernel: a scalar cannot be an output");
  // Each output is a separate tensor, as the caller may write to it: a copy if it is an input or
  // another output.
  const bool own = item.is == Item::ItemKind::kStep &&
                   std::none_of(p.outputs.begin(), p.outputs.end(), [&](const Output& other) {
                     return !other.fold && other.item == term.id;
                   });
  const int id = own ? term.id : p.add_conversion(term.id, item.kind.dtype);
  p.outputs.push_back({.item = id, .dtype = item.kind.dtype});
}

bool Builder::reduce(std::string_view op, Term term, int dims, bool keepdim) {
  FusedKernel& p = *program_;
  const FoldOperator* reduction = find_fold_operator(plain(op));
  const TermKind kind = this->kind(term);
  const bool other = p.reduces() && p.reduced_dims != dims;
  if (!reduction || p.outputs.size() >= kMaxOutputs || !is_floating(kind.dtype) || kind.zero_dim ||
      other)
    return false;
  const DType folded = is_reduced_floating(kind.dtype) ? DType::kFloat32 : kind.dtype;
  p.outputs.push_back({.item = p.converted(term.id, folded),
                       .reduction = reduction,
                       .fold = &reduction->fold(folded),
                       .dtype = kind.dtype,
                       .keepdim = keepdim});
  p.reduced_dims = dims;
  return true;
}

ProgramRef Builder::build() {
  program_->plan();
  return std::exchange(program_, std::make_shared<FusedKernel>());
}

std::optional<TermKind> can_fuse(std::string_view op, std::span<const StepArgumentKind> arguments) {
  Builder scratch;
  std::vector<StepArgument> argument;
  for (const StepArgumentKind& a : arguments) {
    argument.push_back(std::visit(
        [&](const auto& v) -> StepArgument {
          if constexpr (std::is_same_v<std::decay_t<decltype(v)>, TermKind>)
            return scratch.input(v);
          else
            return v;
        },
        a));
  }
  const std::optional<Term> result = scratch.step(op, argument);
  return result ? std::optional(scratch.kind(*result)) : std::nullopt;
}

}  // namespace uh::jit::fused
