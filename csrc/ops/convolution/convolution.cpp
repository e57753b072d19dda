// The shape rules and composites of convolution.yaml.
#include "generated/kernels/convolution.h"
#include "generated/ops/convolution.h"
#include "generated/ops/padding.h"
#include "generated/ops/view.h"
#include "ops/convolution/shapes.h"
#include "ops/operand_checks.h"

namespace uh {
namespace {

// Repeats a single value for every dimension.
Dims expanded(const Dims& values, int64_t dims, std::string_view op, std::string_view name) {
  if (values.size() == 1) return Dims(static_cast<size_t>(dims), values[0]);
  check(values.ndim() == dims, op, ": expected ", name,
        " to be a single integer value or a list of ", dims,
        " values to match the convolution dimensions, but got ", name, "=", values);
  return values;
}

void check_min(const Dims& values, int64_t min_value, std::string_view op,
               std::string_view argument_name) {
  for (const int64_t v : values)
    check(v >= min_value && v <= INT32_MAX, op, ": ", argument_name, " is not supported, got ",
          values);
}

// Returns base + factor * (count - 1), or throws if it overflows 64 bits.
int64_t reach(int64_t base, int64_t factor, int64_t count, std::string_view op) {
  const __int128 wide = static_cast<__int128>(factor) * (count - 1) + base;
  check(wide <= INT64_MAX && wide >= INT64_MIN, op, ": sizes overflow 64 bits");
  return static_cast<int64_t>(wide);
}

}  // namespace
}  // namespace uh

