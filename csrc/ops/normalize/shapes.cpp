#include "ops/normalize/shapes.h"

#include <algorithm>

#include "tensor/memory_format.h"

namespace uh {

NormalizedRows normalized_rows(const Tensor& input, const Dims& shape, const Tensor& weight,
                               const Tensor& bias, std::string_view op) {
  check(!shape.empty(), op, ": Expected normalized_shape to be at least 1-dimensional, i.e., ",
        "containing at least one element, but got normalized_shape = ", shape);
  const auto parameter = [&](const Tensor& p, const char* parameter_name) {
    check(!p || p.sizes() == shape, op, ": Expected ", parameter_name, " to be of same shape as ",
          "normalized_shape, but got ", parameter_name, " of shape ", p ? p.sizes() : shape,
          " and normalized_shape = ", shape);
  };
  parameter(weight, "weight");
  parameter(bias, "bias");
  const size_t first = input.sizes().size() - std::min(shape.size(), input.sizes().size());
  const IntSpan last(input.sizes().data() + first, input.sizes().size() - first);
  check(input.sizes().size() >= shape.size() && Dims(last) == shape, op,
        ": Given normalized_shape=", shape, ", expected input with shape [*, ...] ending in it, ",
        "but got input of size", input.sizes());
  NormalizedRows rows;
  for (size_t d = 0; d < input.sizes().size(); ++d) {
    (d < first ? rows.count : rows.n) *= input.sizes()[d];
    rows.statistics.push_back(d < first ? input.sizes()[d] : 1);
  }
  return rows;
}

void check_groups(int64_t channels, int64_t groups) {
  check(groups > 0, "group_norm: Expected num groups to be greater than 0, got ", groups);
  check(channels % groups == 0,
        "group_norm: Expected number of channels in input to be divisible by num_groups, but got ",
        channels, " channels and num_groups=", groups);
}

}  // namespace uh

namespace uh::shapes {
namespace {

// Throws for integers, and for a parameter whose dtype is neither the input's nor float32 with a
// 16-bit input.
void check_parameter_dtypes(const Tensor& input, std::initializer_list<Tensor> parameters,
                            std::string_view op) {
  check_kind(is_floating(input.dtype()), ErrorKind::kNotImplemented, "\"", op,
             "\" not implemented for '", info(input.dtype()).title, "'");
  bool mixed = false, same = false;
  for (const Tensor& parameter : parameters) {
    if (!parameter) continue;
    if (parameter.dtype() == input.dtype()) {
      same = true;
      continue;
    }
    mixed = true;
    check(is_reduced_floating(input.dtype()) && parameter.dtype() == DType::kFloat32, op,
          ": mixed dtype (CPU): expect parameter to have scalar type of Float, got input ",
          name(input.dtype()), " and parameter ", name(parameter.dtype()));
  }
  check(!(mixed && same), op,
        ": mixed dtype (CPU): all the parameters are expected to have the scalar type Float");
}

void check_group_parameter(const Tensor& parameter, int64_t channels, const char* parameter_name) {
  check(!parameter || (parameter.ndim() == 1 && parameter.numel() == channels),
        "group_norm: Expected ", parameter_name,
        " to be a vector of size equal to the number of channels in input, but got ",
        parameter_name, " of shape ", parameter ? parameter.sizes() : Dims(), " and ", channels,
        " channels");
}

void check_batch_parameter(const Tensor& parameter, int64_t channels, const char* parameter_name) {
  check(!parameter || parameter.numel() == channels, "batch_norm: ", parameter_name,
        " should contain ", channels, " elements not ", parameter ? parameter.numel() : 0);
}

// Returns a result like `input`: in the input's channels-last format, else row-major.
Tensor like_input(const Tensor& input) {
  MemoryFormat format = MemoryFormat::kContiguous;
  if (!input.is_contiguous()) {
    for (MemoryFormat other : {MemoryFormat::kChannelsLast, MemoryFormat::kChannelsLast3d})
      if (is_contiguous(input, other)) format = other;
  }
  return empty(input.sizes(), input.dtype(), input.device(), format);
}

Tensor row_major_like(const Tensor& input) {
  return empty(input.sizes(), input.dtype(), input.device());
}

// Returns the dtype of saved statistics: float32 for float32 parameters of 16-bit inputs, else the
// input's.
DType saved_dtype(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  const Tensor& parameter = weight ? weight : bias;
  return parameter ? parameter.dtype() : input.dtype();
}

}  // namespace

Three native_layer_norm(const Tensor& input, const Dims& normalized_shape, const Tensor& weight,
                        const Tensor& bias) {
  const NormalizedRows rows = normalized_rows(input, normalized_shape, weight, bias, "layer_norm");
  check_parameter_dtypes(input, {weight, bias}, "LayerNormKernelImpl");
  const DType saved = saved_dtype(input, weight, bias);
  return {row_major_like(input), empty(rows.statistics, saved, input.device()),
          empty(rows.statistics, saved, input.device())};
}

std::tuple<Tensor, Tensor> fused_rms_norm(const Tensor& input, const Dims& normalized_shape,
                                          const Tensor& weight) {
  const NormalizedRows rows =
      normalized_rows(input, normalized_shape, weight, Tensor(), "rms_norm");
  check_parameter_dtypes(input, {weight}, "rms_norm");
  return {row_major_like(input),
          empty(rows.statistics, statistics_dtype(input.dtype()), input.device())};
}

Three native_group_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, int64_t N,
                        int64_t C, int64_t HxW, int64_t group) {
  check_groups(C, group);
  check_group_parameter(weight, C, "weight");
  check_group_parameter(bias, C, "bias");
  check(N >= 0 && HxW >= 0 && checked_numel(Dims{N, C, HxW}, "group_norm") == input.numel(),
        "group_norm: N, C, HxW = ", N, ", ", C, ", ", HxW, " do not fit an input of sizes ",
        input.sizes());
  check_parameter_dtypes(input, {weight, bias}, "GroupNormKernelImpl");
  const DType saved = saved_dtype(input, weight, bias);
  return {like_input(input), empty(Dims{N, group}, saved, input.device()),
          empty(Dims{N, group}, saved, input.device())};
}

