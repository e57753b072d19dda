// Between the C ABI's numbers and the engine's types. Used by the generated capi_<family>.cpp.
#pragma once

#include <bit>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "capi/guard.h"
#include "capi/underhood.h"
#include "dispatch/operator.h"

namespace uh {

inline TensorImpl* impl_of(uh_handle h) { return reinterpret_cast<TensorImpl*>(h); }
inline Tensor take(uh_handle h) { return h ? Tensor::share(impl_of(h)) : Tensor(); }

inline Scalar to_scalar(int kind, int64_t i, double d) {
  if (kind == 2) return Scalar(d);
  if (kind == 3) return Scalar(Complex128(d, std::bit_cast<double>(i)));
  return kind == 0 ? Scalar(i != 0) : Scalar(i);
}
inline std::optional<Scalar> to_maybe_scalar(int kind, int64_t i, double d) {
  if (kind < 0) return std::nullopt;
  return to_scalar(kind, i, d);
}
inline Operand to_operand(uh_handle h, int kind, int64_t i, double d) {
  return h ? Operand(take(h)) : Operand(to_scalar(kind, i, d));
}
inline Dims to_dims(const int64_t* values, int64_t n) {
  return Dims(IntSpan(values, static_cast<size_t>(n)));
}
inline std::optional<Dims> to_maybe_dims(const int64_t* values, int64_t n) {
  if (n < 0) return std::nullopt;
  return to_dims(values, n);
}
inline std::vector<double> to_floats(const double* values, int64_t n) {
  return std::vector<double>(values, values + n);
}
inline std::optional<std::vector<double>> to_maybe_floats(const double* values, int64_t n) {
  if (n < 0) return std::nullopt;
  return to_floats(values, n);
}
template <class T>
std::optional<T> to_maybe(int given, T value) {
  if (!given) return std::nullopt;
  return value;
}
inline std::vector<Tensor> to_tensors(const uh_handle* handles, int64_t n) {
  std::vector<Tensor> out;
  out.reserve(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) out.push_back(take(handles[i]));
  return out;
}

// Hands a tensor to the caller, who will wrap it in a Python object.
inline uh_handle give(Tensor t) {
  if (events::on()) [[unlikely]]
    events::emit(events::Kind::kWRAP, t.id(), t.impl()->use_count());
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

inline uh_list* give_list(std::vector<Tensor> values) {
  auto* list = new uh_list{static_cast<int64_t>(values.size()), new uh_handle[values.size() + 1]};
  for (size_t i = 0; i < values.size(); ++i) list->items[i] = give(std::move(values[i]));
  return list;
}

inline uh_scalar to_c(const Scalar& s) {
  if (s.is_complex()) return {3, std::bit_cast<int64_t>(s.imag()), s.to_complex().re};
  return {static_cast<int>(s.kind()), s.is_float() ? 0 : s.to_int(), s.to_double()};
}
inline uh_scalar failed_scalar() { return {-2, 0, 0}; }

}  // namespace uh
