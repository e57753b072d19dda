#include "jit/trace/pytorch_call.h"

#include <optional>

#include "dispatch/dispatcher.h"
#include "generated/ops/convolution.h"
#include "generated/tags.h"
#include "jit/builtins/builtin.h"
#include "jit/schema_matching/overload.h"

namespace uh::jit {
namespace {

// x.var(1) is var.dim if no correction is passed.
std::optional<PyTorchCall> without_correction(const OperatorInfo& op, const Stack& arguments) {
  if (op.schema().overload_name() != "correction" || arguments[1].is_none() ||
      !arguments[2].is_none())
    return std::nullopt;
  const OperatorInfo* plain = Dispatcher::instance().find(std::string(op.schema().name()) + ".dim");
  if (!plain) return std::nullopt;
  return PyTorchCall{plain, {arguments[0], arguments[1], true, arguments[3]}};
}

// conv1d to conv_transpose3d are all aten::_convolution in traces.
std::optional<PyTorchCall> as_convolution(const OperatorInfo& op, const Stack& arguments) {
  if (!op.has_tag(Tag::kTracedAsConvolution)) return std::nullopt;
  const FunctionSchema& schema = op.schema();
  const bool transposed = schema.index_of("output_padding") < schema.arguments.size();
  const SchemaType& stride = schema.arguments[schema.index_of("stride")].type;
  const auto n = static_cast<size_t>(stride.fixed_size);
  const auto* input = arguments[0].get_if<Tensor>();
  if (!input || input->ndim() != static_cast<int64_t>(n) + 2) return std::nullopt;
  const auto argument = [&](std::string_view name) -> IValue {
    const size_t i = schema.index_of(name);
    if (i == schema.arguments.size())
      return Dims(n, 0);  // output_padding of a convolution that is not transposed
    const Dims* dims = arguments[i].get_if<Dims>();
    return dims && dims->size() == 1 ? IValue(Dims(n, (*dims)[0])) : arguments[i];
  };
  for (const Overload* overload : overloads_of(ops::convolution_op)) {
    if (overload->schema().name() != "_convolution") continue;
    const Stack inputs = {
        arguments[0],        arguments[1],         arguments[2], argument("stride"),
        argument("padding"), argument("dilation"), transposed,   argument("output_padding"),
        argument("groups")};
    return PyTorchCall{overload, *overload->arguments_from(inputs, input->device())};
  }
  return std::nullopt;
}

// Calls for which PyTorch's functions of these names call another operator, which its traces
// contain.
std::optional<PyTorchCall> by_another_name(const OperatorInfo& op, const Stack& arguments) {
  const std::string name(op.schema().name());
  if (op.has_tag(Tag::kTracedAsLinalg)) {
    const OperatorInfo* inner = Dispatcher::instance().find("linalg_" + name);
    if (inner) return PyTorchCall{inner, arguments};
  }
  if (name == "rsub" && arguments[1].get_if<Tensor>()) {
    const OperatorInfo* sub = Dispatcher::instance().find("sub.Tensor");
    if (sub) return PyTorchCall{sub, {arguments[1], arguments[0], arguments[2]}};
  }
  // x.half(memory_format=...): a to() that is known to convert.
  if (name == "_to_copy" && !arguments[1].is_none() && arguments[2].is_none()) {
    const OperatorInfo* to = find_builtin("aten::to.dtype");
    if (to) return PyTorchCall{to, {arguments[0], arguments[1], false, false, arguments[3]}};
  }
  return std::nullopt;
}

}  // namespace

PyTorchCall to_pytorch_call(const OperatorInfo& op, const Stack& arguments, const Stack& results) {
  if (auto match = without_correction(op, arguments)) return *std::move(match);
  if (auto match = as_convolution(op, arguments)) return *std::move(match);
  if (auto match = by_another_name(op, arguments)) return *std::move(match);
  const Tensor* result = results.empty() ? nullptr : results[0].get_if<Tensor>();
  for (const Overload* overload : overloads_of(op))
    if (auto argument = overload->arguments_from(arguments, result ? result->device() : Device::kCPU))
      return {overload, *std::move(argument)};
  return {&op, arguments};
}

}  // namespace uh::jit
