#include "capi/convert.h"

#include <bit>

namespace uh {

// underhood.h is C and repeats these numbers; they must match.
static_assert(UH_BOOL == static_cast<int>(DType::kBool));
static_assert(UH_UINT8 == static_cast<int>(DType::kUInt8));
static_assert(UH_INT8 == static_cast<int>(DType::kInt8));
static_assert(UH_INT16 == static_cast<int>(DType::kInt16));
static_assert(UH_INT32 == static_cast<int>(DType::kInt32));
static_assert(UH_INT64 == static_cast<int>(DType::kInt64));
static_assert(UH_FLOAT16 == static_cast<int>(DType::kFloat16));
static_assert(UH_BFLOAT16 == static_cast<int>(DType::kBFloat16));
static_assert(UH_FLOAT32 == static_cast<int>(DType::kFloat32));
static_assert(UH_FLOAT64 == static_cast<int>(DType::kFloat64));
static_assert(UH_COMPLEX64 == static_cast<int>(DType::kComplex64));
static_assert(UH_COMPLEX128 == static_cast<int>(DType::kComplex128));

Scalar to_scalar(int kind, int64_t i, double d) {
  if (kind == 2) return Scalar(d);
  if (kind == 3) return Scalar(Complex128(d, std::bit_cast<double>(i)));
  return kind == 0 ? Scalar(i != 0) : Scalar(i);
}
std::optional<Scalar> to_maybe_scalar(int kind, int64_t i, double d) {
  if (kind < 0) return std::nullopt;
  return to_scalar(kind, i, d);
}
Operand to_operand(uh_handle h, int kind, int64_t i, double d) {
  return h ? Operand(take(h)) : Operand(to_scalar(kind, i, d));
}
Dims to_dims(const int64_t* values, int64_t n) {
  check_kind(n >= 0, ErrorKind::kType, "expected a tuple of ints, got None");
  return Dims(IntSpan(values, static_cast<size_t>(n)));
}
std::optional<Dims> to_maybe_dims(const int64_t* values, int64_t n) {
  if (n < 0) return std::nullopt;
  return to_dims(values, n);
}
std::vector<double> to_floats(const double* values, int64_t n) {
  return std::vector<double>(values, values + n);
}
std::optional<std::vector<double>> to_maybe_floats(const double* values, int64_t n) {
  if (n < 0) return std::nullopt;
  return to_floats(values, n);
}
std::vector<Tensor> to_tensors(const uh_handle* handles, int64_t n) {
  std::vector<Tensor> out;
  out.reserve(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) out.push_back(take(handles[i]));
  return out;
}

void record_wrap(const Tensor& t) {
  if (t.impl()->object()) return;  // it already has a Python object
  events::emit(events::Kind::kWRAP, t.id(), t.impl()->use_count());
}

uh_list* give_list(std::vector<Tensor> values) {
  auto* list = new uh_list{static_cast<int64_t>(values.size()), new uh_handle[values.size() + 1]};
  for (size_t i = 0; i < values.size(); ++i) list->items[i] = give(std::move(values[i]));
  return list;
}

uh_scalar to_c(const Scalar& s) {
  if (s.is_complex()) return {3, std::bit_cast<int64_t>(s.imag()), s.to_complex().re};
  return {static_cast<int>(s.kind()), s.is_float() ? 0 : s.to_int(), s.to_double()};
}

}  // namespace uh
