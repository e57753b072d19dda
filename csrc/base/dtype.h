// Element types: their codes, sizes, categories and promotion (PyTorch's rules).
//
// The order of UH_DTYPES is the code that traces and the C ABI carry; append, never reorder.
// complex64 and complex128 (codes 10 and 11) come with the operator library.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "base/half.h"

namespace uh {

//        enumerator  C++ type  Python name  short name in graph text and kernels
#define UH_DTYPES(_)                                                                               \
  _(kBool, bool, "bool", "Bool")                                                                   \
  _(kUInt8, uint8_t, "uint8", "Byte")                                                              \
  _(kInt8, int8_t, "int8", "Char")                                                                 \
  _(kInt16, int16_t, "int16", "Short")                                                             \
  _(kInt32, int32_t, "int32", "Int")                                                               \
  _(kInt64, int64_t, "int64", "Long")                                                              \
  _(kFloat16, Half, "float16", "Half")                                                             \
  _(kBFloat16, BFloat16, "bfloat16", "BFloat16")                                                   \
  _(kFloat32, float, "float32", "Float")                                                           \
  _(kFloat64, double, "float64", "Double")

enum class DType : int8_t {
#define UH_ENUM(name, type, text, title) name,
  UH_DTYPES(UH_ENUM)
#undef UH_ENUM
      kCount,
  kUndefined = -1,  // "not given": the default or the promoted dtype applies
};

inline constexpr int kDTypeCount = static_cast<int>(DType::kCount);

struct DTypeInfo {
  std::string_view name;   // "float32"
  std::string_view title;  // "Float"
  int64_t itemsize;        // bytes
};

inline const DTypeInfo& info(DType dtype) {
  static constexpr DTypeInfo kTable[] = {
#define UH_ROW(name, type, text, title) {text, title, sizeof(type)},
      UH_DTYPES(UH_ROW)
#undef UH_ROW
  };
  return kTable[static_cast<int>(dtype)];
}

inline int64_t itemsize(DType dtype) { return info(dtype).itemsize; }
inline std::string_view name(DType dtype) { return info(dtype).name; }
inline bool is_floating(DType t) { return t >= DType::kFloat16 && t <= DType::kFloat64; }
inline bool is_reduced_floating(DType t) { return t == DType::kFloat16 || t == DType::kBFloat16; }
inline bool is_integral(DType t) { return t >= DType::kUInt8 && t <= DType::kInt64; }  // not bool
inline bool is_signed(DType t) { return t > DType::kUInt8; }

// bool < integral < floating: a lower category never decides over a higher one.
inline int category(DType t) { return t == DType::kBool ? 0 : is_integral(t) ? 1 : 2; }

template <class T>
struct dtype_of;
#define UH_TRAIT(name, type, text, title)                                                          \
  template <>                                                                                      \
  struct dtype_of<type> {                                                                          \
    static constexpr DType value = DType::name;                                                    \
  };
UH_DTYPES(UH_TRAIT)
#undef UH_TRAIT

// The dtype two operands of equal rank in the promotion meet in.
DType promote(DType a, DType b);

// Calls f(T{}) with the C++ type of dtype.
template <class F>
decltype(auto) visit(DType dtype, F&& f) {
  switch (dtype) {
#define UH_CASE(name, type, text, title)                                                           \
  case DType::name: return f(type{});
    UH_DTYPES(UH_CASE)
#undef UH_CASE
    default: fail(ErrorKind::kInternal, "unknown dtype code ", static_cast<int>(dtype));
  }
}

}  // namespace uh
