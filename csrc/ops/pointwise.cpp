#include "ops/pointwise.h"

#include <algorithm>
#include <cstring>

#include "base/call_section.h"
#include "generated/ops/copy.h"
#include "generated/ops/view.h"
#include "ops/copy/write_out.h"
#include "ops/overlap.h"
#include "ops/pointwise_result.h"
#include "ops/promotion.h"
#include "tensor/dense.h"
#include "tensor/result_strides.h"
#include "tensor/stride_order.h"

namespace uh {

namespace {

// Returns the result type of a tensor of `dtype` and a number, of which only the category counts.
DType with_number(DType dtype, const Scalar& number) {
  const DType own = number.dtype(default_dtype());
  if (category(own) <= category(dtype)) return dtype;
  return is_complex(own) && is_floating(dtype) ? to_complex(dtype) : own;
}

}  // namespace

DType compute_dtype(const PointwiseOp& op, std::span<const Input> inputs, const Params& params) {
  DType common = result_type(op.promotion == Promotion::kWhere ? inputs.subspan(1) : inputs);
  for (size_t i = 0; op.promoting && i < Params::kMaxCount; ++i) {
    if (params.has(i)) common = with_number(common, *params[i]);
  }
  if (op.promotion == Promotion::kFloat && !is_inexact(common)) return default_dtype();
  return common;
}

DType result_dtype(const PointwiseOp& op, DType dtype) {
  if (op.promotion == Promotion::kCompare || op.promotion == Promotion::kLogical)
    return DType::kBool;
  return op.real_result ? to_real(dtype) : dtype;
}

namespace {

Dims broadcast_all(std::span<const Input> inputs) {
  Dims shape;
  bool first = true;
  for (const Input& input : inputs) {
    if (input.is_number()) continue;
    shape = first ? input.tensor.sizes() : broadcast_shapes(shape, input.tensor.sizes());
    first = false;
  }
  return shape;
}

// Returns the common device. 0-d tensors other than meta ones may be on any device.
Device common_device(const PointwiseOp& op, std::span<const Input> inputs, const Tensor& target) {
  Device device = target ? target.device() : Device::kUndefined;
  for (const Input& input : inputs) {
    if (input.is_number() || (input.tensor.ndim() == 0 && !input.tensor.is_meta())) continue;
    if (device == Device::kUndefined) device = input.tensor.device();
    check(device == input.tensor.device(), op.name,
          ": expected all tensors to be on the same device, but found at least two devices, ",
          name(device), " and ", name(input.tensor.device()));
  }
  if (device != Device::kUndefined) return device;
  for (const Input& input : inputs) {
    if (!input.is_number()) return input.tensor.device();
  }
  return Device::kCPU;
}

bool can_cast(DType from, DType to) { return category(from) <= category(to); }

bool all_flat(std::span<const Input> inputs, IntSpan shape) {
  for (const Input& input : inputs) {
    if (input.is_number()) continue;
    if (!input.tensor.is_contiguous() || !has_row_major_strides(input.tensor.impl()->layout()) ||
        input.tensor.numel() == 0 || input.tensor.sizes().size() != shape.size() ||
        !std::equal(shape.begin(), shape.end(), input.tensor.sizes().begin())) {
      return false;
    }
  }
  return true;
}

using ReadDTypes = std::array<DType, 3>;  // in which the loop reads its operands
ReadDTypes read_dtypes(const PointwiseOp& op, std::span<const Input> inputs, DType compute) {
  ReadDTypes result{};
  for (size_t i = 0; i < inputs.size(); ++i) result[i] = operand_dtype(op, i, compute);
  return result;
}

ResultStrides number_rule(const PointwiseOp& op, std::span<const Input> inputs) {
  for (size_t i = 0; i < std::min(inputs.size(), op.number_strides.size()); ++i)
    if (inputs[i].is_number()) return op.number_strides[i];
  return ResultStrides::kLoop;
}

// The layout in which PyTorch's loop reads an operand: on the CPU, one of another dtype is
// converted before the loop.
Layout read_layout(const Tensor& operand, DType read) {
  if (operand.dtype() == read || operand.device() != Device::kCPU) return operand.impl()->layout();
  return {operand.sizes(), strides_like(operand.impl()->layout()), 0};
}

Dims result_strides(std::span<const Input> inputs, const Dims& shape, const ReadDTypes& read,
                    ResultStrides rule) {
  std::array<Layout, 3> layouts;
  size_t n = 0;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!inputs[i].is_number()) layouts[n++] = read_layout(inputs[i].tensor, read[i]);
  return result_strides(rule, shape, std::span(layouts).first(n), n < inputs.size());
}

Tensor allocate(std::span<const Input> inputs, const Dims& shape, const ReadDTypes& read,
                DType dtype, Device device, ResultStrides rule) {
  if (device == Device::kMeta) checked_numel(shape, "empty");  // inputs may have no bytes
  if (all_flat(inputs, shape)) return empty(shape, dtype, device);
  return empty_strided(shape, result_strides(inputs, shape, read, rule), dtype, device);
}

// Checks before the loop that it may write `target`, with the sizes `shape`: Note [Overlap].
void check_written(const PointwiseOp& op, Form form, const Tensor& target, const Dims& shape,
                   std::span<const Input> inputs, DType dtype, DType result) {
  const bool resized = form == Form::kOut && !(target.sizes() == shape);
  // PyTorch copies real results of complex numbers (abs, angle) into `out` after it has resized it.
  const bool copied =
      resized && is_complex(dtype) && is_floating(result) && !is_complex(target.dtype());
  if (!copied) check_no_internal_overlap(target, op.name);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].is_number()) continue;
    const Tensor& read = inputs[i].tensor;
    if (target.storage() != read.storage()) continue;
    if (resized) read.impl()->check_within_storage();  // resizing the Storage would hide it
    check_no_partial_overlap(target, read, op.name);
    check(!resized || !target.is_same(read), op.name, ": output with shape ", target.sizes(),
          " doesn't match the broadcast shape ", shape);
    // Operands of another dtype are copied before the loop, results of another one after it.
    if (read.dtype() != operand_dtype(op, i, dtype) || target.dtype() != result) continue;
    const Layout layout = resized
                              ? Layout{shape,
                                       result_strides(inputs, shape, read_dtypes(op, inputs, dtype),
                                                      number_rule(op, inputs)),
                                       target.offset()}
                              : target.impl()->layout();
    check_read_in_place(target, layout, read, op.name);
  }
}

}  // namespace

