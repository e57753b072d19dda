#include "ops/kernel/pointwise.h"

#include <algorithm>
#include <cstring>

#include "base/call_section.h"
#include "generated/ops/copy.h"
#include "generated/ops/view.h"
#include "ops/copy/copy.h"
#include "ops/kernel/loop_plan.h"
#include "ops/kernel/promotion.h"
#include "ops/kernel/tensor_iterator.h"

namespace uh {

bool is_dense(const Tensor& self);

namespace {

// One number in the compute dtype, where a loop can read it with stride 0.
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

// The dtype of a tensor of `dtype` met by a number: the number decides only by its category.
DType with_number(DType dtype, const Scalar& number) {
  const DType own = number.dtype(default_dtype());
  if (category(own) <= category(dtype)) return dtype;
  return is_complex(own) && is_floating(dtype) ? to_complex(dtype) : own;
}

}  // namespace

DType compute_dtype(const PointwiseOp& op, std::span<const Input> inputs, const Params& params) {
  DType common = result_type(op.promotion == Promotion::kWhere ? inputs.subspan(1) : inputs);
  for (size_t i = 0; op.promoting && i < Params::kMost; ++i) {
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

// A 0-d CPU tensor mixes with anything; otherwise every operand is on one device.
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

// What may not be written, before anything is: Note [Overlap]. `shape` is what the loop writes.
void check_written(const PointwiseOp& op, Form form, const Tensor& target, const Dims& shape,
                   std::span<const Input> inputs, DType dtype, DType result) {
  check_no_internal_overlap(target, op.name);
  const bool resized = form == Form::kOut && !(target.sizes() == shape);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].is_number()) continue;
    const Tensor& read = inputs[i].tensor;
    if (target.storage() != read.storage()) continue;
    if (resized) read.impl()->check_within_storage();  // growing the Storage would hide it
    check_no_partial_overlap(target, read, op.name);
    check(!resized || !target.is_same(read), op.name, ": output with shape ", target.sizes(),
          " doesn't match the broadcast shape ", shape);
    // An operand of another dtype is copied before the loop, a result of another one after it.
    if (read.dtype() != operand_dtype(op, i, dtype) || target.dtype() != result) continue;
    const Layout grown{shape, contiguous_strides(shape), target.offset()};
    check_read_in_place(target, resized ? grown : target.impl()->layout(), read, op.name);
  }
}

// Records the plan of one long row: dense operands, and numbers (stride 0).
void tell_row(const std::array<int64_t, 4>& strides, size_t operands, int64_t n) {
  Plan plan{.sizes = {n}, .operands = {}};
  for (size_t k = 0; k < operands; ++k) plan.operands.push_back({strides[k], Dims{strides[k]}});
  record_plan(plan);
}

// Whether dimensions of size 1 have the strides, too, that a new tensor of these sizes gets.
bool is_row_major(const Layout& layout) {
  int64_t step = 1;
  for (size_t i = layout.sizes.size(); i-- > 0;) {
    if (layout.strides[i] != step) return false;
    step *= layout.sizes[i] > 1 ? layout.sizes[i] : 1;
  }
  return true;
}

// Operands of one shape and all contiguous, or all dense with the same strides, decide the result's
// strides at once, as with PyTorch: those of one that is contiguous are row-major whatever the
// strides of its dimensions of size 1 are. A number is an operand of another shape.
std::optional<Dims> common_strides(std::span<const Input> inputs, const Dims& shape) {
  bool contiguous = true;
  const Tensor& first = inputs[0].tensor;
  for (const Input& input : inputs) {
    if (input.is_number() || !(input.tensor.sizes() == shape)) return std::nullopt;
    contiguous = contiguous && input.tensor.is_contiguous();
  }
  if (contiguous) return contiguous_strides(shape);
  for (const Input& input : inputs) {
    if (!is_dense(input.tensor) || !(input.tensor.strides() == first.strides()))
      return std::nullopt;
  }
  return first.strides();
}

bool all_flat(std::span<const Input> inputs, IntSpan shape) {
  for (const Input& input : inputs) {
    if (input.is_number()) continue;
    if (!input.tensor.is_contiguous() || !is_row_major(input.tensor.impl()->layout()) ||
        input.tensor.numel() == 0 || input.tensor.sizes().size() != shape.size() ||
        !std::equal(shape.begin(), shape.end(), input.tensor.sizes().begin())) {
      return false;
    }
  }
  return true;
}