Three native_batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias,
                        const Tensor& running_mean, const Tensor& running_var, bool training) {
  if (input.ndim() < 2 && input.numel() == 0) {
    return {row_major_like(input), empty(Dims{0}, input.dtype(), input.device()),
            empty(Dims{0}, input.dtype(), input.device())};
  }
  check(input.ndim() >= 2, "batch_norm: expected an input of at least 2 dimensions, got ",
        input.ndim());
  check_parameter_dtypes(input, {weight, bias, running_mean, running_var}, "batch_norm");
  check(training || (running_mean && running_var),
        "batch_norm: ", running_mean ? "running_var" : "running_mean",
        " must be defined in evaluation mode");
  const int64_t channels = input.size(1);
  check_batch_parameter(running_mean, channels, "running_mean");
  check_batch_parameter(running_var, channels, "running_var");
  check_batch_parameter(weight, channels, "weight");
  check_batch_parameter(bias, channels, "bias");
  DType saved = input.dtype();
  for (const Tensor& parameter : {weight, bias, running_mean, running_var})
    if (parameter) saved = parameter.dtype();
  const Dims sizes{training ? channels : 0};
  return {like_input(input), empty(sizes, saved, input.device()),
          empty(sizes, saved, input.device())};
}

namespace {

// Returns the gradients of the rows and their parameters.
Three row_gradients(const Tensor& grad, const Tensor& input, const Dims& shape, const Tensor& rstd,
                    const Tensor& weight, const Tensor& bias, const Dims& mask, size_t results,
                    std::string_view op) {
  check(mask.size() == results, op, ": output_mask needs ", results, " elements, got ", mask);
  check(grad.sizes() == input.sizes() && numel_of(shape) * rstd.numel() == input.numel(), op,
        ": grad_out of sizes ", grad.sizes(), ", input of ", input.sizes(), " and rstd of ",
        rstd.sizes(), " do not belong together");
  check_kind(is_floating(input.dtype()), ErrorKind::kNotImplemented, "\"", op,
             "\" not implemented for '", info(input.dtype()).title, "'");
  const auto parameter = [&](const Tensor& p, size_t position) {
    const bool is_needed = p && position < results && mask[position] != 0;
    return is_needed ? empty(shape, p.dtype(), input.device()) : Tensor();
  };
  return {mask[0] ? row_major_like(input) : Tensor(), parameter(weight, 1), parameter(bias, 2)};
}

Three channel_gradients(const Tensor& input, const Tensor& weight, int64_t channels,
                        const Dims& mask) {
  const DType dtype = weight ? weight.dtype() : input.dtype();
  const auto parameter = [&](bool is_needed) {
    return is_needed ? empty(Dims{channels}, dtype, input.device()) : Tensor();
  };
  return {mask[0] ? like_input(input) : Tensor(), parameter(weight && mask[1] != 0),
          parameter(mask[2] != 0)};
}

}  // namespace

Three native_layer_norm_backward(const Tensor& grad_out, const Tensor& input,
                                 const Dims& normalized_shape, const Tensor& rstd,
                                 const Tensor& weight, const Tensor& bias,
                                 const Dims& output_mask) {
  return row_gradients(grad_out, input, normalized_shape, rstd, weight, bias, output_mask, 3,
                       "native_layer_norm_backward");
}

std::tuple<Tensor, Tensor> fused_rms_norm_backward(const Tensor& grad_out, const Tensor& input,
                                                   const Dims& normalized_shape, const Tensor& rstd,
                                                   const Tensor& weight, const Dims& output_mask) {
  const auto [dx, dweight, none] =
      row_gradients(grad_out, input, normalized_shape, rstd, weight, Tensor(), output_mask, 2,
                    "_fused_rms_norm_backward");
  return {dx, dweight};
}

Three native_group_norm_backward(const Tensor& grad_out, const Tensor& input, const Tensor& mean,
                                 const Tensor& weight, int64_t N, int64_t C, int64_t HxW,
                                 int64_t group, const Dims& output_mask) {
  check(output_mask.size() == 3 && group > 0 && C % group == 0 &&
            checked_numel(Dims{N, C, HxW}, "native_group_norm_backward") == input.numel() &&
            grad_out.sizes() == input.sizes() && mean.numel() == N * group,
        "native_group_norm_backward: grad_out of sizes ", grad_out.sizes(), " and input of ",
        input.sizes(), " do not belong together");
  return channel_gradients(input, weight, C, output_mask);
}

Three native_batch_norm_backward(const Tensor& grad_out, const Tensor& input, const Tensor& weight,
                                 const Tensor& running_mean, const Tensor& running_var,
                                 const Tensor& save_mean, const Tensor& save_invstd, bool train,
                                 const Dims& output_mask) {
  const bool is_empty_line = input.ndim() < 2 && input.numel() == 0;
  check(output_mask.size() == 3 && (input.ndim() >= 2 || is_empty_line) &&
            grad_out.sizes() == input.sizes(),
        "native_batch_norm_backward: grad_out of sizes ", grad_out.sizes(), " and input of ",
        input.sizes(), " do not belong together");
  check(train ? save_mean && save_invstd : running_mean && running_var,
        "native_batch_norm_backward: the statistics are not defined");
  return channel_gradients(input, weight, is_empty_line ? 0 : input.size(1), output_mask);
}

}  // namespace uh::shapes