Tensor empty_pointwise_result(std::span<const Input> inputs, DType dtype, Device device) {
  ReadDTypes own{};
  for (size_t i = 0; i < inputs.size(); ++i) own[i] = inputs[i].tensor.dtype();
  return allocate(inputs, broadcast_all(inputs), own, dtype, device, ResultStrides::kLoop);
}

Params::Params(std::initializer_list<std::optional<Scalar>> values) {
  std::copy(values.begin(), values.end(), values_.begin());
}

DType result_type(std::span<const Input> operands) {
  DType dims = DType::kUndefined, zero = DType::kUndefined, number = DType::kUndefined;
  for (const Input& o : operands) {
    if (o.is_number()) {
      number = promote(number, o.number.dtype(default_dtype()));
    } else if (o.tensor.impl()->wrapped_number()) {
      const DType own = o.tensor.dtype();
      const DType floating = default_dtype();
      number = promote(number, is_complex(own)    ? to_complex(floating)
                               : is_floating(own) ? floating
                                                  : own);
    } else {
      DType& slot = o.tensor.ndim() == 0 ? zero : dims;
      slot = promote(slot, o.tensor.dtype());
    }
  }
  auto meet = [](DType high, DType low) {
    if (high == DType::kUndefined) return low;
    if (is_complex(low) && is_floating(high)) return to_complex(high);  // keeps the precision
    if (low == DType::kUndefined || category(high) >= category(low)) return high;
    return promote(high, low);
  };
  return meet(dims, meet(zero, number));
}

Slot number_slot(const Scalar& number, DType dtype) {
  Slot slot;
  visit_any(dtype, [&](auto zero) {
    const auto value = number.to<decltype(zero)>();
    std::memcpy(slot.bytes.data(), &value, sizeof value);
  });
  if (is_reduced_floating(dtype)) {
    const auto exact = static_cast<float>(number.to_double());
    std::memcpy(slot.bytes.data() + Slot::kExactNumber, &exact, sizeof exact);
  }
  return slot;
}

ResultStrides strides_rule(const PointwiseOp& op, DType compute, std::span<const Input> inputs) {
  if (is_complex(compute) && op.complex_strides != ResultStrides::kLoop) return op.complex_strides;
  return number_rule(op, inputs);
}

