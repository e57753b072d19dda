// Conversions between the C ABI's types and the engine's, for the generated
// capi_<family>.cpp.
#pragma once

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "capi/guard.h"
#include "capi/underhood.h"
#include "dispatch/operator.h"

namespace uh {

inline TensorImpl* impl_of(uh_handle h) { return reinterpret_cast<TensorImpl*>(h); }
// Marks a tensor as used until the running call ends: Note [Calls and changes].
inline TensorImpl* use(uh_handle h) {
  TensorImpl* impl = impl_of(h);
  calls::use(impl);
  if (TensorImpl* base = impl->base()) calls::use(base);
  return impl;
}
inline Tensor take(uh_handle h) { return h ? Tensor::share(use(h)) : Tensor(); }

// A section that uses one tensor, for the length of an expression: in_use(self)->numel().
class InUse {
 public:
  explicit InUse(uh_handle self) : impl_(use(self)) {}
  TensorImpl* operator->() const { return impl_; }

 private:
  CallSection call_;
  TensorImpl* impl_;
};
inline InUse in_use(uh_handle self) { return InUse(self); }

Scalar to_scalar(int kind, int64_t i, double d);
std::optional<Scalar> to_maybe_scalar(int kind, int64_t i, double d);
Operand to_operand(uh_handle h, int kind, int64_t i, double d);
Dims to_dims(const int64_t* values, int64_t n);
std::optional<Dims> to_maybe_dims(const int64_t* values, int64_t n);
std::vector<double> to_floats(const double* values, int64_t n);
std::optional<std::vector<double>> to_maybe_floats(const double* values, int64_t n);
std::vector<Tensor> to_tensors(const uh_handle* handles, int64_t n);
template <class T>
std::optional<T> to_maybe(int argument, T value) {
  if (!argument) return std::nullopt;
  return value;
}

void record_wrap(const Tensor& t);
// Returns a reference to the caller, which wraps it in a Python object.
inline uh_handle give(Tensor t) {
  if (events::on()) [[unlikely]]
    record_wrap(t);
  return reinterpret_cast<uh_handle>(t.leak());
}

template <class... T>
void give_tuple(std::tuple<T...> values, uh_handle* ret) {
  std::apply(
      [&](auto&... v) {
        size_t i = 0;
        ((ret[i++] = give(std::move(v))), ...);
      },
      values);
}

uh_list* give_list(std::vector<Tensor> values);
uh_scalar to_c(const Scalar& s);
// Converts a value; copies strings and arrays.
IValue read_value(const uh_value& value);
// The returned strings and lists stay valid for this thread's next kReturnedValues calls.
constexpr size_t kReturnedValues = 64;
uh_value write_value(IValue value);

inline uh_scalar failed_scalar() { return {-2, 0, 0}; }

}  // namespace uh
