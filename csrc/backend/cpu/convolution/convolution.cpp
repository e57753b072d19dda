// The operators of convolution.yaml: what is allowed, and the shapes; convolve.h does the
// arithmetic.
#include "generated/kernels/convolution.h"
#include "backend/cpu/convolution/complex_parts.h"
#include "backend/cpu/convolution/convolve.h"
#include "backend/cpu/copy/elements.h"
#include "generated/ops/convolution.h"
#include "generated/ops/padding.h"
#include "generated/ops/view.h"

namespace uh::kernels {
namespace {

// One number stands for all dimensions.
Dims expanded(const Dims& values, int64_t dims, std::string_view op, std::string_view name) {
  if (values.size() == 1) return Dims(static_cast<size_t>(dims), values[0]);
  check(values.ndim() == dims, op, ": expected ", name,
        " to be a single integer value or a list of ", dims,
        " values to match the convolution dimensions, but got ", name, "=", values);
  return values;
}

void check_least(const Dims& values, int64_t min_value, std::string_view op,
                 std::string_view argument_name) {
  for (const int64_t v : values)
    check(v >= min_value && v <= INT32_MAX, op, ": ", argument_name, " is not supported, got ",
          values);
}

// base + factor * (count - 1) in 64 bits, whatever the arguments.
int64_t reach(int64_t base, int64_t factor, int64_t count, std::string_view op) {
  const __int128 wide = static_cast<__int128>(factor) * (count - 1) + base;
  check(wide <= INT64_MAX && wide >= INT64_MIN, op, ": sizes overflow 64 bits");
  return static_cast<int64_t>(wide);
}

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
  check_least(a.padding, 0, op, "negative padding");
  check_least(a.output_padding, 0, op, "negative output_padding");
  check_least(a.stride, 1, op, "non-positive stride");
  check_least(a.dilation, 1, op, "non-positive dilation");
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
  check(!bias || bias.dtype() == input.dtype(), op, ": input type (", name(input.dtype()),
        ") and bias type (", name(bias ? bias.dtype() : input.dtype()), ") should be the same");
  const DType t = input.dtype();
  const bool known = a.transposed ? is_inexact(t) || t == DType::kInt64 : t != DType::kBool;
  check_kind(known, ErrorKind::kNotImplemented, "\"", op, "\" not implemented for '", info(t).title,
             "'");
}

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

ConvolutionOptions options_of(const Arguments& a) {
  return make_options(a.stride, a.padding, a.dilation, a.transposed, a.groups);
}

// (a + ib) * (c + id): four real convolutions.
void convolve_complex(const Tensor& out, const Tensor& input, const Tensor& weight,
                      const Tensor& bias, const ConvolutionOptions& options) {
  const Tensor x[2] = {part_of(input, 0), part_of(input, 1)};
  const Tensor w[2] = {part_of(weight, 0), part_of(weight, 1)};
  const auto product = [&](int i, int j, const Tensor& b) {
    Tensor result = empty(out.sizes(), to_real(out.dtype()));
    convolve(result, x[i], w[j], b, options);
    return result;
  };
  const Tensor rr = product(0, 0, part_of(bias, 0)), ii = product(1, 1, Tensor());
  const Tensor ri = product(0, 1, part_of(bias, 1)), ir = product(1, 0, Tensor());
  join_parts(out, rr, ii, ri, ir);
}

Tensor computed(const Tensor& input, const Tensor& weight, const Tensor& bias, const Arguments& a,
                std::string_view op) {
  check_arguments(input, weight, bias, a, op);
  Tensor out = empty(result_sizes(input, weight, a, op), input.dtype(), input.device());
  if (out.is_meta() || out.numel() == 0) return out;
  const ConvolutionOptions options = options_of(a);
  const DType t = out.dtype();
  if (is_complex(t)) {
    convolve_complex(out, input, weight, bias, options);
  } else if (t == DType::kFloat32 || t == DType::kFloat64 || t == DType::kInt64) {
    convolve(out, input, weight, bias, options);
  } else {
    const Tensor wide = empty(out.sizes(), is_floating(t) ? DType::kFloat32 : DType::kInt64);
    convolve(wide, input, weight, bias, options);
    copy_elements(out, wide);
  }
  record_write(out);
  return out;
}

// Without a batch: (C, ...) is computed as (1, C, ...).
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
  Dims before(static_cast<size_t>(dims), 0), after;  // `after`: more at the end, as pad() takes it
  if (padding == "same") {
    const Dims s = expanded(stride, dims, op, "stride"),
               d = expanded(dilation, dims, op, "dilation");
    for (const int64_t step : s)
      check(step == 1, op, ": padding='same' is not supported for strided convolutions, got ", s);
    check_least(d, 1, op, "non-positive dilation");
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

Tensor convolution(KeySet, const Tensor& input, const Tensor& weight, const Tensor& bias,
                   const Dims& stride, const Dims& padding, const Dims& dilation, bool transposed,
                   const Dims& output_padding, int64_t groups) {
  const int64_t dims = weight.ndim() - 2;
  check(dims >= 1, "convolution: weight should have at least three dimensions, got ",
        weight.sizes());
  const std::string_view op = "convolution";
  return computed(input, weight, bias,
                  {expanded(stride, dims, op, "stride"), expanded(padding, dims, op, "padding"),
                   expanded(dilation, dims, op, "dilation"),
                   expanded(output_padding, dims, op, "output_padding"), transposed, groups},
                  op);
}

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