namespace uh::shapes {
namespace {

struct Arguments {
  Dims stride, padding, dilation, output_padding;
  bool transposed;
  int64_t groups;
};

void check_arguments(const Tensor& input, const Tensor& weight, const Tensor& bias,
                     const Arguments& a, std::string_view op) {
  const int64_t dims = weight.ndim() - 2;
  check(dims >= 1, op, ": weight should have at least three dimensions, got ", weight.sizes());
  check(dims <= static_cast<int64_t>(kConvDims), op, ": at most 3 spatial dimensions, got weight ",
        weight.sizes());
  check(input.ndim() == weight.ndim(), op, ": expected ", weight.ndim(),
        "-dimensional input for weight of size ", weight.sizes(), ", but got input of size ",
        input.sizes());
  check_min(a.padding, 0, op, "negative padding");
  check_min(a.output_padding, 0, op, "negative output_padding");
  check_min(a.stride, 1, op, "non-positive stride");
  check_min(a.dilation, 1, op, "non-positive dilation");
  check(a.groups > 0, op, ": non-positive groups is not supported, got ", a.groups);
  check(weight.size(0) >= a.groups && weight.size(0) % a.groups == 0, op,
        ": expected weight to have a multiple of groups=", a.groups,
        " at dimension 0, but got weight of size ", weight.sizes());
  for (int64_t d = 2; d < weight.ndim(); ++d)
    check(weight.size(d) > 0, op, ": kernel size must be positive, got weight of size ",
          weight.sizes());
  const int64_t channels = a.transposed ? weight.size(0) : weight.size(1) * a.groups;
  check(input.size(1) == channels, op, ": given groups=", a.groups, ", weight of size ",
        weight.sizes(), ", expected input ", input.sizes(), " to have ", channels,
        " channels, but got ", input.size(1), " channels instead");
  const int64_t results = a.transposed ? weight.size(1) * a.groups : weight.size(0);
  check(!bias || (bias.ndim() == 1 && bias.size(0) == results), op, ": given weight of size ",
        weight.sizes(), ", expected bias to be 1-dimensional with ", results,
        " elements, but got bias of size ", bias ? bias.sizes() : Dims());
  check(input.dtype() == weight.dtype(), op, ": input type (", name(input.dtype()),
        ") and weight type (", name(weight.dtype()), ") should be the same");
  check(input.numel() > 0 || input.size(0) == 0 || input.size(1) == 0, op,
        ": only zero batch or zero channel inputs are supported, but got input shape: ",
        input.sizes());
  check(!bias || bias.dtype() == input.dtype(), op, ": input type (", name(input.dtype()),
        ") and bias type (", name(bias ? bias.dtype() : input.dtype()), ") should be the same");
  const DType t = input.dtype();
  const bool known = a.transposed ? is_inexact(t) || t == DType::kInt64 : t != DType::kBool;
  check_kind(known, ErrorKind::kNotImplemented, "\"", op, "\" not implemented for '", info(t).title,
             "'");
}

// Returns the sizes of the result for checked arguments.
Dims result_sizes(const Tensor& input, const Tensor& weight, const Arguments& a,
                  std::string_view op) {
  Dims sizes{input.size(0), a.transposed ? weight.size(1) * a.groups : weight.size(0)};
  for (int64_t d = 2; d < input.ndim(); ++d) {
    const auto i = static_cast<size_t>(d - 2);
    const int64_t kernel = reach(1, a.dilation[i], weight.size(d), op);
    if (a.transposed) {
      check(a.output_padding[i] < a.stride[i] || a.output_padding[i] < a.dilation[i], op,
            ": output padding must be smaller than either stride or dilation, but got "
            "output_padding ",
            a.output_padding, ", stride ", a.stride, ", dilation ", a.dilation);
      const int64_t past = reach(kernel + a.output_padding[i], a.stride[i], input.size(d), op);
      const int64_t size = reach(past, -2, a.padding[i] + 1, op);
      check(size > 0, op, ": given input size per channel ", input.sizes(), " and weight of size ",
            weight.sizes(), ": output size ", size, " at dimension ", d, " is too small");
      sizes.push_back(size);
    } else {
      const int64_t padded = reach(input.size(d), 2, a.padding[i] + 1, op);
      check(kernel <= padded, op, ": padded input size per channel ", padded, " at dimension ", d,
            " is smaller than the kernel's ", kernel);
      sizes.push_back((padded - kernel) / a.stride[i] + 1);
    }
  }
  return sizes;
}

// Checks the arguments and returns the sizes of the result.
Dims convolved_sizes(const Tensor& input, const Tensor& weight, const Tensor& bias,
                     const Dims& stride, const Dims& padding, const Dims& dilation, bool transposed,
                     const Dims& output_padding, int64_t groups) {
  const std::string_view op = "convolution";
  const int64_t dims = weight.ndim() - 2;
  check(dims >= 1, op, ": weight should have at least three dimensions, got ", weight.sizes());
  const Arguments a{expanded(stride, dims, op, "stride"),
                    expanded(padding, dims, op, "padding"),
                    expanded(dilation, dims, op, "dilation"),
                    expanded(output_padding, dims, op, "output_padding"),
                    transposed,
                    groups};
  check_arguments(input, weight, bias, a, op);
  return result_sizes(input, weight, a, op);
}

}  // namespace

Tensor convolution(const Tensor& input, const Tensor& weight, const Tensor& bias,
                   const Dims& stride, const Dims& padding, const Dims& dilation, bool transposed,
                   const Dims& output_padding, int64_t groups) {
  return empty(convolved_sizes(input, weight, bias, stride, padding, dilation, transposed,
                               output_padding, groups),
               input.dtype(), input.device());
}

std::tuple<Tensor, Tensor, Tensor> convolution_backward(
    const Tensor& grad_output, const Tensor& input, const Tensor& weight, const Dims& stride,
    const Dims& padding, const Dims& dilation, bool transposed, const Dims& output_padding,
    int64_t groups, const Dims& output_mask) {
  const std::string_view op = "convolution_backward";
  check(output_mask.size() == 3, op, ": output_mask needs 3 elements, got ", output_mask);
  check(is_inexact(grad_output.dtype()), op, ": expected floating or complex numbers, got ",
        name(grad_output.dtype()));
  check(grad_output.ndim() == weight.ndim() && input.ndim() == weight.ndim() &&
            grad_output.size(0) == input.size(0) &&
            grad_output.size(1) == (transposed ? weight.size(1) * groups : weight.size(0)),
        op, ": grad_output of sizes ", grad_output.sizes(), " and input of sizes ", input.sizes(),
        " do not fit weight of sizes ", weight.sizes());
  check_together(op, input, {&weight, &grad_output});
  const Dims expected = convolved_sizes(input, weight, Tensor(), stride, padding, dilation,
                                        transposed, output_padding, groups);
  check(expected == grad_output.sizes(), op, ": grad_output of sizes ", grad_output.sizes(),
        ", but the convolution makes ", expected);
  const auto gradient = [&](size_t i, const Dims& sizes) {
    return output_mask[i] ? empty(sizes, grad_output.dtype(), grad_output.device()) : Tensor();
  };
  return {gradient(0, input.sizes()), gradient(1, weight.sizes()),
          gradient(2, Dims{grad_output.size(1)})};
}

}  // namespace uh::shapes