bool reads_exact_number(const PointwiseOp& op, const Input& last, DType compute) {
  if (!op.exact_number || !is_reduced_floating(compute)) return false;
  return last.is_number() || (last.tensor.ndim() == 0 && last.tensor.dtype() != compute);
}

PointwiseCall plan_pointwise(const PointwiseOp& op, Form form, std::span<const Input> inputs,
                             const Params& params, const Tensor& target) {
  check_kind(op.all_numbers || std::any_of(inputs.begin(), inputs.end(),
                                           [](const Input& o) { return !o.is_number(); }),
             ErrorKind::kType, op.name, ": one of the operands must be a Tensor, got only numbers");
  const DType dtype = compute_dtype(op, inputs, params);
  if (op.check) op.check(op, inputs, params, dtype);
  const DType result = result_dtype(op, dtype);
  if (op.promotion == Promotion::kWhere) {
    const Input& c = inputs[0];
    check(c.is_number() || c.tensor.dtype() == DType::kBool || c.tensor.dtype() == DType::kUInt8,
          "where: expected condition to be a boolean tensor, but got a tensor with dtype ",
          c.is_number() ? "number" : info(c.tensor.dtype()).title);
  }
  const Dims shape = broadcast_all(inputs);
  const Device device = common_device(op, inputs, target);
  const ReadDTypes read = read_dtypes(op, inputs, dtype);
  if (form == Form::kFunctional) {
    const Tensor out =
        allocate(inputs, shape, read, result, device, strides_rule(op, dtype, inputs));
    return {dtype, out, out};
  }
  const Tensor& out = target;
  // PyTorch converts the parts of complex numbers (abs) to any floating dtype, not to another
  // complex one.
  const bool part = op.real_result && is_complex(dtype);
  if (op.exact_out && form == Form::kOut && (!part || is_complex(out.dtype())))
    check_out_dtype(out, part ? dtype : result, op.name);
  check(can_cast(result, out.dtype()), op.name, ": result type ", info(result).title,
        " can't be cast to the desired output type ", info(out.dtype()).title);
  check(form == Form::kOut || !op.real_result || !is_complex(dtype), "In-place ", op.name,
        " is not supported for complex tensors.");
  check_written(op, form, out, shape, inputs, dtype, result);
  if (form == Form::kOut && !(out.sizes() == shape)) {
    const Change change(out.impl(), true);
    // Computed before an operand is resized.
    const Dims strides = result_strides(inputs, shape, read, number_rule(op, inputs));
    ops::resize_(out, shape);
    out.impl()->set_layout(Layout{shape, strides, out.offset()});
  }
  check(out.sizes() == shape, op.name, ": output with shape ", out.sizes(),
        " doesn't match the broadcast shape ", shape);
  return {dtype, out,
          out.dtype() == result
              ? out
              : allocate(inputs, shape, read, result, device, ResultStrides::kLoop)};
}

Tensor meta_pointwise(const PointwiseOp& op, Form form, std::span<const Input> inputs,
                      const Params& params, const Tensor& target) {
  return plan_pointwise(op, form, inputs, params, target).out;
}

Tensor run_on_device(PointwiseKernel kernel, const PointwiseOp& op, Form form,
                     std::span<const Input> inputs, const Params& params, const Tensor& target) {
  const PointwiseCall call = plan_pointwise(op, form, inputs, params, target);
  const Device device = call.written.device();
  std::vector<Tensor> operands(inputs.size());
  std::vector<Input> prepared;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].is_number()) {
      prepared.push_back(inputs[i]);
      continue;
    }
    const Tensor& t = inputs[i].tensor;
    const DType dtype = operand_dtype(op, i, call.compute);
    const bool fits = t.dtype() == dtype && t.device() == device;
    operands[i] = fits ? t : ops::_to_copy(t, dtype, device, MemoryFormat::kUndefined);
    prepared.push_back(operands[i]);
  }
  if (call.written.numel() > 0) kernel(call.compute, prepared, params, call.written);
  finish_pointwise(op, call, params);
  return call.out;
}

void finish_pointwise(const PointwiseOp& op, const PointwiseCall& call, const Params& params) {
  check(!params.saw_zero_division(), op.name, ": ZeroDivisionError: integer division by zero");
  if (!call.written.is_same(call.out)) ops::copy_(call.out, call.written, false);
  record_write(call.out);
}

}  // namespace uh
