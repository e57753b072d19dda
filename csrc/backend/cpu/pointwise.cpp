// Pointwise operators on the CPU: the loop for the operator and dtype, over as few rows as
// possible.
#include "backend/cpu/pointwise.h"

#include <algorithm>
#include <cstring>

#include "backend/cpu/loop_plan.h"
#include "backend/cpu/tensor_iterator.h"
#include "generated/ops/copy.h"
#include "ops/copy/element.h"
#include "ops/promotion.h"
#include "tensor/stride_order.h"

namespace uh {
namespace {

[[noreturn]] void no_loop(const PointwiseOp& op, DType dtype) {
  check(!op.rejects_bool || dtype != DType::kBool, op.name, ": Boolean inputs are not supported");
  check(!op.rejects_complex || !is_complex(dtype), op.name,
        " not implemented for complex tensors.");
  fail(ErrorKind::kNotImplemented, "\"", op.name, "\" not implemented for '", info(dtype).title,
       "'");
}

LoopFn loop_for(const PointwiseOp& op, DType dtype) {
  const LoopFn fn = op.loops()[static_cast<size_t>(dtype)];
  if (!fn) [[unlikely]]
    no_loop(op, dtype);
  return fn;
}

// The operands in the loop's dtype: tensors of other dtypes are copies. An operand without a tensor
// is a number, in its slot.
struct Prepared {
  std::array<Tensor, 3> tensors;
  std::array<Slot, 3> slots;
};

void prepare(const PointwiseOp& op, std::span<const Input> inputs, DType dtype,
             Prepared& prepared) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const DType want = operand_dtype(op, i, dtype);
    const Tensor& t = inputs[i].tensor;
    if (inputs[i].is_number()) {
      prepared.slots[i] = number_slot(inputs[i].number, want);
    } else if (i + 1 == inputs.size() && reads_exact_number(op, inputs[i], dtype)) {
      prepared.slots[i] = number_slot(read_scalar(t), want);
    } else if (t.dtype() == want || t.is_meta()) {
      prepared.tensors[i] = t;
    } else {
      prepared.tensors[i] =
          ops::_to_copy(t, want, Device::kUndefined, MemoryFormat::kUndefined);
    }
  }
}

void run(LoopFn fn, const Prepared& p, size_t count, const Tensor& out, const Params& params) {
  if (out.numel() == 0) return;
  auto data_of = [&](size_t i) {
    return reinterpret_cast<char*>(
        p.tensors[i] ? p.tensors[i].data() : const_cast<std::byte*>(p.slots[i].bytes.data()));
  };
  bool flat = out.is_contiguous();
  for (size_t i = 0; i < count && flat; ++i) {
    flat = !p.tensors[i] || (p.tensors[i].is_contiguous() && p.tensors[i].sizes() == out.sizes());
  }
  constexpr int64_t kSmall = 32768;
  if (flat && out.numel() <= kSmall) {
    std::array<char*, 4> data{reinterpret_cast<char*>(out.data())};
    std::array<int64_t, 4> strides{itemsize(out.dtype())};
    for (size_t i = 0; i < count; ++i) {
      data[i + 1] = data_of(i);
      strides[i + 1] = !p.tensors[i] ? 0 : itemsize(p.tensors[i].dtype());
    }
    if (events::on()) [[unlikely]]
      record_row({strides.data(), count + 1}, out.numel());
    return fn(data.data(), strides.data(), out.numel(), params);
  }
  TensorIterator space(out.sizes());
  space.add(out);
  for (size_t i = 0; i < count; ++i) {
    p.tensors[i] ? space.add(p.tensors[i]) : space.add_value(data_of(i));
  }
  space.reorder(space.order());
  space.collapse();
  space.for_each(
      [&](char* const* data, const int64_t* strides, int64_t n) { fn(data, strides, n, params); });
}

// Calls `run` with the numbers of the loop.
void call_loop(const PointwiseOp& op, std::span<const Input> inputs, DType compute,
               const Params& params, auto run) {
  if (!reads_exact_number(op, inputs.back(), compute)) return run(params);
  Params exact;  // operators with an exact number have no parameters
  exact.mark_exact_number();
  run(exact);
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
  for (size_t i = 0; op.promoting && i < Params::kMaxCount; ++i) {
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
    if (number) slots[i] = number_slot(inputs[i].number, dtype);
    data[i + 1] = reinterpret_cast<char*>(number ? slots[i].bytes.data() : inputs[i].tensor.data());
    strides[i + 1] = number ? 0 : itemsize(dtype);
  }
  if (events::on()) [[unlikely]]
    record_row({strides.data(), inputs.size() + 1}, first.numel());
  call_loop(op, inputs, dtype, params, [&](const Params& numbers) {
    loop_for(op, dtype)(data.data(), strides.data(), first.numel(), numbers);
  });
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
  call_loop(op, inputs, call.compute, params, [&](const Params& numbers) {
    run(fn, prepared, inputs.size(), call.written, numbers);
  });
  finish_pointwise(op, call, params);
  return call.out;
}

}  // namespace uh