namespace uh::kernels {
namespace {

// Computes an input without a batch dimension, (C, ...), as (1, C, ...).
template <class F>
Tensor batched(const Tensor& input, int64_t dims, std::string_view op, const F& f) {
  check(input.ndim() == dims + 1 || input.ndim() == dims + 2, op, ": expected ", dims + 1,
        "D (unbatched) or ", dims + 2, "D (batched) input, but got input of size ", input.sizes());
  if (input.ndim() == dims + 2) return f(input);
  return ops::squeeze(f(ops::unsqueeze(input, 0)), Dims{0});
}

void check_rank(const Tensor& weight, int64_t dims, std::string_view op) {
  check(weight.ndim() == dims + 2, op, ": expected a ", dims + 2,
        "-dimensional weight, but got weight of size ", weight.sizes());
}

Tensor forward(const Tensor& input, const Tensor& weight, const Tensor& bias, const Dims& stride,
               const Dims& padding, const Dims& dilation, int64_t groups, int64_t dims,
               std::string_view op) {
  check_rank(weight, dims, op);
  const Dims s = expanded(stride, dims, op, "stride"), p = expanded(padding, dims, op, "padding"),
             d = expanded(dilation, dims, op, "dilation");
  return batched(input, dims, op, [&](const Tensor& x) {
    return ops::convolution(x, weight, bias, s, p, d, false, Dims(s.size(), 0), groups);
  });
}

Tensor named_padding(const Tensor& input, const Tensor& weight, const Tensor& bias,
                     const Dims& stride, const std::string& padding, const Dims& dilation,
                     int64_t groups, int64_t dims, std::string_view op) {
  check(padding == "same" || padding == "valid", op, ": invalid padding string: '", padding,
        "', it is 'valid' or 'same'");
  check_rank(weight, dims, op);
  Dims before(static_cast<size_t>(dims), 0), after;  // `after`: padding at the end, in pad()'s form
  if (padding == "same") {
    const Dims s = expanded(stride, dims, op, "stride"),
               d = expanded(dilation, dims, op, "dilation");
    for (const int64_t step : s)
      check(step == 1, op, ": padding='same' is not supported for strided convolutions, got ", s);
    check_min(d, 1, op, "non-positive dilation");
    bool uneven = false;
    for (int64_t i = 0; i < dims; ++i) {
      const int64_t total = reach(0, d[static_cast<size_t>(i)], weight.size(i + 2), op);
      before[static_cast<size_t>(i)] = std::max<int64_t>(total / 2, 0);
      uneven = uneven || total % 2 != 0;
    }
    if (uneven) {
      for (int64_t i = dims; i-- > 0;) {
        const int64_t total = reach(0, d[static_cast<size_t>(i)], weight.size(i + 2), op);
        after.push_back(0);
        after.push_back(total % 2);
      }
      return forward(ops::constant_pad_nd(input, after, 0), weight, bias, stride, before, dilation,
                     groups, dims, op);
    }
  }
  return forward(input, weight, bias, stride, before, dilation, groups, dims, op);
}

Tensor transposed(const Tensor& input, const Tensor& weight, const Tensor& bias, const Dims& stride,
                  const Dims& padding, const Dims& output_padding, int64_t groups,
                  const Dims& dilation, int64_t dims, std::string_view op) {
  check_rank(weight, dims, op);
  const Dims s = expanded(stride, dims, op, "stride"), p = expanded(padding, dims, op, "padding"),
             o = expanded(output_padding, dims, op, "output_padding"),
             d = expanded(dilation, dims, op, "dilation");
  return batched(input, dims, op, [&](const Tensor& x) {
    return ops::convolution(x, weight, bias, s, p, d, true, o, groups);
  });
}

}  // namespace

#define UH_CONVOLUTIONS(dims)                                                                      \
  Tensor conv##dims##d(KeySet, const Tensor& input, const Tensor& weight, const Tensor& bias,      \
                       const Dims& stride, const Dims& padding, const Dims& dilation,              \
                       int64_t groups) {                                                           \
    return forward(input, weight, bias, stride, padding, dilation, groups, dims,                   \
                   "conv" #dims "d");                                                              \
  }                                                                                                \
  Tensor conv##dims##d_padding(KeySet, const Tensor& input, const Tensor& weight,                  \
                               const Tensor& bias, const Dims& stride, const std::string& padding, \
                               const Dims& dilation, int64_t groups) {                             \
    return named_padding(input, weight, bias, stride, padding, dilation, groups, dims,             \
                         "conv" #dims "d");                                                        \
  }                                                                                                \
  Tensor conv_transpose##dims##d(                                                                  \
      KeySet, const Tensor& input, const Tensor& weight, const Tensor& bias, const Dims& stride,   \
      const Dims& padding, const Dims& output_padding, int64_t groups, const Dims& dilation) {     \
    return transposed(input, weight, bias, stride, padding, output_padding, groups, dilation,      \
                      dims, "conv_transpose" #dims "d");                                           \
  }
UH_CONVOLUTIONS(1)
UH_CONVOLUTIONS(2)
UH_CONVOLUTIONS(3)
#undef UH_CONVOLUTIONS

}  // namespace uh::kernels
