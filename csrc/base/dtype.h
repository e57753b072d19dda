// Element types: their codes, sizes, categories and promotion (PyTorch's rules).
//
// dtypes.inc lists them.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/complex.h"
#include "base/dtypes.inc"
#include "base/error.h"
#include "base/half.h"

namespace uh {

#define UH_DTYPES(_) UH_REAL_DTYPES(_) UH_COMPLEX_DTYPES(_)

enum class DType : int8_t {
#define UH_ENUM(name, ...) name,
  UH_DTYPES(UH_ENUM)
#undef UH_ENUM
      kCount,
  kUndefined = -1,  // no dtype: the default or the promoted dtype applies
};

inline constexpr int kDTypeCount = static_cast<int>(DType::kCount);

struct DTypeInfo {
  std::string_view name;   // "float32"
  std::string_view title;  // "Float"
  int64_t itemsize;        // bytes
};

inline const DTypeInfo& info(DType dtype) {
  static constexpr DTypeInfo kTable[] = {
#define UH_ROW(name, type, text, title, kind, bytes, typestr) {text, title, bytes},
      UH_DTYPES(UH_ROW)
#undef UH_ROW
  };
  return kTable[static_cast<int>(dtype)];
}

inline int64_t itemsize(DType dtype) { return info(dtype).itemsize; }
inline std::string_view name(DType dtype) { return info(dtype).name; }
inline bool is_floating(DType t) { return t >= DType::kFloat16 && t <= DType::kFloat64; }
inline bool is_complex(DType t) { return t >= DType::kComplex64; }
inline bool is_inexact(DType t) { return t >= DType::kFloat16; }  // floating or complex
inline bool is_reduced_floating(DType t) { return t == DType::kFloat16 || t == DType::kBFloat16; }
inline bool is_integral(DType t) { return t >= DType::kUInt8 && t <= DType::kInt64; }  // not bool
inline bool is_signed(DType t) { return t > DType::kUInt8; }

// bool < integral < floating < complex: an operand of a lower category never decides the dtype.
inline int category(DType t) {
  return t == DType::kBool ? 0 : is_integral(t) ? 1 : is_floating(t) ? 2 : 3;
}

// The dtype of a complex dtype's parts; any other dtype is returned unchanged.
inline DType to_real(DType t) {
  return t == DType::kComplex64 ? DType::kFloat32 : t == DType::kComplex128 ? DType::kFloat64 : t;
}
// The complex dtype whose parts can represent a dtype's values. complex64 replaces PyTorch's
// complex of two float16.
inline DType to_complex(DType t) {
  return t == DType::kFloat64 || t == DType::kComplex128 ? DType::kComplex128 : DType::kComplex64;
}

template <class T>
struct dtype_of;
#define UH_TRAIT(name, type, text, title, kind, bytes, typestr)                                    \
  static_assert(sizeof(type) == bytes);                                                            \
  template <>                                                                                      \
  struct dtype_of<type> {                                                                          \
    static constexpr DType value = DType::name;                                                    \
  };
UH_DTYPES(UH_TRAIT)
#undef UH_TRAIT

// The dtype that two operands of equal priority are promoted to.
DType promote(DType a, DType b);

// Throws for a dtype that visit() does not support: a complex one, or an invalid code.
[[noreturn]] void no_such_dtype(DType dtype);

#define UH_CASE(name, type, ...)                                                                   \
  case DType::name: return f(type{});
// Calls f(T{}) with the C++ type of a real dtype (bool to float64), for kernels that order, round
// or count. A complex dtype raises NotImplementedError.
template <class F>
decltype(auto) visit(DType dtype, F&& f) {
  switch (dtype) {
    UH_REAL_DTYPES(UH_CASE)
    default: no_such_dtype(dtype);
  }
}

// The same for every dtype, for kernels that copy, fill, view or compare for equality.
template <class F>
decltype(auto) visit_any(DType dtype, F&& f) {
  switch (dtype) {
    UH_DTYPES(UH_CASE)
    default: no_such_dtype(dtype);
  }
}
#undef UH_CASE

}  // namespace uh