// The operands in the dtype the loop wants. Numbers become slots; other dtypes become copies.
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

Tensor allocate(std::span<const Input> inputs, const Dims& shape, DType dtype, Device device) {
  if (device == Device::kMeta) checked_numel(shape, "empty");  // of inputs without bytes
  if (all_flat(inputs, shape)) return empty(shape, dtype, device);
  if (const std::optional<Dims> strides = common_strides(inputs, shape))
    return empty_strided(shape, *strides, dtype, device);
  TensorIterator space(shape);
  for (const Input& input : inputs) {
    if (!input.is_number()) space.add(input.tensor);
  }
  return empty_strided(shape, dense_strides(shape, space.order()), dtype, device);
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
      tell_row(strides, inputs.size() + 1, out.numel());
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

}  // namespace

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
    if (is_complex(low) && is_floating(high)) return to_complex(high);  // keeps its precision
    if (low == DType::kUndefined || category(high) >= category(low)) return high;
    return promote(high, low);
  };
  return meet(dims, meet(zero, number));
}

namespace {

// Whether a number leaves a tensor's dtype as it is.
bool fits(const Scalar& number, DType dtype) {
  switch (number.kind()) {
    case Scalar::Kind::kBool: return true;
    case Scalar::Kind::kInt: return dtype != DType::kBool;
    case Scalar::Kind::kFloat: return is_inexact(dtype);
    case Scalar::Kind::kComplex: return is_complex(dtype);
  }
  return false;
}

// The everyday call, at the cost of a few comparisons: CPU tensors of one dtype and one shape, all
// contiguous, with numbers that do not promote. Returns whether it applied.
bool run_flat(const PointwiseOp& op, Form form, std::span<const Input> inputs, const Params& params,
              Tensor& out) {
  if (!inputs[0].tensor || op.promotion == Promotion::kWhere) return false;
  const TensorImpl& first = *inputs[0].tensor.impl();
  const DType dtype = first.dtype();
  constexpr int64_t kSmall = 32768;  // elements; larger ones are shared between threads
  if (!first.is_contiguous() || first.numel() > kSmall || first.device() != Device::kCPU ||
      first.ndim() == 0 || first.numel() == 0 || dtype == DType::kBool ||
      !is_row_major(first.layout()) || (op.promotion == Promotion::kFloat && !is_inexact(dtype))) {
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
    tell_row(strides, inputs.size() + 1, first.numel());
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
  Tensor out = target;
  Tensor written;  // what the loop writes: `out`, or a temporary of the dtype it computes
  if (form == Form::kFunctional) {
    out = written = allocate(inputs, shape, result, device);
  } else {
    // PyTorch converts the parts of complex numbers (abs, angle) to any floating dtype.
    const bool exact = op.exact_out && !(op.real_result && is_complex(dtype));
    if (exact && form == Form::kOut) check_out_dtype(out, result, op.name);
    check(can_cast(result, out.dtype()), op.name, ": result type ", info(result).title,
          " can't be cast to the desired output type ", info(out.dtype()).title);
    check(form == Form::kOut || !op.real_result || !is_complex(dtype), "In-place ", op.name,
          " is not supported for complex tensors.");
    check_written(op, form, out, shape, inputs, dtype, result);
    if (form == Form::kOut && !(out.sizes() == shape)) {
      const Change change(out.impl(), true);
      ops::resize_(out, shape);
    }
    check(out.sizes() == shape, op.name, ": output with shape ", out.sizes(),
          " doesn't match the broadcast shape ", shape);
    written = out.dtype() == result ? out : allocate(inputs, shape, result, device);
  }
  if (device == Device::kMeta) return out;
  const LoopFn fn = loop_for(op, dtype);  // after all else, so that shapes are told first
  Prepared prepared;
  prepare(op, inputs, dtype, prepared);
  run(fn, prepared, inputs, written, params);
  check(!params.saw_zero_division(), op.name, ": ZeroDivisionError: integer division by zero");
  if (!written.is_same(out)) ops::copy_(out, written, false);
  record_write(out);
  return out;
}

}  // namespace uh
