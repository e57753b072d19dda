// Pointwise operators: the parts that all devices share.
//
// plan_pointwise chooses the compute dtype and the shape and strides of the result, and allocates
// it. Meta needs no more; on other devices a kernel fills the result. The CPU's kernel is the loop
// generated from the yaml expression (backend/cpu/pointwise.h).
// Invariant: kernels get operands of one compute dtype; conversions are done before and after.
#pragma once

#include <array>
#include <atomic>
#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

#include "tensor/result_strides.h"
#include "tensor/tensor.h"

namespace uh {

enum class Promotion {
  kArithmetic,  // common dtype in and out
  kFloat,       // integers become the default float
  kCompare,     // common dtype in, bool out
  kLogical,     // any dtype in, bool out
  kIntegral,    // bool and integers only
  kWhere,       // first operand is a bool condition
};

enum class Form { kFunctional, kInplace, kOut };

// An operand borrowed for one call: unlike an Operand it holds no reference, and a copy of it is
// two addresses.
struct Input {
  const Tensor& tensor;  // empty for a number
  const Scalar& number;

  Input(const Tensor& t) : tensor(t), number(kNoNumber) {}
  Input(const Operand& o) : tensor(o.tensor), number(o.number) {}
  Input(Tensor&&) = delete;  // would be destroyed before the call
  Input(Operand&&) = delete;
  bool is_number() const { return !tensor; }

 private:
  static constexpr Scalar kNoNumber{};
};

// data[0] and strides[0] are the output's, inputs follow; strides in bytes, n in elements.
class Params;
using LoopFn = void (*)(char* const* data, const int64_t* strides, int64_t n, const Params& params);
using LoopRow = std::array<LoopFn, kDTypeCount>;  // null for dtypes without a loop

// Throws for unsupported operands or parameters before the loop; see pointwise_checks.h.
struct PointwiseOp;
using Check = void (*)(const PointwiseOp& op, std::span<const Input> inputs, const Params& params,
                       DType dtype);

struct PointwiseOp {
  const char* name;
  const LoopRow& (*loops)();  // for the active instruction set
  Promotion promotion;
  bool real_result = false;   // complex operands have real results (abs)
  bool promoting = false;     // parameters take part in type promotion (clamp)
  bool all_numbers = false;   // all operands may be numbers: add(2, 3)
  bool exact_out = false;     // out= must have the result's dtype
  bool exact_number = false;  // 16-bit floats: a number as last operand is not rounded (mul, div)
  // When the first operand is a number, when the second is.
  std::array<ResultStrides, 2> number_strides{};
  ResultStrides complex_strides = ResultStrides::kLoop;  // for complex operands
  Check check = nullptr;
  // RuntimeError for such elements, as in PyTorch, instead of NotImplementedError.
  bool rejects_bool = false, rejects_complex = false;
};

// The numbers that an expression uses in addition to its operands (alpha, min, max...).
class Params {
 public:
  static constexpr size_t kMaxCount = 4;

  Params() = default;
  Params(std::initializer_list<std::optional<Scalar>> values);
  bool has(size_t i) const { return values_[i].has_value(); }
  // The parameters of add, sub and hardshrink, which PyTorch rounds to the elements' dtype.
  template <class Small>
  Params rounded() const {
    const auto stored = [&](size_t i) -> std::optional<Scalar> {
      if (!values_[i]) return std::nullopt;
      return Scalar(static_cast<double>(static_cast<float>(values_[i]->template to<Small>())));
    };
    return {stored(0), stored(1), stored(2), stored(3)};
  }
  template <class T>
  T get(size_t i) const {
    using C = std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>;
    return values_[i] ? static_cast<C>(values_[i]->template to<C>()) : C{};
  }
  const std::optional<Scalar>& operator[](size_t i) const { return values_[i]; }

  // The last operand is a number whose Slot has the float that 16-bit floats are computed with.
  void mark_exact_number() { exact_number_ = true; }
  bool exact_number() const { return exact_number_; }

  // Notes an integer division by zero, reported after the loop, which cannot throw.
  void divided_by_zero() const { zero_division_.store(true, std::memory_order_relaxed); }
  bool saw_zero_division() const { return zero_division_.load(std::memory_order_relaxed); }

 private:
  std::array<std::optional<Scalar>, kMaxCount> values_;
  bool exact_number_ = false;
  mutable std::atomic<bool> zero_division_{false};
};

// The rule for the strides of a new result.
ResultStrides strides_rule(const PointwiseOp& op, DType compute, std::span<const Input> inputs);

// A number in the dtype of a loop, in memory that it can read with stride 0. After one of a 16-bit
// dtype, at kExactNumber, comes the float that it was rounded from.
struct Slot {
  static constexpr int64_t kExactNumber = 4;
  alignas(16) std::array<std::byte, 16> bytes;
};
Slot number_slot(const Scalar& number, DType dtype);
// Returns whether the loop reads that float: of a number, or of a tensor without dimensions.
bool reads_exact_number(const PointwiseOp& op, const Input& last, DType compute);

// The decisions of the shape rule of pointwise operators for one call, on any device. A kernel
// then fills `written` with elements computed in dtype `compute`.
struct PointwiseCall {
  DType compute;
  Tensor out;      // the result, allocated or resized
  Tensor written;  // `out`, or a temporary if its dtype differs from `compute`
};
// Checks the operands, chooses dtypes, shape, strides and device, and allocates the result.
PointwiseCall plan_pointwise(const PointwiseOp& op, Form form, std::span<const Input> inputs,
                             const Params& params, const Tensor& target);
// The kernel of a device other than the CPU: fills `out` from operands that are on its device,
// broadcast to `out`, and have the dtype `compute` (or are numbers).
using PointwiseKernel = void (*)(DType compute, std::span<const Input> inputs, const Params& params,
                                 const Tensor& out);
Tensor run_on_device(PointwiseKernel kernel, const PointwiseOp& op, Form form,
                     std::span<const Input> inputs, const Params& params, const Tensor& target);

// Runs a pointwise operator on one device: the rule and the device's kernel.
using PointwiseRun = Tensor (*)(const PointwiseOp& op, Form form, std::span<const Input> inputs,
                                const Params& params, const Tensor& target);
// Runs the rule only.
Tensor meta_pointwise(const PointwiseOp& op, Form form, std::span<const Input> inputs,
                      const Params& params, const Tensor& target);
template <PointwiseKernel kernel>
Tensor device_pointwise(const PointwiseOp& op, Form form, std::span<const Input> inputs,
                        const Params& params, const Tensor& target) {
  return run_on_device(kernel, op, form, inputs, params, target);
}

// Reports a division by zero and copies the temporary to `out`, after the kernel.
void finish_pointwise(const PointwiseOp& op, const PointwiseCall& call, const Params& params);

// Returns PyTorch's result type: dimensioned tensors take precedence over 0-d ones, and those over
// numbers, unless the lower one has a higher category (bool < integer < float).
DType result_type(std::span<const Input> operands);

}  // namespace uh
