// Pointwise operators on the CPU: the loop for the operator and dtype, over as few rows as
// possible.
#include "backend/cpu/pointwise.h"

#include <algorithm>
#include <cstring>

#include "backend/cpu/loop_plan.h"
#include "backend/cpu/tensor_iterator.h"
#include "generated/ops/copy.h"
#include "ops/promotion.h"
#include "tensor/stride_order.h"

namespace uh {
namespace {

// A number in the compute dtype, in memory that a loop can read with stride 0.
struct Slot {
  alignas(16) std::byte bytes[16];
};

void write_number(const Scalar& number, DType dtype, Slot& slot) {
  visit_any(dtype, [&](auto zero) {
    using T = decltype(zero);
    const T value = number.to<T>();
    std::memcpy(slot.bytes, &value, sizeof value);
  });
}

[[noreturn]] void no_loop(const PointwiseOp& op, DType dtype) {
  const std::string_view name = op.name;
  if (dtype == DType::kBool && name == "neg") {
    fail(ErrorKind::kRuntime,
         "neg: negation, the `-` operator, on a bool tensor is not supported; use the `~` or "
         "logical_not() operator instead");
  }
  if (dtype == DType::kBool && (name == "relu" || name == "hardtanh" || name == "relu6"))
    fail(ErrorKind::kRuntime, op.name, ": Boolean inputs are not supported");
  if (is_complex(dtype) && name == "sign") {
    fail(ErrorKind::kNotImplemented,
         "sign: a complex number has none; sgn() gives the number divided by its absolute value");
  }
  constexpr std::string_view kRefusingComplex[] = {"maximum",  "minimum",  "fmax",
                                                   "fmin",     "rad2deg",  "deg2rad",
                                                   "isposinf", "isneginf", "heaviside"};
  if (is_complex(dtype) && std::ranges::find(kRefusingComplex, name) != std::end(kRefusingComplex))
    fail(ErrorKind::kRuntime, op.name, " not implemented for complex tensors.");
  fail(ErrorKind::kNotImplemented, "\"", op.name, "\" not implemented for '", info(dtype).title,
       "'");
}

LoopFn loop_for(const PointwiseOp& op, DType dtype) {
  const LoopFn fn = op.loops()[static_cast<size_t>(dtype)];
  if (!fn) [[unlikely]]
    no_loop(op, dtype);
  return fn;
}

// Records the plan of one long row: dense operands, and numbers (stride 0).
void record_row(const std::array<int64_t, 4>& strides, size_t operands, int64_t n) {
  Plan plan{.sizes = {n}, .operands = {}};
  plan.operands.reserve(operands);
  for (size_t k = 0; k < operands; ++k) plan.operands.push_back({strides[k], Dims{strides[k]}});
  record_plan(plan);
}

// The operands in the loop's dtype: numbers as slots, tensors of other dtypes as copies.
struct Prepared {
  std::array<Tensor, 3> tensors;
  std::array<Slot, 3> slots;
};

void prepare(const PointwiseOp& op, std::span<const Input> inputs, DType dtype,
             Prepared& prepared) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const DType want = operand_dtype(op, i, dtype);
    if (inputs[i].is_number()) {
      write_number(inputs[i].number, want, prepared.slots[i]);
    } else if (inputs[i].tensor.dtype() == want || inputs[i].tensor.is_meta()) {
      prepared.tensors[i] = inputs[i].tensor;
    } else {
      prepared.tensors[i] =
          ops::_to_copy(inputs[i].tensor, want, Device::kUndefined, MemoryFormat::kUndefined);
    }
  }
}

void run(LoopFn fn, const Prepared& p, std::span<const Input> inputs, const Tensor& out,
         const Params& params) {
  if (out.numel() == 0) return;
  auto data_of = [&](size_t i) {
    return inputs[i].is_number() ? reinterpret_cast<char*>(const_cast<std::byte*>(p.slots[i].bytes))
                                 : reinterpret_cast<char*>(p.tensors[i].data());
  };
  bool flat = out.is_contiguous();
  for (size_t i = 0; i < inputs.size() && flat; ++i) {
    flat = inputs[i].is_number() ||
           (p.tensors[i].is_contiguous() && p.tensors[i].sizes() == out.sizes());
  }
  constexpr int64_t kSmall = 32768;
  if (flat && out.numel() <= kSmall) {
    std::array<char*, 4> data{reinterpret_cast<char*>(out.data())};
    std::array<int64_t, 4> strides{itemsize(out.dtype())};
    for (size_t i = 0; i < inputs.size(); ++i) {
      data[i + 1] = data_of(i);
      strides[i + 1] = inputs[i].is_number() ? 0 : itemsize(p.tensors[i].dtype());
    }
    if (events::on()) [[unlikely]]
      record_row(strides, inputs.size() + 1, out.numel());
    return fn(data.data(), strides.data(), out.numel(), params);
  }
  TensorIterator space(out.sizes());
  space.add(out);
  for (size_t i = 0; i < inputs.size(); ++i) {
    inputs[i].is_number() ? space.add_value(data_of(i)) : space.add(p.tensors[i]);
  }
  space.reorder(space.order());
  space.collapse();
  space.for_each(
      [&](char* const* data, const int64_t* strides, int64_t n) { fn(data, strides, n, params); });
}

