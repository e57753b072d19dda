// Underhood for C++20 programs: the C ABI with destructors, exceptions and operators. Header only.
//
//   #include <underhood/underhood.hpp>
//   underhood::Module model("model.safetensors");              // what engine.jit.save wrote
//   underhood::Tensor y = model(underhood::Tensor::of<float>({1, 2, 3, 4}, {1, 4}));
//
// What: Tensor, List, Module and Archive hold one reference each; copies share what they name, as
// in Python. Value is what a call takes and returns: any of these, a number, a text or nothing.
// Invariant: every handle that the C ABI gives is adopted once. If violated: memory is leaked, or
// freed while it is used. What fails throws underhood::Error with the C ABI's text.
#ifndef UNDERHOOD_HPP
#define UNDERHOOD_HPP

#include <complex>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "capi/underhood_archive.h"
#include "capi/underhood_jit_run.h"
#include "generated/underhood_ops.h"

namespace underhood {

class Error : public std::runtime_error {
 public:
  Error() : std::runtime_error(uh_last_error()), kind_(uh_last_error_kind()) {}
  int kind() const { return kind_; }  // see uh_last_error_kind

 private:
  int kind_;
};

namespace detail {

inline void check(bool ok) {
  if (!ok) throw Error();
}
inline uint64_t given(uint64_t handle) {
  check(handle != 0);
  return handle;
}
// The engine is ready before the first handle is made.
inline void ready() {
  static const int failed = uh_initialise();
  check(failed == 0);
}

// One counted reference: T names the C functions that take another and give it back.
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
  // Takes the reference that a C function returned; throws where it returned 0.
  static T adopt(uint64_t handle) {
    T result;
    result.handle_ = given(handle);
    return result;
  }
  uint64_t handle() const { return handle_; }
  explicit operator bool() const { return handle_ != 0; }

 private:
  uint64_t handle_ = 0;
};

template <class T>
constexpr int dtype_of() {
  if constexpr (std::is_same_v<T, bool>) return UH_BOOL;
  if constexpr (std::is_same_v<T, uint8_t>) return UH_UINT8;
  if constexpr (std::is_same_v<T, int8_t>) return UH_INT8;
  if constexpr (std::is_same_v<T, int16_t>) return UH_INT16;
  if constexpr (std::is_same_v<T, int32_t>) return UH_INT32;
  if constexpr (std::is_same_v<T, int64_t>) return UH_INT64;
  if constexpr (std::is_same_v<T, float>) return UH_FLOAT32;
  if constexpr (std::is_same_v<T, double>) return UH_FLOAT64;
  if constexpr (std::is_same_v<T, std::complex<float>>) return UH_COMPLEX64;
  if constexpr (std::is_same_v<T, std::complex<double>>) return UH_COMPLEX128;
  return -1;
}

}  // namespace detail

using Sizes = std::vector<int64_t>;

class Tensor : public detail::Handle<Tensor> {
 public:
  // A copy of the values, row by row.
  template <class T>
  static Tensor of(std::span<const T> values, const Sizes& sizes) {
    constexpr int dtype = detail::dtype_of<T>();
    static_assert(dtype >= 0, "the engine has no such dtype");
    detail::ready();
    int64_t count = 1;
    for (int64_t size : sizes) count *= size;
    if (count != static_cast<int64_t>(values.size()))
      throw std::invalid_argument("Tensor::of: " + std::to_string(values.size()) +
                                  " values do not match sizes");
    return adopt(uh_from_data(values.data(), dtype, sizes.data(),
                              static_cast<int64_t>(sizes.size()), dtype));
  }
  template <class T>
  static Tensor of(std::initializer_list<T> values, const Sizes& sizes) {
    return of(std::span<const T>(values.begin(), values.size()), sizes);
  }
  template <class T>
  static Tensor of(const std::vector<T>& values, const Sizes& sizes) {
    return of(std::span<const T>(values), sizes);
  }
  static Tensor zeros(const Sizes& sizes, int dtype = -1) {
    return from_sizes(uh_zeros, sizes, dtype);
  }
  static Tensor ones(const Sizes& sizes, int dtype = -1) {
    return from_sizes(uh_ones, sizes, dtype);
  }
  static Tensor randn(const Sizes& sizes, int dtype = -1) {
    return from_sizes(uh_randn, sizes, dtype);
  }

