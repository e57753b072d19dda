#include "backend/cpu/normalize/common.h"

#include "backend/cpu/copy/elements.h"
#include "backend/cpu/reduce/reducer.h"
#include "tensor/memory_format.h"

namespace uh {

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

NormalizeInput prepare_normalize(const Tensor& input, const Tensor& weight, const Tensor& bias,
                                 std::string_view op) {
  check_parameter_dtypes(input, {weight, bias}, op);
  NormalizeInput in;
  in.compute = sum_compute_dtype(input.dtype());
  const Tensor& parameter = weight ? weight : bias;
  in.statistics = parameter ? parameter.dtype() : input.dtype();
  if (input.is_meta()) return in;
  in.x = as_contiguous(input, in.compute);
  if (weight) in.weight = as_contiguous(weight, in.compute);
  if (bias) in.bias = as_contiguous(bias, in.compute);
  return in;
}

Tensor like_input(const Tensor& result, const Tensor& input) {
  MemoryFormat format = MemoryFormat::kContiguous;
  if (!input.is_contiguous()) {
    for (MemoryFormat other : {MemoryFormat::kChannelsLast, MemoryFormat::kChannelsLast3d})
      if (is_contiguous(input, other)) format = other;
  }
  if (format == MemoryFormat::kContiguous && result.dtype() == input.dtype()) return result;
  Tensor out = empty(input.sizes(), input.dtype(), input.device(), format);
  if (!out.is_meta()) copy_elements(out, result);
  return out;
}

Tensor in_dtype(const Tensor& self, DType dtype) {
  if (self.dtype() == dtype) return self;
  Tensor out = empty(self.sizes(), dtype, self.device());
  if (!out.is_meta()) copy_elements(out, self);
  return out;
}

}  // namespace uh
