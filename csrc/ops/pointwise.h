// Pointwise operators: what they have in common on every device.
//
// What: plan_pointwise finds the dtype to compute in, the shape and strides of the result, and
// allocates it. That is all of Meta; on other devices a kernel fills the result. The CPU's is the
// loop that the generator made from the yaml expression (backend/cpu/pointwise.h).
// Invariant: kernels see operands of one compute dtype only; conversion happens before and after.
#pragma once

#include <array>
#include <atomic>
#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

#include "tensor/tensor.h"

namespace uh {

enum class Promotion {
  kArithmetic,  // common dtype in, the same out
  kFloat,       // integers become the default float
  kCompare,     // common dtype in, bool out
  kLogical,     // any dtype in, bool out
  kIntegral,    // bool and integers only
  kWhere,       // first operand is a bool condition
};

enum class Form { kFunctional, kInplace, kOut };

// An operand as it is lent for the length of one call: unlike an Operand it counts no reference,
// and copying it is copying two addresses.
struct Input {
  const Tensor& tensor;  // empty for a number
  const Scalar& number;

  Input(const Tensor& t) : tensor(t), number(kNoNumber) {}
  Input(const Operand& o) : tensor(o.tensor), number(o.number) {}
  Input(Tensor&&) = delete;  // would be gone before the call
  Input(Operand&&) = delete;
  bool is_number() const { return !tensor; }

 private:
  static constexpr Scalar kNoNumber{};
};

// data[0] and strides[0] are the output, the inputs follow; strides in bytes, n in elements.
class Params;
using LoopFn = void (*)(char* const* data, const int64_t* strides, int64_t n, const Params& params);
using LoopRow = std::array<LoopFn, kDTypeCount>;  // null where the operator does not exist

// Refuses operands or parameters before the loop runs; see checks.h.
struct PointwiseOp;
using Check = void (*)(const PointwiseOp& op, std::span<const Input> inputs, const Params& params,
                       DType dtype);

// Strides of a new result: those of the loop over all operands, of the one operand, or row-major.
enum class ResultStrides : int8_t { kLoop, kOperand, kRowMajor };

struct PointwiseOp {
  const char* name;
  const LoopRow& (*loops)();  // of the instruction set in use
  Promotion promotion;
  bool real_result = false;  // complex operands give the dtype of their parts (abs)
  bool promoting = false;    // the parameters take part in the choice of the dtype (clamp)
  bool all_numbers = false;  // every operand may be a number at once: add(2, 3)
  bool exact_out = false;    // out= must have the dtype of the result
  ResultStrides complex_strides = ResultStrides::kLoop;  // where the operands are complex
  Check check = nullptr;
};

// The numbers an expression uses besides its operands (alpha, min, max...).
class Params {
 public:
  static constexpr size_t kMost = 4;

  Params() = default;
  Params(std::initializer_list<std::optional<Scalar>> values);
  bool has(size_t i) const { return values_[i].has_value(); }
  template <class T>
  T get(size_t i) const {
    using C = std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>;
    return values_[i] ? static_cast<C>(values_[i]->template to<C>()) : C{};
  }
  const std::optional<Scalar>& operator[](size_t i) const { return values_[i]; }

  // An integer division by zero was met; reported after the loop, as a loop cannot throw.
  void divided_by_zero() const { zero_division_.store(true, std::memory_order_relaxed); }
  bool saw_zero_division() const { return zero_division_.load(std::memory_order_relaxed); }

 private:
  std::array<std::optional<Scalar>, kMost> values_;
  mutable std::atomic<bool> zero_division_{false};
};

// The decisions of the shape rule of pointwise operators for one call: all that does not depend on
// the device. A kernel then fills `written` with elements computed in dtype `compute`.
struct PointwiseCall {
  DType compute;
  Tensor out;      // the result, allocated or resized
  Tensor written;  // `out`, or a temporary where `out` has another dtype than what is computed
};
// The rule: checks the operands, chooses dtypes, shape, strides and device, makes the result.
PointwiseCall plan_pointwise(const PointwiseOp& op, Form form, std::span<const Input> inputs,
                             const Params& params, const Tensor& target);
// A kernel of another device than the CPU: fills `out`, of the result's dtype, from operands that
// are on its device and have the dtype `compute` (or are numbers), and broadcast to `out`.
using PointwiseKernel = void (*)(DType compute, std::span<const Input> inputs, const Params& params,
                                 const Tensor& out);
Tensor run_on_device(PointwiseKernel kernel, const PointwiseOp& op, Form form,
                     std::span<const Input> inputs, const Params& params, const Tensor& target);

// Runs a pointwise operator: the rule and the kernel of one device.
using PointwiseRun = Tensor (*)(const PointwiseOp& op, Form form, std::span<const Input> inputs,
                                const Params& params, const Tensor& target);
// Meta's is the rule alone.
Tensor meta_pointwise(const PointwiseOp& op, Form form, std::span<const Input> inputs,
                      const Params& params, const Tensor& target);
template <PointwiseKernel kernel>
Tensor device_pointwise(const PointwiseOp& op, Form form, std::span<const Input> inputs,
                        const Params& params, const Tensor& target) {
  return run_on_device(kernel, op, form, inputs, params, target);
}

// After the kernel: reports a division by zero, copies the temporary if there is one.
void finish_pointwise(const PointwiseOp& op, const PointwiseCall& call, const Params& params);

// PyTorch's result type: tensors with dimensions decide over 0-d tensors, those over numbers,
// unless the lesser one is of a higher category (bool < integer < float).
DType result_type(std::span<const Input> operands);

}  // namespace uh
