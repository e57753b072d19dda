// Functions for the gradient formulas of yaml entries, in addition to the operators.
//
// A formula is C++ with tensors: `grad * other`, `-grad / self`. Its operators are called
// through the dispatcher, so a formula is differentiable if they are (create_graph).
#pragma once

#include <array>

#include "autograd/autograd_meta.h"
#include "autograd/saved_tensor.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/complex.h"
#include "generated/ops/copy.h"

namespace uh::autograd {

// Metadata of a tensor whose elements a formula does not need: holds no memory.
class TensorInfo {
 public:
  TensorInfo() = default;
  explicit TensorInfo(const Tensor& t) {
    if (!t) return;
    layout_ = t.impl()->layout();
    dtype_ = t.dtype();
    device_ = t.device();
    keys_ = t.keys();
    defined_ = true;
  }
  explicit operator bool() const { return defined_; }
  const Dims& sizes() const { return layout_.sizes; }
  const Dims& strides() const { return layout_.strides; }
  int64_t offset() const { return layout_.offset; }
  int64_t ndim() const { return layout_.sizes.ndim(); }
  int64_t size(int64_t dim) const {
    return layout_.sizes[static_cast<size_t>(dim < 0 ? dim + ndim() : dim)];
  }
  int64_t numel() const { return numel_of(layout_.sizes); }
  DType dtype() const { return dtype_; }
  Device device() const { return device_; }
  KeySet keys() const { return keys_; }

 private:
  Layout layout_;
  DType dtype_ = DType::kUndefined;
  Device device_ = Device::kUndefined;
  KeySet keys_;
  bool defined_ = false;
};

std::vector<TensorInfo> infos(const std::vector<Tensor>& tensors);
// `infos(tensors)` marks that a formula needs only the sizes: the saved values already are infos.
inline const std::vector<TensorInfo>& infos(const std::vector<TensorInfo>& known) { return known; }

inline Tensor operator+(const Tensor& a, const Tensor& b) { return ops::add(a, b, Scalar(1)); }
inline Tensor operator+(const Tensor& a, const Scalar& b) { return ops::add(a, b, Scalar(1)); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return ops::sub(a, b, Scalar(1)); }
inline Tensor operator-(const Tensor& a, const Scalar& b) { return ops::sub(a, b, Scalar(1)); }
inline Tensor operator-(const Scalar& a, const Tensor& b) { return ops::sub(a, b, Scalar(1)); }
inline Tensor operator-(const Tensor& a) { return ops::neg(a); }
inline Tensor operator*(const Tensor& a, const Operand& b) { return ops::mul(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return ops::mul(a, b); }
inline Tensor operator*(const Tensor& a, const Scalar& b) { return ops::mul(a, b); }
inline Tensor operator*(const Scalar& a, const Tensor& b) { return ops::mul(b, a); }
inline Tensor operator/(const Tensor& a, const Operand& b) { return ops::div(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return ops::div(a, b); }
inline Tensor operator/(const Tensor& a, const Scalar& b) { return ops::div(a, b); }
inline Tensor operator/(const Scalar& a, const Tensor& b) { return ops::div(a, b); }

// The conjugate; a real tensor is returned unchanged.
inline Tensor conj(const Tensor& t) { return t && is_complex(t.dtype()) ? ops::conj(t) : t; }
inline Operand conj(const Operand& o) {
  if (!o.is_number()) return conj(o.tensor);
  if (!o.number.is_complex()) return o;
  const Complex128 z = o.number.to_complex();
  return Scalar(Complex128(z.re, -z.im));
}
inline Scalar conj(const Scalar& s) { return conj(Operand(s)).number; }

inline bool any_defined(const Gradients& gradients) {
  for (const Tensor& gradient : gradients)
    if (gradient) return true;
  return false;
}
// The gradient, or zeros if it is undefined, for formulas that need a tensor.
Tensor or_zeros(const Tensor& gradient, const TensorInfo& like);
Tensor or_zeros(const Tensor& gradient, const Tensor& like);

// Boxed forms of a Node's saved values that are not tensors, for Python's `_saved_<name>`.
using uh::to_value;
inline IValue to_value(const TensorInfo& info) { return IValue(info.sizes()); }

// `other` with its history from before `written` is written: if they share a version counter, a new
// tensor over the same bytes that has that history. Note [Saved and written].
Tensor with_own_history(const Tensor& other, const Tensor& written);
Operand with_own_history(const Operand& other, const Tensor& written);

// The last step of an in-place composite: writes `result` into `self`, as `op` would.
void copy_result(const Tensor& self, const Tensor& result, std::string_view op);

// Stores the gradients of a list argument, whose edges begin at `first`.
void store_gradients(Gradients& out, size_t first, std::vector<Tensor> result);

template <class F>
auto below_autograd(const F& call) {
  const BelowAutograd below;
  return call();
}

}  // namespace uh::autograd