  int64_t dim() const { return uh_ndim(handle()); }
  int64_t numel() const { return uh_numel(handle()); }
  int dtype() const { return uh_dtype(handle()); }
  Sizes sizes() const {
    Sizes result(static_cast<size_t>(dim()));
    uh_sizes(handle(), result.data(), static_cast<int64_t>(result.size()));
    return result;
  }
  // All elements, row by row, as doubles (of complex numbers both parts) or as whole numbers.
  std::vector<double> doubles() const {
    const bool complex = dtype() >= UH_COMPLEX64;
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
  double item() const {
    const uh_scalar scalar = uh_item(handle());
    detail::check(scalar.kind != -2);
    return scalar.kind >= 2 ? scalar.d : static_cast<double>(scalar.i);
  }
  // Where its elements are, for a T of its own dtype; row by row after contiguous().
  template <class T>
  T* data() const {
    if (detail::dtype_of<T>() != dtype())
      throw std::invalid_argument("Tensor::data: dtype mismatch");
    return reinterpret_cast<T*>(uh_data_ptr(handle()));
  }

  Tensor contiguous() const { return adopt(uh_contiguous(handle(), 0)); }
  Tensor clone() const { return adopt(uh_clone(handle(), -1)); }
  Tensor to(int dtype) const { return adopt(uh__to_copy(handle(), dtype, -1, -1)); }
  Tensor reshape(const Sizes& s) const {
    return adopt(uh_reshape(handle(), s.data(), static_cast<int64_t>(s.size())));
  }
  Tensor transpose(int64_t a, int64_t b) const { return adopt(uh_transpose(handle(), a, b)); }
  Tensor t() const { return adopt(uh_t(handle())); }
  Tensor operator[](int64_t i) const { return adopt(uh_select(handle(), 0, i)); }
  Tensor matmul(const Tensor& b) const { return adopt(uh_matmul(handle(), b.handle())); }
  Tensor relu() const { return adopt(uh_relu(handle())); }
  Tensor exp() const { return adopt(uh_exp(handle())); }
  Tensor tanh() const { return adopt(uh_tanh(handle())); }
  Tensor sigmoid() const { return adopt(uh_sigmoid(handle())); }
  Tensor sum() const { return adopt(uh_sum(handle(), nullptr, 0, 0, -1)); }
  Tensor mean() const { return adopt(uh_mean(handle(), nullptr, 0, 0, -1)); }
  Tensor softmax(int64_t dim) const { return adopt(uh_softmax(handle(), dim, -1)); }
  Tensor argmax(int64_t dim) const { return adopt(uh_argmax(handle(), 1, dim, 0)); }

  static uint64_t retain(uint64_t handle) { return uh_retain(handle); }
  static void release(uint64_t handle) { uh_release(handle); }

 private:
  static Tensor from_sizes(uh_handle (*make)(const int64_t*, int64_t, int, int), const Sizes& sizes,
                           int dtype) {
    detail::ready();
    return adopt(make(sizes.data(), static_cast<int64_t>(sizes.size()), dtype, -1));
  }
};

#define UNDERHOOD_OPERATOR(sign, name)                                                             \
  inline Tensor operator sign(const Tensor& a, const Tensor& b) {                                  \
    return Tensor::adopt(uh_##name##_tt(a.handle(), b.handle()));                                  \
  }                                                                                                \
  inline Tensor operator sign(const Tensor& a, double b) {                                         \
    return Tensor::adopt(uh_##name##_td(a.handle(), b));                                           \
  }
UNDERHOOD_OPERATOR(+, add)
UNDERHOOD_OPERATOR(-, sub)
UNDERHOOD_OPERATOR(*, mul)
UNDERHOOD_OPERATOR(/, div)
UNDERHOOD_OPERATOR(<, lt)
UNDERHOOD_OPERATOR(>, gt)
#undef UNDERHOOD_OPERATOR
inline Tensor operator+(double a, const Tensor& b) { return b + a; }
inline Tensor operator*(double a, const Tensor& b) { return b * a; }
inline Tensor operator-(double a, const Tensor& b) {
  return Tensor::adopt(uh_rsub_td(b.handle(), a));
}
inline Tensor operator-(const Tensor& a) { return Tensor::adopt(uh_neg(a.handle())); }

// ---- what calls take and return

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
  const Held& held() const { return held_; }
  operator Tensor() const { return as<Tensor>(); }
  Value operator[](size_t i) const { return as<Box>()[i]; }

  // Takes over the references of a value that a C function wrote.
  static Value adopt(const uh_value& v) {
    switch (v.tag) {
      case UH_VALUE_TENSOR: return Tensor::adopt(static_cast<uint64_t>(v.i));
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
      case UH_VALUE_COMPLEX: return std::complex<double>(v.d, bits(v.i));
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
      result.push_back(list->items[i] ? Tensor::adopt(list->items[i]) : Tensor());
    uh_list_free(list);
    return result;
  }
  static double bits(int64_t word) {
    double result;
    std::memcpy(&result, &word, sizeof result);
    return result;
  }

  Held held_;
};

namespace detail {

// Values as the C ABI takes them; they lead into what is kept here.
class Arguments {
 public:
  explicit Arguments(std::vector<Value> values) : kept_(std::move(values)) {
    handles_.reserve(kept_.size());
    for (const Value& value : kept_)
      boxed_.push_back(std::visit([&](const auto& held) { return box(held); }, value.held()));
  }
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;
  const uh_value* data() const { return boxed_.data(); }
  int64_t size() const { return static_cast<int64_t>(boxed_.size()); }

 private:
  static uh_value box(std::monostate) { return {UH_VALUE_NONE, 0, 0, nullptr}; }
  static uh_value box(const Tensor& t) {
    return {UH_VALUE_TENSOR, static_cast<int64_t>(t.handle()), 0, nullptr};
  }
  static uh_value box(int64_t i) { return {UH_VALUE_INT, i, 0, nullptr}; }
  static uh_value box(double d) { return {UH_VALUE_FLOAT, 0, d, nullptr}; }
  static uh_value box(bool b) { return {UH_VALUE_BOOL, b, 0, nullptr}; }
  static uh_value box(const std::string& s) {
    return {UH_VALUE_STRING, static_cast<int64_t>(s.size()), 0, s.data()};
  }
  static uh_value box(const std::complex<double>& c) {
    const double imaginary = c.imag();
    int64_t word;
    std::memcpy(&word, &imaginary, sizeof word);
    return {UH_VALUE_COMPLEX, word, c.real(), nullptr};
  }
  static uh_value box(const std::vector<int64_t>& v) {
    return {UH_VALUE_INTS, static_cast<int64_t>(v.size()), 0, v.data()};
  }
  static uh_value box(const std::vector<double>& v) {
    return {UH_VALUE_FLOATS, static_cast<int64_t>(v.size()), 0, v.data()};
  }
  uh_value box(const std::vector<Tensor>& v) {
    auto& handles = handles_.emplace_back();
    for (const Tensor& t : v) handles.push_back(t.handle());
    return {UH_VALUE_TENSORS, static_cast<int64_t>(v.size()), 0, handles.data()};
  }
  static uh_value box(const Box& b) {
    return {UH_VALUE_BOX, static_cast<int64_t>(b.handle()), 0, nullptr};
  }

  std::vector<Value> kept_;
  std::vector<std::vector<uh_handle>> handles_;
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

// Any operator by its name ("add.Tensor"), with all arguments of its schema; its results.
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

// The tensors of any safetensors file. `mapped`: they are the file's pages, see uh_archive_map.
class Archive {
 public:
  explicit Archive(const std::string& path, bool mapped = false)
      : archive_(
            detail::given(mapped ? uh_archive_map(path.c_str()) : uh_archive_open(path.c_str()))) {}
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;
  ~Archive() { uh_archive_close(archive_); }

  size_t size() const { return static_cast<size_t>(uh_archive_count(archive_)); }
  std::string name(size_t i) const {
    const char* match = uh_archive_name(archive_, static_cast<int64_t>(i));
    return match ? match : throw std::out_of_range("Archive::name");
  }
  Tensor tensor(size_t i) const {
    return Tensor::adopt(uh_archive_tensor(archive_, static_cast<int64_t>(i)));
  }
  Tensor tensor(const std::string& name) const {
    const int64_t i = uh_archive_find(archive_, name.c_str());
    return i < 0 ? throw std::out_of_range("Archive: there is no tensor " + name)
                 : Tensor::adopt(uh_archive_tensor(archive_, i));
  }
  uh_archive handle() const { return archive_; }

 private:
  uh_archive archive_;
};

// A module that engine.jit.save wrote: its graph is run. `mapped`: its weights are the file's
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

}  // namespace underhood

#endif
