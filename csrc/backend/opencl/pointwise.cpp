#include "backend/opencl/pointwise.h"

#include "backend/cpu/pointwise.h"
#include "generated/ops/copy.h"
#include "memory/device_registry.h"
#include "ops/copy/device_copy.h"
#include "ops/copy/element.h"
#include "ops/cpu_fallback.h"
#include "ops/promotion.h"

namespace uh::opencl {
namespace {

const PointwiseProgram& program_of(const PointwiseOp& op) {
  static const auto* table = [] {
    auto* all = new std::unordered_map<const PointwiseOp*, const PointwiseProgram*>;  // leaked
    for (const PointwiseProgram& program : pointwise_programs()) (*all)[program.op] = &program;
    return all;
  }();
  return *table->at(&op);
}

size_t text_index(DType dtype) {
  return is_complex(dtype)          ? 4
         : dtype == DType::kFloat64 ? 3
         : is_floating(dtype)       ? 2
         : dtype == DType::kBool    ? 0
                                    : 1;
}

// The largest finite number of the dtype in which the elements are stored.
const char* largest(DType dtype) {
  switch (dtype) {
    case DType::kFloat16: return "65504.0f";
    case DType::kBFloat16: return "0x1.fep127f";
    case DType::kFloat64: return "DBL_MAX";
    default: return "FLT_MAX";
  }
}

Elementwise make_expression(const void* context) {
  const auto& expression = *static_cast<const DeviceExpression*>(context);
  Defines defines;
  if (expression.text->doubles) defines.text("NEEDS_DOUBLE", "1");
  for (const auto& [name, type] : expression.types()) defines.text(name, type);
  Elementwise operation{.name = expression.program->op->name,
                        .functions = {},
                        .defines = defines.lines(),
                        .counts_zero_division = expression.text->zero_division};
  for (const std::string_view function : expression.functions()) operation.functions += function;
  return operation;
}

// The operands in the form of the kernel's arguments: tensors of one dtype on the device, numbers.
struct Operands {
  std::vector<Tensor> tensors;
  std::vector<Number> numbers;
  std::string order;
  bool last_is_zero = true;  // as far as it is known

  Operands(const PointwiseOp& op, std::span<const Input> inputs, DType dtype, Device device) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const DType expected = operand_dtype(op, i, dtype);
      const Tensor& t = inputs[i].tensor;
      const bool number = inputs[i].is_number() || (is_host(t.device()) && t.ndim() == 0);
      order += number ? 'n' : 'a';
      last_is_zero = true;
      if (number) {
        const Scalar value = inputs[i].is_number() ? inputs[i].number : read_scalar(t);
        numbers.push_back(number_of(expected, value));
        last_is_zero = !value.to_bool();
      } else {
        const bool fits = t.dtype() == expected && t.device() == device;
        tensors.push_back(fits ? t : ops::_to_copy(t, expected, device, MemoryFormat::kUndefined));
      }
    }
  }
};

}  // namespace

std::map<std::string_view, std::string> DeviceExpression::types() const {
  std::map<std::string_view, std::string> types;
  types["T"] = Defines::computed_type(dtype);
  types["R"] = to_real(dtype) == DType::kFloat64 ? "double" : "float";
  if (is_integral(dtype)) types["UT"] = dtype == DType::kInt64 ? "ulong" : "uint";
  if (is_floating(dtype)) types["LARGEST"] = largest(dtype);
  return types;
}

std::vector<std::string_view> DeviceExpression::functions() const {
  std::vector<std::string_view> all;
  if (is_complex(dtype)) all.push_back(sources::complex);
  for (const char* const* helper = text->helpers; helper && *helper; ++helper)
    all.push_back(*helper);
  all.push_back(text->apply);
  return all;
}

std::optional<DeviceExpression> expression_of(const PointwiseOp& op, DType dtype,
                                              const OpenclDevice& device) {
  const PointwiseProgram& program = program_of(op);
  const PointwiseText& text = program.expressions[text_index(dtype)];
  const bool doubles = text.doubles || dtype == DType::kFloat64 || dtype == DType::kComplex128;
  if (!text.apply || (doubles && !device.has_double)) return std::nullopt;
  if (is_reduced_floating(dtype) && !program.widened) return std::nullopt;
  return DeviceExpression{&program, &text, dtype};
}

void add_parameters(std::vector<Number>& numbers, const DeviceExpression& expression,
                    const Params& params) {
  const DType dtype = expression.dtype;
  for (size_t i = 0; expression.program->parameters[i]; ++i) {
    const Scalar value = params[i] ? *params[i] : Scalar(0);
    switch (expression.program->parameters[i]) {
      case 'T': numbers.push_back(number_of(dtype, value)); break;
      case 'R':
        numbers.push_back(number_of(is_inexact(dtype) ? to_real(dtype) : DType::kFloat32, value));
        break;
      case 'l': numbers.push_back(Number::of("long", value.to_int())); break;
      default: numbers.push_back(Number::of("int", int32_t{value.to_bool()}));
    }
    numbers.push_back(Number::of("int", int32_t{params.has(i)}));
  }
}

Tensor run_pointwise(const PointwiseOp& op, Form form, std::span<const Input> inputs,
                     const Params& params, const Tensor& target) {
  const PointwiseCall call = plan_pointwise(op, form, inputs, params, target);
  if (call.written.numel() == 0) {
    finish_pointwise(op, call, params);
    return call.out;
  }
  const OpenclDevice& device = device_of(call.written.device());
  const auto expression = expression_of(op, call.compute, device);
  if (!expression) {
    count_cpu_fallback(std::string("aten::") + op.name);
    std::vector<Tensor> copies(inputs.size());
    std::vector<Input> on_host;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Tensor& t = inputs[i].tensor;
      if (!inputs[i].is_number()) copies[i] = is_host(t.device()) ? t : copy_to_host(t);
      on_host.push_back(inputs[i].is_number() ? inputs[i] : Input(copies[i]));
    }
    ops::copy_(call.written, uh::run_pointwise(op, Form::kFunctional, on_host, params, Tensor()),
               false);
  } else {
    Operands operands(op, inputs, call.compute, device.device);
    add_parameters(operands.numbers, *expression, params);
    const bool divided = run_elementwise({.operation = expression->program,
                                          .compute = call.compute,
                                          .make = make_expression,
                                          .context = &*expression,
                                          .results = std::span(&call.written, 1),
                                          .operands = operands.tensors,
                                          .numbers = operands.numbers,
                                          .order = operands.order,
                                          .may_divide_by_zero = operands.last_is_zero});
    if (divided) params.divided_by_zero();
  }
  finish_pointwise(op, call, params);
  return call.out;
}

}  // namespace uh::opencl
