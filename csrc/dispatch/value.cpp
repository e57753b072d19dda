#include "dispatch/value.h"

#include <optional>

namespace uh {
namespace {

[[noreturn]] void wrong(const Value& value, std::string_view wanted) {
  fail(ErrorKind::kType, "boxed call: expected ", wanted, ", got ", value.type_name());
}

template <class T>
T exactly(const Value& value, std::string_view wanted) {
  if (const T* v = value.get_if<T>()) return *v;
  wrong(value, wanted);
}

}  // namespace

std::string Value::type_name() const {
  static const char* const kNames[] = {"None", "Tensor",   "int",     "float", "bool",   "int[]",
                                       "str",  "Tensor[]", "float[]", "dtype", "device", "Scalar"};
  return kNames[v_.index()];
}

template <>
Tensor from_value<Tensor>(const Value& v) {
  if (v.is_none()) return Tensor();
  return exactly<Tensor>(v, "Tensor");
}
template <>
int64_t from_value<int64_t>(const Value& v) {
  if (const bool* b = v.get_if<bool>()) return *b;
  if (const Scalar* s = v.get_if<Scalar>(); s && s->kind() <= Scalar::Kind::kInt)
    return s->to_int();
  return exactly<int64_t>(v, "int");
}
template <>
double from_value<double>(const Value& v) {
  if (const int64_t* i = v.get_if<int64_t>()) return static_cast<double>(*i);
  if (const Scalar* s = v.get_if<Scalar>(); s && !s->is_complex()) return s->to_double();
  return exactly<double>(v, "float");
}
template <>
bool from_value<bool>(const Value& v) {
  if (const int64_t* i = v.get_if<int64_t>()) return *i != 0;
  if (const Scalar* s = v.get_if<Scalar>()) return s->to_bool();
  return exactly<bool>(v, "bool");
}
template <>
Scalar from_value<Scalar>(const Value& v) {
  if (const Scalar* s = v.get_if<Scalar>()) return *s;
  if (const bool* b = v.get_if<bool>()) return Scalar(*b);
  if (const int64_t* i = v.get_if<int64_t>()) return Scalar(*i);
  if (const double* d = v.get_if<double>()) return Scalar(*d);
  wrong(v, "Scalar");
}
template <>
std::optional<Scalar> from_value<std::optional<Scalar>>(const Value& v) {
  if (v.is_none()) return std::nullopt;
  return from_value<Scalar>(v);
}
template <>
std::optional<int64_t> from_value<std::optional<int64_t>>(const Value& v) {
  if (v.is_none()) return std::nullopt;
  return from_value<int64_t>(v);
}
template <>
std::optional<bool> from_value<std::optional<bool>>(const Value& v) {
  if (v.is_none()) return std::nullopt;
  return from_value<bool>(v);
}
template <>
std::optional<double> from_value<std::optional<double>>(const Value& v) {
  if (v.is_none()) return std::nullopt;
  return from_value<double>(v);
}
template <>
Operand from_value<Operand>(const Value& v) {
  if (const Tensor* t = v.get_if<Tensor>()) return Operand(*t);
  return Operand(from_value<Scalar>(v));
}
template <>
Dims from_value<Dims>(const Value& v) {
  if (const int64_t* i = v.get_if<int64_t>()) return Dims{*i};
  return exactly<Dims>(v, "int[]");
}
template <>
std::optional<Dims> from_value<std::optional<Dims>>(const Value& v) {
  if (v.is_none()) return std::nullopt;
  return from_value<Dims>(v);
}
template <>
std::string from_value<std::string>(const Value& v) {
  return exactly<std::string>(v, "str");
}
template <>
std::optional<std::string> from_value<std::optional<std::string>>(const Value& v) {
  if (v.is_none()) return std::nullopt;
  return from_value<std::string>(v);
}
template <>
std::vector<double> from_value<std::vector<double>>(const Value& v) {
  if (const Dims* ints = v.get_if<Dims>()) return std::vector<double>(ints->begin(), ints->end());
  return exactly<std::vector<double>>(v, "float[]");
}
template <>
std::optional<std::vector<double>> from_value<std::optional<std::vector<double>>>(const Value& v) {
  if (v.is_none()) return std::nullopt;
  return from_value<std::vector<double>>(v);
}
template <>
std::vector<Tensor> from_value<std::vector<Tensor>>(const Value& v) {
  return exactly<std::vector<Tensor>>(v, "Tensor[]");
}
template <>
DType from_value<DType>(const Value& v) {
  if (v.is_none()) return DType::kUndefined;
  return exactly<DType>(v, "dtype");
}
template <>
MemoryFormat from_value<MemoryFormat>(const Value& v) {
  if (v.is_none()) return MemoryFormat::kUndefined;
  const auto code = from_value<int64_t>(v);
  check_kind(code >= 0 && code <= static_cast<int64_t>(MemoryFormat::kChannelsLast3d),
             ErrorKind::kType, "boxed call: no memory format has the code ", code);
  return static_cast<MemoryFormat>(code);
}
template <>
Device from_value<Device>(const Value& v) {
  if (v.is_none()) return Device::kUndefined;
  return exactly<Device>(v, "device");
}

}  // namespace uh