// Returns whether a number does not promote a tensor of `dtype`.
bool fits(const Scalar& number, DType dtype) {
  switch (number.kind()) {
    case Scalar::Kind::kBool: return true;
    case Scalar::Kind::kInt: return dtype != DType::kBool;
    case Scalar::Kind::kFloat: return is_inexact(dtype);
    case Scalar::Kind::kComplex: return is_complex(dtype);
  }
  return false;
}

// A fast path for the most frequent call: contiguous CPU tensors of one dtype and shape, and
// numbers that do not promote. Returns whether it applied.
bool run_flat(const PointwiseOp& op, Form form, std::span<const Input> inputs, const Params& params,
              Tensor& out) {
  if (!inputs[0].tensor || op.promotion == Promotion::kWhere) return false;
  const TensorImpl& first = *inputs[0].tensor.impl();
  const DType dtype = first.dtype();
  constexpr int64_t kSmall = 32768;  // elements; above, several threads are used
  if (!first.is_contiguous() || first.numel() > kSmall || first.device() != Device::kCPU ||
      first.ndim() == 0 || first.numel() == 0 || dtype == DType::kBool ||
      !has_row_major_strides(first.layout()) ||
      (op.promotion == Promotion::kFloat && !is_inexact(dtype))) {
    return false;
  }
  for (const Input& input : inputs.subspan(1)) {
    if (input.is_number()) {
      if (!fits(input.number, dtype)) return false;
    } else if (const TensorImpl& t = *input.tensor.impl();
               t.dtype() != dtype || !t.is_contiguous() || !(t.sizes() == first.sizes()) ||
               !(t.strides() == first.strides()) || t.device() != Device::kCPU) {
      return false;
    }
  }
  for (size_t i = 0; op.promoting && i < Params::kMost; ++i) {
    if (params.has(i) && !fits(*params[i], dtype)) return false;
  }
  if (op.check) op.check(op, inputs, params, dtype);
  const DType result = result_dtype(op, dtype);
  if (form == Form::kInplace) {
    if (result != dtype) return false;
    for (const Input& input : inputs.subspan(1)) {
      if (!input.is_number() && input.tensor.storage() == first.storage()) return false;
    }
  } else {
    out = empty_dense(first.layout(), first.numel(), result);
  }
  std::array<char*, 4> data{reinterpret_cast<char*>(out.data())};
  std::array<int64_t, 4> strides{itemsize(result)};
  std::array<Slot, 3> slots;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool number = inputs[i].is_number();
    if (number) write_number(inputs[i].number, dtype, slots[i]);
    data[i + 1] = reinterpret_cast<char*>(number ? slots[i].bytes : inputs[i].tensor.data());
    strides[i + 1] = number ? 0 : itemsize(dtype);
  }
  if (events::on()) [[unlikely]]
    record_row(strides, inputs.size() + 1, first.numel());
  loop_for(op, dtype)(data.data(), strides.data(), first.numel(), params);
  check(!params.saw_zero_division(), op.name, ": ZeroDivisionError: integer division by zero");
  record_write(out);
  return true;
}

}  // namespace

Tensor run_pointwise(const PointwiseOp& op, Form form, std::span<const Input> inputs,
                     const Params& params, const Tensor& target) {
  if (form != Form::kOut) {
    Tensor out = target;
    if (run_flat(op, form, inputs, params, out)) return out;
  }
  const PointwiseCall call = plan_pointwise(op, form, inputs, params, target);
  if (call.out.is_meta()) return call.out;
  const LoopFn fn = loop_for(op, call.compute);  // last, so that errors of shapes come first
  Prepared prepared;
  prepare(op, inputs, call.compute, prepared);
  run(fn, prepared, inputs, call.written, params);
  finish_pointwise(op, call, params);
  return call.out;
}

}  // namespace uh
