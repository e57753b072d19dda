// Expands an operator into several steps: the operators that its composite kernel calls.
#include <algorithm>

#include "jit/fused/steps.h"
#include "ops/copy/element.h"

namespace uh::jit::fused {
namespace {

using Arguments = std::span<const StepArgument>;

bool fits(const Scalar& value, DType dtype) {
  if (category(value.dtype(DType::kFloat32)) > category(dtype)) return false;
  try {
    element_bytes(value, dtype);
  } catch (const Error&) {
    return false;
  }
  return true;
}

}  // namespace

std::optional<Term> Builder::expand(std::string_view name, Arguments arguments) {
  const auto none = [&](size_t from) {
    return std::all_of(arguments.begin() + static_cast<ptrdiff_t>(from), arguments.end(),
                       [](const StepArgument& a) { return a.index() == 0; });
  };
  const auto tensor = [&](size_t i) -> const Term* {
    const auto* term = i < arguments.size() ? std::get_if<Term>(&arguments[i]) : nullptr;
    return term && is_tensor(*term) ? term : nullptr;
  };
  const Term* self = tensor(0);
  if (!self) return std::nullopt;
  const DType dtype = kind(*self).dtype;

  if (name == "gelu" && arguments.size() == 2) {
    const auto* approximate = std::get_if<std::string>(&arguments[1]);
    if (!approximate || (*approximate != "none" && *approximate != "tanh")) return std::nullopt;
    return step("_gelu_" + *approximate, std::array<StepArgument, 1>{*self});
  }
  if (name == "square" && arguments.size() == 1) {
    if (is_complex(dtype)) return step("mul.Tensor", std::array<StepArgument, 2>{*self, *self});
    return step("pow.Tensor_Tensor", std::array<StepArgument, 2>{*self, Scalar(2)});
  }
  if (name == "div.Tensor_mode" && arguments.size() == 3) {
    const std::array<StepArgument, 2> operands{*self, arguments[1]};
    if (none(2)) return step("div.Tensor", operands);
    const auto* mode = std::get_if<std::string>(&arguments[2]);
    if (!mode || (*mode != "floor" && *mode != "trunc")) return std::nullopt;
    return step("_div_" + *mode, operands);
  }
  if (name == "masked_fill.Scalar" && arguments.size() == 3) {
    const Term* mask = tensor(1);
    const auto* value = std::get_if<Scalar>(&arguments[2]);
    if (!mask || kind(*mask).dtype != DType::kBool || !value || !fits(*value, dtype))
      return std::nullopt;
    const auto result = step("where.self", std::array<StepArgument, 3>{*mask, *value, *self});
    if (result) program_->steps.back().strides = ResultStrides::kRowMajor;
    return result;
  }
  // dtype, device, memory_format: only the first is supported.
  if (name == "_to_copy" && arguments.size() == 4 && none(2)) {
    const auto* to = std::get_if<DType>(&arguments[1]);
    if (!to || (is_complex(dtype) && !is_complex(*to))) return std::nullopt;
    return Term{program_->converted(self->id, *to, *to == dtype)};
  }
  return std::nullopt;
}

}  // namespace uh::jit::fused
