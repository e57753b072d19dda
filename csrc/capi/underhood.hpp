// Underhood for C++20 programs: the C ABI with destructors, exceptions and operators. Header only.
//
//   #include <underhood/underhood.hpp>
//   uh::Module model("model.safetensors");              // written by engine.jit.save
//   uh::Tensor y = model(uh::Tensor::of<float>({1, 2, 3, 4}, {1, 4}));
//
// Tensor, Box, Module and Archive hold one reference each; copies share the object, as in Python.
// Every operator is a function and, if Python has it as one, a method of Tensor. Value is an
// argument or result of a call by name: any of these, a number, a string or nothing. Custom
// operators: underhood_library.hpp. Invariant: every handle that the C ABI returns is adopted once.
// If violated: memory is leaked, or freed while it is used. Failures throw uh::Error with the C
// ABI's message.
#ifndef UNDERHOOD_HPP
#define UNDERHOOD_HPP

#include <algorithm>
#include <array>
#include <complex>
#include <cstdint>
#include <cstring>
#include <forward_list>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "capi/underhood_archive.h"
#include "capi/underhood_autograd.h"
#include "capi/underhood_jit_run.h"
#include "capi/underhood_library.h"

namespace uh {
inline namespace v1 {

class Error : public std::runtime_error {
 public:
  Error() : std::runtime_error(uh_last_error()), kind_(uh_last_error_kind()) {
    uh_forget_last_error();
  }
  Error(int kind, const std::string& text) : std::runtime_error(text), kind_(kind) {}
  int kind() const { return kind_; }  // a uh_error_kind

 private:
  int kind_;
};

namespace detail {

inline void check(bool ok) {
  if (!ok) throw Error();
}
inline uint64_t checked(uint64_t handle) {
  check(handle != 0);
  return handle;
}
// Initialises the engine before the first handle is made.
inline void ready() {
  static const int failed = uh_initialise();
  check(failed == 0);
}

// One counted reference: T names the C functions that retain and release it.
template <class T>
class Handle {
 public:
  Handle() = default;
  Handle(const Handle& other) : handle_(other.handle_ ? T::retain(other.handle_) : 0) {}
  Handle(Handle&& other) noexcept : handle_(std::exchange(other.handle_, 0)) {}
  Handle& operator=(Handle other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Handle() {
    if (handle_) T::release(handle_);
  }
  // Takes over the reference that a C function returned; throws if it is 0.
  static T adopt(uint64_t handle) {
    T result;
    result.handle_ = checked(handle);
    return result;
  }
  uint64_t handle() const { return handle_; }
  explicit operator bool() const { return handle_ != 0; }

 private:
  uint64_t handle_ = 0;
};

template <class>
constexpr bool kNever = false;

}  // namespace detail

// Element types, with PyTorch's names.
enum class ScalarType : int {
  Bool = UH_BOOL,
  Byte = UH_UINT8,
  Char = UH_INT8,
  Short = UH_INT16,
  Int = UH_INT32,
  Long = UH_INT64,
  Half = UH_FLOAT16,
  BFloat16 = UH_BFLOAT16,
  Float = UH_FLOAT32,
  Double = UH_FLOAT64,
  ComplexFloat = UH_COMPLEX64,
  ComplexDouble = UH_COMPLEX128,
};
inline constexpr ScalarType kBool = ScalarType::Bool, kByte = ScalarType::Byte,
                            kChar = ScalarType::Char, kShort = ScalarType::Short,
                            kInt = ScalarType::Int, kLong = ScalarType::Long,
                            kHalf = ScalarType::Half, kBFloat16 = ScalarType::BFloat16,
                            kFloat = ScalarType::Float, kDouble = ScalarType::Double,
                            kComplexFloat = ScalarType::ComplexFloat,
                            kComplexDouble = ScalarType::ComplexDouble;
inline constexpr ScalarType kUInt8 = kByte, kInt8 = kChar, kInt16 = kShort, kInt32 = kInt,
                            kInt64 = kLong, kFloat16 = kHalf, kFloat32 = kFloat, kFloat64 = kDouble,
                            kComplexFloat32 = kComplexFloat, kComplexFloat64 = kComplexDouble;
enum class DeviceType : int { CPU, Meta };
inline constexpr DeviceType kCPU = DeviceType::CPU, kMeta = DeviceType::Meta;
class Device {
 public:
  Device(DeviceType type = kCPU, int index = -1)
      : code_(static_cast<int64_t>(type) | static_cast<int64_t>(index + 1) << 8) {}
  // From the C ABI's number.
  static Device of_code(int64_t code) {
    Device result;
    result.code_ = code;
    return result;
  }
  int64_t code() const { return code_; }
  DeviceType type() const { return static_cast<DeviceType>(code_ & 0xFF); }
  int index() const { return static_cast<int>(code_ >> 8) - 1; }
  bool is_cpu() const { return type() == kCPU; }
  bool is_meta() const { return type() == kMeta; }
  bool is_cuda() const { return false; }
  bool operator==(const Device&) const = default;

 private:
  int64_t code_;
};
enum class MemoryFormat : int { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };

// The ScalarType of a C++ type.
template <class T>
constexpr ScalarType scalar_type_of() {
  if constexpr (std::is_same_v<T, bool>)
    return kBool;
  else if constexpr (std::is_same_v<T, uint8_t>)
    return kByte;
  else if constexpr (std::is_same_v<T, int8_t>)
    return kChar;
  else if constexpr (std::is_same_v<T, int16_t>)
    return kShort;
  else if constexpr (std::is_same_v<T, int32_t>)
    return kInt;
  else if constexpr (std::is_same_v<T, int64_t>)
    return kLong;
  else if constexpr (std::is_same_v<T, float>)
    return kFloat;
  else if constexpr (std::is_same_v<T, double>)
    return kDouble;
  else if constexpr (std::is_same_v<T, std::complex<float>>)
    return kComplexFloat;
  else if constexpr (std::is_same_v<T, std::complex<double>>)
    return kComplexDouble;
  else
    static_assert(detail::kNever<T>, "the engine has no such dtype");
}

using Sizes = std::vector<int64_t>;

// An argument for a parameter of type int[]: {2, 3}, a vector, or one number.
class IntList {
 public:
  IntList(std::initializer_list<int64_t> values) : values_(values) {}
  IntList(Sizes values) : values_(std::move(values)) {}
  template <class T>
    requires(std::is_integral_v<T>)
  IntList(T value) : values_{static_cast<int64_t>(value)} {}
  const Sizes& vec() const { return values_; }

 private:
  Sizes values_;
};

// An argument for int[]?. Not a std::optional, for which g++ 12 gives a false warning.
class OptionalIntList {
 public:
  OptionalIntList(std::nullopt_t) {}
  OptionalIntList(IntList values) : values_(std::move(values)), has_value_(true) {}
  OptionalIntList(std::initializer_list<int64_t> values) : OptionalIntList(IntList(values)) {}
  OptionalIntList(Sizes values) : OptionalIntList(IntList(std::move(values))) {}
  template <class T>
    requires(std::is_integral_v<T>)
  OptionalIntList(T value) : OptionalIntList(IntList(value)) {}
  bool has_value() const { return has_value_; }
  const IntList& operator*() const { return values_; }

 private:
  IntList values_{};
  bool has_value_ = false;
};

// A number of any kind.
class Scalar {
 public:
  using Number = std::variant<bool, int64_t, double, std::complex<double>>;
  template <class T>
    requires(std::is_arithmetic_v<T>)
  Scalar(T value) {
    if constexpr (std::is_same_v<T, bool>)
      number_ = value;
    else if constexpr (std::is_integral_v<T>)
      number_ = static_cast<int64_t>(value);
    else
      number_ = static_cast<double>(value);
  }
  Scalar(std::complex<double> value) : number_(value) {}
  const Number& number() const { return number_; }
  template <class T>
  T to() const {
    return std::visit(
        []([[maybe_unused]] auto number) -> T {
          if constexpr (std::is_same_v<decltype(number), std::complex<double>>) {
            if constexpr (std::is_constructible_v<T, std::complex<double>>)
              return T(number);
            else
              throw std::invalid_argument("Scalar::to: the number is complex");
          } else {
            return static_cast<T>(number);
          }
        },
        number_);
  }
  double toDouble() const { return to<double>(); }
  int64_t toLong() const { return to<int64_t>(); }
  bool toBool() const { return to<bool>(); }
  template <class T>
    requires(std::is_arithmetic_v<T>)
  explicit operator T() const {
    return to<T>();
  }

 private:
  Number number_ = int64_t{0};
};

// Element access for a tensor of N dimensions: a[i][j]. It holds no reference.
template <class T, size_t N>
class TensorAccessor {
 public:
  TensorAccessor(T* data, const int64_t* sizes, const int64_t* strides)
      : data_(data), sizes_(sizes), strides_(strides) {}
  decltype(auto) operator[](int64_t i) const {
    if constexpr (N == 1)
      return (data_[i * strides_[0]]);
    else
      return TensorAccessor<T, N - 1>(data_ + i * strides_[0], sizes_ + 1, strides_ + 1);
  }
  int64_t size(size_t dim) const { return sizes_[dim]; }
  int64_t stride(size_t dim) const { return strides_[dim]; }
  T* data() const { return data_; }

 private:
  T* data_;
  const int64_t* sizes_;
  const int64_t* strides_;
};
// The same with its own sizes and strides: the result of accessor<T, N>().
template <class T, size_t N>
class OwningAccessor {
 public:
  OwningAccessor(T* data, std::array<int64_t, N> sizes, std::array<int64_t, N> strides)
      : data_(data), sizes_(sizes), strides_(strides) {}
  decltype(auto) operator[](int64_t i) const {
    return TensorAccessor<T, N>(data_, sizes_.data(), strides_.data())[i];
  }
  int64_t size(size_t dim) const { return sizes_[dim]; }
  int64_t stride(size_t dim) const { return strides_[dim]; }
  T* data() const { return data_; }

 private:
  T* data_;
  std::array<int64_t, N> sizes_, strides_;
};

class Operand;
class TensorOptions;
class TensorIndex;

class Tensor : public detail::Handle<Tensor> {
 public:
  // Copies the values, in row-major order.
  template <class T>
  static Tensor of(std::span<const T> values, const Sizes& sizes) {
    constexpr ScalarType dtype = scalar_type_of<T>();
    detail::ready();
    int64_t count = 1;
    for (int64_t size : sizes) count *= size;
    if (count != static_cast<int64_t>(values.size()))
      throw std::invalid_argument("Tensor::of: " + std::to_string(values.size()) +
                                  " values do not match sizes");
    return adopt_wrapped(uh_from_data(values.data(), static_cast<int>(dtype), sizes.data(),
                                      static_cast<int64_t>(sizes.size()), static_cast<int>(dtype)));
  }
  template <class T>
  static Tensor of(std::initializer_list<T> values, const Sizes& sizes) {
    return of(std::span<const T>(values.begin(), values.size()), sizes);
  }
  template <class T>
  static Tensor of(const std::vector<T>& values, const Sizes& sizes) {
    return of(std::span<const T>(values), sizes);
  }
  static Tensor zeros(const IntList& sizes, std::optional<ScalarType> dtype = std::nullopt);
  static Tensor ones(const IntList& sizes, std::optional<ScalarType> dtype = std::nullopt);
  static Tensor randn(const IntList& sizes, std::optional<ScalarType> dtype = std::nullopt);

  bool defined() const { return static_cast<bool>(*this); }
  bool is_same(const Tensor& other) const { return handle() == other.handle(); }
  int64_t dim() const { return uh_ndim(self()); }
  int64_t numel() const { return uh_numel(self()); }
  ScalarType dtype() const { return static_cast<ScalarType>(uh_dtype(self())); }
  ScalarType scalar_type() const { return dtype(); }
  ScalarType type() const { return dtype(); }
  Device device() const { return Device::of_code(uh_device(self())); }
  TensorOptions options() const;
  bool is_cuda() const { return false; }
  bool is_cpu() const { return device().is_cpu(); }
  bool is_floating_point() const {
    return (dtype() >= kHalf && dtype() <= kDouble) || dtype() == kBFloat16;
  }
  bool is_complex() const { return dtype() >= kComplexFloat; }
  int64_t ndimension() const { return dim(); }
  int64_t element_size() const { return uh_element_size(self()); }
  int64_t storage_offset() const { return uh_offset(self()); }
  Tensor cpu() const { return *this; }
  bool is_contiguous() const { return uh_is_contiguous(self()) != 0; }
  bool requires_grad() const { return uh_requires_grad(self()) != 0; }
  Sizes sizes() const {
    Sizes result(static_cast<size_t>(dim()));
    uh_sizes(handle(), result.data(), static_cast<int64_t>(result.size()));
    return result;
  }
  Sizes strides() const {
    Sizes result(static_cast<size_t>(dim()));
    uh_strides(handle(), result.data(), static_cast<int64_t>(result.size()));
    return result;
  }
  int64_t size(int64_t dim) const { return sizes()[index_of(dim)]; }
  int64_t stride(int64_t dim) const { return strides()[index_of(dim)]; }
  // All elements in row-major order as doubles (both parts of complex numbers) or as integers.
  std::vector<double> doubles() const {
    const bool complex = dtype() >= kComplexFloat;
    std::vector<double> result(static_cast<size_t>(complex ? 2 * numel() : numel()));
    detail::check(uh_read_doubles(handle(), result.data(), static_cast<int64_t>(result.size())) ==
                  0);
    return result;
  }
  std::vector<int64_t> ints() const {
    std::vector<int64_t> result(static_cast<size_t>(numel()));
    detail::check(uh_read_ints(handle(), result.data(), static_cast<int64_t>(result.size())) == 0);
    return result;
  }
  // The only element.
  Scalar item() const {
    const uh_scalar scalar = uh_item(self());
    detail::check(scalar.kind != -2);
    switch (scalar.kind) {
      case 0: return scalar.i != 0;
      case 1: return scalar.i;
      case 2: return scalar.d;
      default: {
        double imaginary;
        std::memcpy(&imaginary, &scalar.i, sizeof imaginary);
        return std::complex<double>(scalar.d, imaginary);
      }
    }
  }
  template <class T>
  T item() const {
    return item().to<T>();
  }
  // The first element; T must match the dtype. Row-major only after contiguous().
  template <class T>
  T* data_ptr() const {
    if (scalar_type_of<std::remove_const_t<T>>() != dtype())
      throw Error(UH_ERROR_RUNTIME,
                  "data_ptr: expected a tensor of the C++ type's dtype, got dtype number " +
                      std::to_string(static_cast<int>(dtype())));
    return reinterpret_cast<T*>(uh_data_ptr(handle()));
  }
  template <class T, size_t N>
  OwningAccessor<T, N> accessor() const {
    if (dim() != static_cast<int64_t>(N))
      throw Error(UH_ERROR_RUNTIME, "accessor: expected " + std::to_string(N) +
                                        " dims but tensor has " + std::to_string(dim()));
    std::array<int64_t, N> sizes, strides;
    uh_sizes(handle(), sizes.data(), static_cast<int64_t>(N));
    uh_strides(handle(), strides.data(), static_cast<int64_t>(N));
    return {data_ptr<T>(), sizes, strides};
  }
  // The bytes of any dtype.
  void* data_ptr() const { return reinterpret_cast<void*>(uh_data_ptr(self())); }
  template <class T>
  const T* const_data_ptr() const {
    return data_ptr<T>();
  }
  template <class T>
  T* mutable_data_ptr() const {
    return data_ptr<T>();
  }
  Tensor to(ScalarType dtype) const;
  Tensor to(const TensorOptions& options) const;
  Tensor type_as(const Tensor& other) const { return to(other.dtype()); }
  Tensor operator[](int64_t i) const;
  // x[1:3, ..., mask], as torch::indexing.
  Tensor index(std::initializer_list<TensorIndex> indices) const;
  Tensor index_put_(std::initializer_list<TensorIndex> indices, const Operand& values) const;

  const Tensor& operator+=(const Operand& other) const;
  const Tensor& operator-=(const Operand& other) const;
  const Tensor& operator*=(const Operand& other) const;
  const Tensor& operator/=(const Operand& other) const;

  const Tensor& requires_grad_(bool requires_grad = true) const {
    detail::check(uh_set_requires_grad(self(), requires_grad) == 0);
    return *this;
  }
  const Tensor& set_requires_grad(bool requires_grad) const {
    return requires_grad_(requires_grad);
  }
  bool is_leaf() const { return uh_is_leaf(self()) != 0; }
  // The accumulated gradient; empty if undefined.
  Tensor grad() const {
    const uint64_t gradient = uh_grad(self());
    return gradient ? adopt_wrapped(gradient) : Tensor();
  }
  // Accumulates gradients into the leaves; `gradient` may be empty for a tensor of one element.
  void backward(const Tensor& gradient = Tensor(), bool retain_graph = false,
                bool create_graph = false) const {
    const uh_handle root = self(), gradients = gradient.handle();
    const int flags = (retain_graph || create_graph ? UH_BACKWARD_KEEP_GRAPH : 0) |
                      (create_graph ? UH_BACKWARD_CREATE_GRAPH : 0) | UH_BACKWARD_ACCUMULATE;
    detail::check(uh_backward(&root, &gradients, 1, nullptr, 0, flags, nullptr) == 0);
  }

#include "generated/underhood_methods.inc"

  // References that are not recorded: a recording knows Python wrappers only.
  static uint64_t retain(uint64_t handle) { return uh_incref(handle); }
  static void release(uint64_t handle) { uh_decref(handle); }
  // Adopts the result of a typed C function, which was recorded as wrapped.
  static Tensor adopt_wrapped(uint64_t handle) {
    Tensor result = adopt(handle);
    uh_release(uh_incref(handle));
    return result;
  }
  // Retains a borrowed tensor; empty for 0.
  static Tensor share(uint64_t handle) { return handle ? adopt(uh_incref(handle)) : Tensor(); }

 private:
  uint64_t self() const {
    if (!handle()) throw Error(UH_ERROR_RUNTIME, "the Tensor is empty");
    return handle();
  }
  size_t index_of(int64_t d) const {
    const int64_t n = dim();
    if (d < -n || d >= n)
      throw Error(UH_ERROR_INDEX, "Dimension out of range (expected to be in range of [" +
                                      std::to_string(-n) + ", " + std::to_string(n - 1) +
                                      "], but got " + std::to_string(d) + ")");
    return static_cast<size_t>(d < 0 ? d + n : d);
  }
};

// A pointwise operand: a tensor or a number.
class Operand {
 public:
  Operand(Tensor tensor) : tensor_(std::move(tensor)), is_number_(false) {}
  template <class T>
    requires(std::is_constructible_v<Scalar, T> && !std::is_same_v<std::remove_cvref_t<T>, Tensor>)
  Operand(T number) : number_(number), is_number_(true) {}
  bool is_number() const { return is_number_; }
  const Tensor& tensor() const { return tensor_; }
  const Scalar& number() const { return number_; }

 private:
  // Not a variant: g++ 12 at -O3 gives a false warning of an uninitialized number.
  Tensor tensor_;
  Scalar number_ = 0;
  bool is_number_;
};

// ---- boxed calls

namespace detail {

inline uh_operator* find(const char* name) {
  ready();
  uh_operator* const op = uh_operator_find(name);
  check(op != nullptr);
  return op;
}

// Arguments in the C ABI's form; they refer to the original values.
class Boxing {
 public:
  uh_value box(std::monostate) { return {UH_VALUE_NONE, 0, 0, nullptr}; }
  uh_value box(std::nullopt_t) { return box(std::monostate()); }
  uh_value box(const Tensor& t) {
    return {t ? UH_VALUE_TENSOR : UH_VALUE_NONE, static_cast<int64_t>(t.handle()), 0, nullptr};
  }
  uh_value box(bool b) { return {UH_VALUE_BOOL, b, 0, nullptr}; }
  template <class T>
    requires(std::is_integral_v<T> && !std::is_same_v<T, bool>)
  uh_value box(T i) {
    return {UH_VALUE_INT, static_cast<int64_t>(i), 0, nullptr};
  }
  uh_value box(double d) { return {UH_VALUE_FLOAT, 0, d, nullptr}; }
  uh_value box(const std::complex<double>& c) {
    const double imaginary = c.imag();
    int64_t word;
    std::memcpy(&word, &imaginary, sizeof word);
    return {UH_VALUE_COMPLEX, word, c.real(), nullptr};
  }
  uh_value box(const Scalar& s) {
    return std::visit([&](const auto& number) { return box(number); }, s.number());
  }
  uh_value box(const Operand& o) { return o.is_number() ? box(o.number()) : box(o.tensor()); }
  uh_value box(ScalarType t) { return {UH_VALUE_DTYPE, static_cast<int64_t>(t), 0, nullptr}; }
  uh_value box(Device d) { return {UH_VALUE_DEVICE, d.code(), 0, nullptr}; }
  uh_value box(MemoryFormat f) { return box(static_cast<int64_t>(f)); }
  uh_value box(const std::string& s) {
    return {UH_VALUE_STRING, static_cast<int64_t>(s.size()), 0, s.data()};
  }
  uh_value box(const std::vector<int64_t>& v) {
    return {UH_VALUE_INTS, static_cast<int64_t>(v.size()), 0, v.data()};
  }
  uh_value box(const IntList& v) { return box(v.vec()); }
  uh_value box(const std::vector<double>& v) {
    return {UH_VALUE_FLOATS, static_cast<int64_t>(v.size()), 0, v.data()};
  }
  uh_value box(const std::vector<Tensor>& v) {
    auto& handles = handles_.emplace_front();
    for (const Tensor& t : v) handles.push_back(t.handle());
    return {UH_VALUE_TENSORS, static_cast<int64_t>(v.size()), 0, handles.data()};
  }
  uh_value box(const OptionalIntList& v) { return v.has_value() ? box(*v) : box(std::monostate()); }
  template <class T>
  uh_value box(const std::optional<T>& v) {
    return v ? box(*v) : box(std::monostate());
  }

 private:
  std::forward_list<std::vector<uh_handle>> handles_;  // allocates only if used
};

inline double imaginary_of(int64_t word) {
  double result;
  std::memcpy(&result, &word, sizeof result);
  return result;
}

// Converts a value to T. `Owned`: takes over its references; else retains them.
template <class T, bool Owned>
struct Unboxing {
  static_assert(kNever<T>, "no operator takes or returns this C++ type");
};
[[noreturn]] inline void wrong_value(const char* expected) {
  throw Error(UH_ERROR_TYPE, std::string("expected ") + expected);
}
template <bool Owned>
struct Unboxing<Tensor, Owned> {
  static Tensor read(const uh_value& v) {
    if (v.tag == UH_VALUE_NONE) return Tensor();
    if (v.tag != UH_VALUE_TENSOR) wrong_value("a Tensor");
    const auto handle = static_cast<uint64_t>(v.i);
    return Owned ? Tensor::adopt(handle) : Tensor::share(handle);
  }
};
template <bool Owned>
struct Unboxing<std::vector<Tensor>, Owned> {
  static std::vector<Tensor> read(const uh_value& v) {
    if (v.tag != UH_VALUE_TENSORS) wrong_value("a list of Tensors");
    std::vector<Tensor> result;
    if constexpr (Owned) {
      auto* list = static_cast<uh_list*>(const_cast<void*>(v.p));
      for (int64_t i = 0; i < list->n; ++i)
        result.push_back(list->items[i] ? Tensor::adopt(list->items[i]) : Tensor());
      uh_list_free(list);
    } else {
      const auto* handles = static_cast<const uh_handle*>(v.p);
      for (int64_t i = 0; i < v.i; ++i) result.push_back(Tensor::share(handles[i]));
    }
    return result;
  }
};
template <bool Owned>
struct Unboxing<bool, Owned> {
  static bool read(const uh_value& v) {
    if (v.tag != UH_VALUE_BOOL) wrong_value("a bool");
    return v.i != 0;
  }
};
template <bool Owned>
struct Unboxing<int64_t, Owned> {
  static int64_t read(const uh_value& v) {
    if (v.tag != UH_VALUE_INT && v.tag != UH_VALUE_BOOL) wrong_value("an int");
    return v.i;
  }
};
template <bool Owned>
struct Unboxing<double, Owned> {
  static double read(const uh_value& v) {
    if (v.tag == UH_VALUE_INT) return static_cast<double>(v.i);
    if (v.tag != UH_VALUE_FLOAT) wrong_value("a float");
    return v.d;
  }
};
template <bool Owned>
struct Unboxing<Scalar, Owned> {
  static Scalar read(const uh_value& v) {
    switch (v.tag) {
      case UH_VALUE_BOOL: return v.i != 0;
      case UH_VALUE_INT: return v.i;
      case UH_VALUE_FLOAT: return v.d;
      case UH_VALUE_COMPLEX: return std::complex<double>(v.d, imaginary_of(v.i));
      default: wrong_value("a number");
    }
  }
};
template <bool Owned>
struct Unboxing<std::string, Owned> {
  static std::string read(const uh_value& v) {
    if (v.tag != UH_VALUE_STRING) wrong_value("a str");
    return std::string(static_cast<const char*>(v.p), static_cast<size_t>(v.i));
  }
};
template <bool Owned>
struct Unboxing<std::vector<int64_t>, Owned> {
  static std::vector<int64_t> read(const uh_value& v) {
    if (v.tag != UH_VALUE_INTS) wrong_value("a list of ints");
    const auto* first = static_cast<const int64_t*>(v.p);
    return std::vector<int64_t>(first, first + v.i);
  }
};
template <bool Owned>
struct Unboxing<std::vector<double>, Owned> {
  static std::vector<double> read(const uh_value& v) {
    if (v.tag != UH_VALUE_FLOATS) wrong_value("a list of floats");
    const auto* first = static_cast<const double*>(v.p);
    return std::vector<double>(first, first + v.i);
  }
};
template <bool Owned>
struct Unboxing<ScalarType, Owned> {
  static ScalarType read(const uh_value& v) {
    if (v.tag != UH_VALUE_DTYPE) wrong_value("a dtype");
    return static_cast<ScalarType>(v.i);
  }
};
template <bool Owned>
struct Unboxing<Device, Owned> {
  static Device read(const uh_value& v) {
    if (v.tag != UH_VALUE_DEVICE) wrong_value("a device");
    return Device::of_code(v.i);
  }
};
template <bool Owned>
struct Unboxing<MemoryFormat, Owned> {
  static MemoryFormat read(const uh_value& v) {
    if (v.tag != UH_VALUE_INT) wrong_value("a memory format");
    return static_cast<MemoryFormat>(v.i);
  }
};
template <class T, bool Owned>
struct Unboxing<std::optional<T>, Owned> {
  static std::optional<T> read(const uh_value& v) {
    if (v.tag == UH_VALUE_NONE) return std::nullopt;
    return Unboxing<T, Owned>::read(v);
  }
};

template <class R, size_t... I>
R read_tuple(const uh_value* results, std::index_sequence<I...>) {
  return R{Unboxing<std::tuple_element_t<I, R>, true>::read(results[I])...};
}
template <class T>
constexpr bool kIsTuple = false;
template <class... T>
constexpr bool kIsTuple<std::tuple<T...>> = true;

template <class R, class... A>
R call(uh_operator* op, const A&... arguments) {
  Boxing boxing;
  const uh_value values[sizeof...(A) + 1] = {boxing.box(arguments)..., {}};
  uh_value results[8] = {};
  check(uh_operator_call(op, values, sizeof...(A), results) >= 0);
  if constexpr (kIsTuple<R>) {
    return read_tuple<R>(results, std::make_index_sequence<std::tuple_size_v<R>>());
  } else if constexpr (!std::is_void_v<R>) {
    return Unboxing<R, true>::read(results[0]);
  }
}

}  // namespace detail

// ---- operators

#include "generated/underhood_ops.inc"

inline Tensor Tensor::zeros(const IntList& sizes, std::optional<ScalarType> dtype) {
  return ::uh::zeros(sizes, dtype);
}
inline Tensor Tensor::ones(const IntList& sizes, std::optional<ScalarType> dtype) {
  return ::uh::ones(sizes, dtype);
}
inline Tensor Tensor::randn(const IntList& sizes, std::optional<ScalarType> dtype) {
  return ::uh::randn(sizes, dtype);
}
inline Tensor Tensor::to(ScalarType dtype) const { return ::uh::_to_copy(*this, dtype); }
inline Tensor Tensor::operator[](int64_t i) const { return ::uh::select(*this, 0, i); }

#define UNDERHOOD_OPERATOR(sign, name)                                                             \
  inline Tensor operator sign(const Tensor& a, const Tensor& b) { return ::uh::name(a, b); }       \
  inline Tensor operator sign(const Tensor& a, const Scalar& b) { return ::uh::name(a, b); }
UNDERHOOD_OPERATOR(+, add)
UNDERHOOD_OPERATOR(-, sub)
UNDERHOOD_OPERATOR(*, mul)
UNDERHOOD_OPERATOR(/, div)
UNDERHOOD_OPERATOR(<, lt)
UNDERHOOD_OPERATOR(<=, le)
UNDERHOOD_OPERATOR(>, gt)
UNDERHOOD_OPERATOR(>=, ge)
#undef UNDERHOOD_OPERATOR
inline Tensor operator+(const Scalar& a, const Tensor& b) { return b + a; }
inline Tensor operator*(const Scalar& a, const Tensor& b) { return b * a; }
inline Tensor operator-(const Scalar& a, const Tensor& b) { return ::uh::rsub(b, a); }
inline Tensor operator/(const Scalar& a, const Tensor& b) { return ::uh::reciprocal(b) * a; }
inline Tensor operator-(const Tensor& a) { return ::uh::neg(a); }
#define UNDERHOOD_OPERATOR(sign, name)                                                             \
  inline const Tensor& Tensor::operator sign(const Operand & other) const {                        \
    name(other);                                                                                   \
    return *this;                                                                                  \
  }
UNDERHOOD_OPERATOR(+=, add_)
UNDERHOOD_OPERATOR(-=, sub_)
UNDERHOOD_OPERATOR(*=, mul_)
UNDERHOOD_OPERATOR(/=, div_)
#undef UNDERHOOD_OPERATOR
inline Tensor operator==(const Tensor& a, const Scalar& b) { return ::uh::eq(a, b); }
inline Tensor operator==(const Tensor& a, const Tensor& b) { return ::uh::eq(a, b); }
inline Tensor operator!=(const Tensor& a, const Scalar& b) { return ::uh::ne(a, b); }
inline Tensor operator!=(const Tensor& a, const Tensor& b) { return ::uh::ne(a, b); }
inline Tensor operator&(const Tensor& a, const Tensor& b) { return ::uh::bitwise_and(a, b); }
inline Tensor operator|(const Tensor& a, const Tensor& b) { return ::uh::bitwise_or(a, b); }
inline Tensor operator~(const Tensor& a) { return ::uh::bitwise_not(a); }

// ---- factories with PyTorch's options

class TensorOptions {
 public:
  TensorOptions() = default;
  explicit TensorOptions(ScalarType dtype) : dtype_(dtype) {}
  explicit TensorOptions(Device device) : device_(device) {}
  TensorOptions dtype(std::optional<ScalarType> dtype) const {
    return with(&TensorOptions::dtype_, dtype);
  }
  TensorOptions device(std::optional<Device> device) const {
    return with(&TensorOptions::device_, device);
  }
  TensorOptions requires_grad(bool on = true) const {
    return with(&TensorOptions::requires_grad_, on);
  }
  std::optional<ScalarType> dtype_opt() const { return dtype_; }
  std::optional<Device> device_opt() const { return device_; }
  ScalarType dtype() const {
    return dtype_ ? *dtype_ : static_cast<ScalarType>(uh_get_default_dtype());
  }
  Device device() const { return device_.value_or(Device()); }
  bool requires_grad_value() const { return requires_grad_; }
  // Applies the remaining options to the new tensor.
  Tensor finish(const Tensor& tensor) const {
    if (requires_grad_) tensor.requires_grad_();
    return tensor;
  }

 private:
  template <class M, class V>
  TensorOptions with(M member, V value) const {
    TensorOptions result = *this;
    result.*member = value;
    return result;
  }
  std::optional<ScalarType> dtype_;
  std::optional<Device> device_;
  bool requires_grad_ = false;
};
inline TensorOptions dtype(ScalarType dtype) { return TensorOptions(dtype); }
inline TensorOptions device(Device device) { return TensorOptions(device); }
inline TensorOptions requires_grad(bool on = true) { return TensorOptions().requires_grad(on); }
inline TensorOptions Tensor::options() const {
  return TensorOptions().dtype(dtype()).device(device());
}
inline Tensor Tensor::to(const TensorOptions& options) const {
  return ::uh::_to_copy(*this, options.dtype_opt(), options.device_opt());
}

#define UNDERHOOD_FACTORY(name)                                                                    \
  inline Tensor name(const IntList& size, const TensorOptions& o) {                                \
    return o.finish(::uh::name(size, o.dtype_opt(), o.device_opt()));                              \
  }                                                                                                \
  inline Tensor name##_like(const Tensor& self, const TensorOptions& o) {                          \
    return o.finish(::uh::name##_like(self, o.dtype_opt(), o.device_opt()));                       \
  }
UNDERHOOD_FACTORY(empty)
UNDERHOOD_FACTORY(zeros)
UNDERHOOD_FACTORY(ones)
UNDERHOOD_FACTORY(rand)
UNDERHOOD_FACTORY(randn)
#undef UNDERHOOD_FACTORY
inline Tensor full(const IntList& size, const Scalar& value, const TensorOptions& o) {
  return o.finish(::uh::full(size, value, o.dtype_opt(), o.device_opt()));
}
inline Tensor arange(const Scalar& start, const Scalar& end, const TensorOptions& o = {}) {
  return o.finish(::uh::arange(start, end, Scalar(1), o.dtype_opt(), o.device_opt()));
}
inline Tensor arange(const Scalar& end, const TensorOptions& o = {}) {
  return arange(Scalar(0), end, o);
}
inline Tensor eye(int64_t n, const TensorOptions& o) {
  return o.finish(::uh::eye(n, std::nullopt, o.dtype_opt(), o.device_opt()));
}
// Makes a tensor of these values: integers become kLong, floating numbers the default dtype.
template <class T>
  requires(std::is_arithmetic_v<T>)
Tensor tensor(const std::vector<T>& values, const TensorOptions& o = {}) {
  using Element = std::conditional_t<std::is_same_v<T, bool>, uint8_t,
                                     std::conditional_t<std::is_integral_v<T>, int64_t, double>>;
  const std::vector<Element> elements(values.begin(), values.end());
  const ScalarType natural = std::is_same_v<T, bool> ? kBool
                             : std::is_integral_v<T>
                                 ? kLong
                                 : static_cast<ScalarType>(uh_get_default_dtype());
  const Tensor result = Tensor::of(elements, {static_cast<int64_t>(elements.size())});
  return o.finish(::uh::_to_copy(result, o.dtype_opt().value_or(natural), o.device_opt()));
}
template <class T>
  requires(std::is_arithmetic_v<T>)
Tensor tensor(std::initializer_list<T> values, const TensorOptions& o = {}) {
  return tensor(std::vector<T>(values), o);
}
template <class T>
  requires(std::is_arithmetic_v<T>)
Tensor tensor(T value, const TensorOptions& o = {}) {
  return tensor(std::vector<T>{value}, o).reshape({});
}
// Makes a tensor over external memory, which must outlive it; `deleter` runs once, when the last
// tensor over it dies.
template <class Deleter>
  requires(std::is_invocable_v<Deleter, void*>)
Tensor from_blob(void* data, const IntList& sizes, const IntList& strides, Deleter deleter,
                 const TensorOptions& o = {}) {
  struct Owner {
    void* data;
    Deleter deleter;
    static void release(void* self) {
      const std::unique_ptr<Owner> owner(static_cast<Owner*>(self));
      owner->deleter(owner->data);
    }
  };
  detail::ready();
  int64_t extent = 1;
  for (size_t d = 0; d < sizes.vec().size(); ++d)
    extent = sizes.vec()[d] == 0
                 ? 0
                 : extent + (extent ? (sizes.vec()[d] - 1) * strides.vec().at(d) : 0);
  constexpr int64_t kBytes[] = {1, 1, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16};
  auto owner = std::make_unique<Owner>(Owner{data, std::move(deleter)});
  const uint64_t handle =
      uh_from_foreign(data, extent * kBytes[static_cast<size_t>(o.dtype())], sizes.vec().data(),
                      strides.vec().data(), static_cast<int64_t>(sizes.vec().size()),
                      static_cast<int>(o.dtype()), &Owner::release, owner.get());
  if (handle) owner.release();
  return o.finish(Tensor::adopt_wrapped(handle));
}
template <class Deleter>
  requires(std::is_invocable_v<Deleter, void*>)
Tensor from_blob(void* data, const IntList& sizes, Deleter deleter, const TensorOptions& o = {}) {
  Sizes strides(sizes.vec().size(), 1);
  for (size_t d = strides.size(); d-- > 1;)
    strides[d - 1] = strides[d] * std::max<int64_t>(sizes.vec()[d], 1);
  return from_blob(data, sizes, strides, std::move(deleter), o);
}
inline Tensor from_blob(void* data, const IntList& sizes, const TensorOptions& o = {}) {
  return from_blob(data, sizes, [](void*) {}, o);
}
inline Tensor from_blob(void* data, const IntList& sizes, const IntList& strides,
                        const TensorOptions& o = {}) {
  return from_blob(data, sizes, strides, [](void*) {}, o);
}

// ---- indexing: x.index({Slice(1, 3), "...", None, mask})

namespace indexing {
inline constexpr std::nullopt_t None = std::nullopt;
struct EllipsisIndexType {};
inline constexpr EllipsisIndexType Ellipsis{};
struct Slice {
  std::optional<int64_t> start, stop, step;
  Slice(std::optional<int64_t> first = std::nullopt, std::optional<int64_t> last = std::nullopt,
        std::optional<int64_t> every = std::nullopt)
      : start(first), stop(last), step(every) {}
};
}  // namespace indexing

class TensorIndex {
 public:
  using Kind =
      std::variant<std::nullopt_t, indexing::EllipsisIndexType, int64_t, indexing::Slice, Tensor>;
  TensorIndex(std::nullopt_t) : index_(std::nullopt) {}
  TensorIndex(indexing::EllipsisIndexType e) : index_(e) {}
  TensorIndex(const char* dots) : index_(indexing::Ellipsis) {
    if (std::string_view(dots) != "...")
      throw Error(UH_ERROR_VALUE, std::string("index: expected \"...\", got \"") + dots + "\"");
  }
  template <class T>
    requires(std::is_integral_v<T> && !std::is_same_v<T, bool>)
  TensorIndex(T i) : index_(static_cast<int64_t>(i)) {}
  TensorIndex(indexing::Slice slice) : index_(slice) {}
  TensorIndex(Tensor tensor) : index_(std::move(tensor)) {}
  const Kind& index() const { return index_; }

 private:
  Kind index_;
};

namespace detail {
// Applies the basic indices, and returns the view with the index tensors of its dimensions.
inline std::pair<Tensor, std::vector<Tensor>> apply_indices(
    Tensor view, std::initializer_list<TensorIndex> indices) {
  const auto is = [](const TensorIndex& index, size_t kind) {
    return index.index().index() == kind;
  };
  int64_t consumed = 0;
  for (const TensorIndex& index : indices) {
    if (is(index, 2) || is(index, 3)) ++consumed;
    if (const Tensor* tensor = std::get_if<Tensor>(&index.index()))
      consumed += tensor->dtype() == kBool || tensor->dtype() == kByte ? tensor->dim() : 1;
  }
  std::vector<Tensor> tensors;
  int64_t dim = 0;
  for (const TensorIndex& index : indices) {
    if (is(index, 0)) {
      view = unsqueeze(view, dim++);
    } else if (is(index, 1)) {
      dim += std::max<int64_t>(view.dim() - dim - consumed, 0);
    } else if (const auto* i = std::get_if<int64_t>(&index.index())) {
      view = select(view, dim, *i);
      --consumed;
    } else if (const auto* s = std::get_if<indexing::Slice>(&index.index())) {
      view = slice(view, dim++, s->start, s->stop, s->step.value_or(1));
      --consumed;
    } else {
      tensors.resize(static_cast<size_t>(dim));
      tensors.push_back(std::get<Tensor>(index.index()));
      const Tensor& tensor = tensors.back();
      const bool mask = tensor.dtype() == kBool || tensor.dtype() == kByte;
      dim += mask ? tensor.dim() : 1;
      consumed -= mask ? tensor.dim() : 1;
    }
  }
  return {view, tensors};
}
}  // namespace detail
inline Tensor Tensor::index(std::initializer_list<TensorIndex> indices) const {
  const auto [view, tensors] = detail::apply_indices(*this, indices);
  return tensors.empty() ? view : ::uh::index(view, tensors);
}
inline Tensor Tensor::index_put_(std::initializer_list<TensorIndex> indices,
                                 const Operand& values) const {
  const auto [view, tensors] = detail::apply_indices(*this, indices);
  const Tensor source =
      values.is_number() ? ::uh::full({}, values.number(), view.options()) : values.tensor();
  if (tensors.empty())
    ::uh::copy_(view, source);
  else
    ::uh::index_put_(view, tensors, source.to(view.dtype()));
  return *this;
}

// ---- arguments and results of calls

class Value;

// A list, tuple, dictionary or object of a saved program.
class Box : public detail::Handle<Box> {
 public:
  enum Kind { kList, kTuple, kDict, kObject };
  Kind kind() const { return static_cast<Kind>(uh_box_kind(handle())); }
  size_t size() const { return static_cast<size_t>(uh_box_size(handle())); }
  Value operator[](size_t i) const;  // of a dictionary: its i-th value
  Value key(size_t i) const;
  static uint64_t retain(uint64_t handle) { return uh_box_retain(handle); }
  static void release(uint64_t handle) { uh_box_release(handle); }
};

class Value {
 public:
  using Held =
      std::variant<std::monostate, Tensor, int64_t, double, bool, std::string, std::complex<double>,
                   std::vector<int64_t>, std::vector<double>, std::vector<Tensor>, Box>;
  Value() = default;
  template <class T>
    requires(!std::is_same_v<std::remove_cvref_t<T>, Value> && std::is_constructible_v<Held, T>)
  Value(T&& value) : held_(std::forward<T>(value)) {}
  Value(int value) : held_(int64_t{value}) {}
  Value(const char* text) : held_(std::string(text)) {}
  Value(std::string_view text) : held_(std::string(text)) {}

  template <class T>
  const T& as() const {
    if (const T* match = std::get_if<T>(&held_)) return *match;
    throw std::bad_variant_access();
  }
  bool is_none() const { return held_.index() == 0; }
  bool isNone() const { return is_none(); }
  bool isTensor() const { return std::holds_alternative<Tensor>(held_); }
  Tensor toTensor() const { return as<Tensor>(); }
  int64_t toInt() const { return as<int64_t>(); }
  bool toBool() const { return as<bool>(); }
  double toDouble() const {
    const auto* integer = std::get_if<int64_t>(&held_);
    return integer ? static_cast<double>(*integer) : as<double>();
  }
  const std::string& toStringRef() const { return as<std::string>(); }
  const std::vector<int64_t>& toIntVector() const { return as<std::vector<int64_t>>(); }
  const std::vector<double>& toDoubleVector() const { return as<std::vector<double>>(); }
  const std::vector<Tensor>& toTensorVector() const { return as<std::vector<Tensor>>(); }
  const Held& held() const { return held_; }
  operator Tensor() const { return as<Tensor>(); }
  Value operator[](size_t i) const { return as<Box>()[i]; }

  // Retains a value that a C function lends for a call.
  static Value share(const uh_value& v) {
    switch (v.tag) {
      case UH_VALUE_TENSOR: return detail::Unboxing<Tensor, false>::read(v);
      case UH_VALUE_TENSORS: return detail::Unboxing<std::vector<Tensor>, false>::read(v);
      case UH_VALUE_BOX: return Box::adopt(uh_box_retain(static_cast<uint64_t>(v.i)));
      default: return adopt(v);
    }
  }
  // Takes over the references of a value that a C function wrote.
  static Value adopt(const uh_value& v) {
    switch (v.tag) {
      case UH_VALUE_TENSOR: return Tensor::adopt_wrapped(static_cast<uint64_t>(v.i));
      case UH_VALUE_INT:
      case UH_VALUE_DTYPE:
      case UH_VALUE_DEVICE: return v.i;
      case UH_VALUE_FLOAT: return v.d;
      case UH_VALUE_BOOL: return v.i != 0;
      case UH_VALUE_INTS: return copied<int64_t>(v);
      case UH_VALUE_STRING:
        return std::string(static_cast<const char*>(v.p), static_cast<size_t>(v.i));
      case UH_VALUE_TENSORS: return tensors(static_cast<uh_list*>(const_cast<void*>(v.p)));
      case UH_VALUE_FLOATS: return copied<double>(v);
      case UH_VALUE_COMPLEX: return std::complex<double>(v.d, detail::imaginary_of(v.i));
      case UH_VALUE_BOX: return Box::adopt(static_cast<uint64_t>(v.i));
      default: return {};
    }
  }

 private:
  template <class T>
  static std::vector<T> copied(const uh_value& v) {
    const T* first = static_cast<const T*>(v.p);
    return std::vector<T>(first, first + v.i);
  }
  static std::vector<Tensor> tensors(uh_list* list) {
    std::vector<Tensor> result;
    for (int64_t i = 0; i < list->n; ++i)
      result.push_back(list->items[i] ? Tensor::adopt_wrapped(list->items[i]) : Tensor());
    uh_list_free(list);
    return result;
  }

  Held held_;
};

namespace detail {

// Values in the C ABI's form; they refer to what is saved here.
class Arguments {
 public:
  explicit Arguments(std::vector<Value> values) : values_(std::move(values)) {
    for (const Value& value : values_)
      boxed_.push_back(std::visit([&](const auto& held) { return box(held); }, value.held()));
  }
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;
  const uh_value* data() const { return boxed_.data(); }
  int64_t size() const { return static_cast<int64_t>(boxed_.size()); }

 private:
  template <class T>
  uh_value box(const T& value) {
    return boxing_.box(value);
  }
  uh_value box(const Box& b) {
    return {UH_VALUE_BOX, static_cast<int64_t>(b.handle()), 0, nullptr};
  }

  std::vector<Value> values_;
  Boxing boxing_;
  std::vector<uh_value> boxed_;
};

}  // namespace detail

inline Value Box::operator[](size_t i) const {
  uh_value v{};
  detail::check(uh_box_item(handle(), static_cast<int64_t>(i), &v) == 0);
  return Value::adopt(v);
}
inline Value Box::key(size_t i) const {
  uh_value v{};
  detail::check(uh_box_key(handle(), static_cast<int64_t>(i), &v) == 0);
  return Value::adopt(v);
}

// Calls an operator by name ("add.Tensor") with all arguments of its schema; returns the results.
template <class... Args>
std::vector<Value> call(const std::string& name, Args&&... args) {
  detail::ready();
  const detail::Arguments boxed({Value(std::forward<Args>(args))...});
  uh_value results[8] = {};
  const int count = uh_call_boxed(name.c_str(), boxed.data(), boxed.size(), results);
  detail::check(count >= 0);
  std::vector<Value> result;
  for (int i = 0; i < count; ++i) result.push_back(Value::adopt(results[i]));
  return result;
}

// ---- files

// The tensors of any safetensors file. `mapped`: they use the file's pages, see uh_archive_map.
class Archive {
 public:
  explicit Archive(const std::string& path, bool mapped = false)
      : archive_(detail::checked(mapped ? uh_archive_map(path.c_str())
                                        : uh_archive_open(path.c_str()))) {}
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;
  ~Archive() { uh_archive_close(archive_); }

  size_t size() const { return static_cast<size_t>(uh_archive_count(archive_)); }
  std::string name(size_t i) const {
    const char* match = uh_archive_name(archive_, static_cast<int64_t>(i));
    return match ? match : throw std::out_of_range("Archive::name");
  }
  Tensor tensor(size_t i) const {
    return Tensor::adopt_wrapped(uh_archive_tensor(archive_, static_cast<int64_t>(i)));
  }
  Tensor tensor(const std::string& name) const {
    const int64_t i = uh_archive_find(archive_, name.c_str());
    return i < 0 ? throw std::out_of_range("Archive: there is no tensor " + name)
                 : Tensor::adopt_wrapped(uh_archive_tensor(archive_, i));
  }
  uh_archive handle() const { return archive_; }

 private:
  uh_archive archive_;
};

// A module that engine.jit.save wrote, run as a graph. `mapped`: its weights use the file's
// pages.
class Module {
 public:
  explicit Module(const std::string& path, bool mapped = false) : object_(loaded(path, mapped)) {}
  template <class... Args>
  Value operator()(Args&&... args) const {
    return call("forward", std::forward<Args>(args)...);
  }
  template <class... Args>
  Value call(const char* method, Args&&... args) const {
    const detail::Arguments boxed({Value(std::forward<Args>(args))...});
    uh_value result{};
    detail::check(uh_jit_call(object_.handle(), method, boxed.data(), boxed.size(), &result) == 0);
    return Value::adopt(result);
  }
  const Box& object() const { return object_; }

 private:
  static Box loaded(const std::string& path, bool mapped) {
    detail::ready();
    const Archive file(path, mapped);
    return Box::adopt(uh_jit_load_archive(file.handle()));
  }
  Box object_;
};

}  // namespace v1
}  // namespace uh

#endif
