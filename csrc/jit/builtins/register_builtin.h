// Definitions of builtins: `define("ord(str string) -> int", boxed<[](StringArg s) {...}>)`.
//
// boxed<F> pops F's parameters off the stack by their C++ types and pushes its result. Parameters:
// int64_t, double, bool, Complex128, Scalar, StringArg, List&, Dict&, Tensor, Device, DType, Dims,
// const IValue&, std::optional of these. Results: the same, void, or a std::tuple of them.
// Invariant: the parameters are the schema's arguments, in order. If violated: a TypeError at the
// first call.
#pragma once

#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "jit/builtins/builtin.h"

namespace uh::jit {

using StringArg = const std::string&;

// `schema` has its namespace unless that is aten: "prim::abs.int(int a) -> int".
void define(std::string_view schema, Builtin::Function function, TagSet tags = 0);
inline constexpr TagSet kEffect = tag_set(Tag::kHasSideEffects);
inline constexpr TagSet kLengthFromNumber = tag_set(Tag::kLengthFromNumber);
inline constexpr TagSet kNeverRaises = tag_set(Tag::kNeverRaises);
inline constexpr TagSet kCommutative = tag_set(Tag::kCommutative);

// Defines one builtin per substitute, which replaces every $ of the schema.
void define_each(std::string_view schema, const std::vector<std::string_view>& substitutes,
                 Builtin::Function function, TagSet tags = 0);

// The key types of a Dict, as in its overloads' names.
inline const std::vector<std::string_view> kKeyTypes = {"str",  "int",     "float",
                                                        "bool", "complex", "Tensor"};

Complex128 complex_of(const IValue& value);
[[noreturn]] void wrong_argument(const IValue& value, std::string_view expected);

// One argument for the length of a call; owns the List copied from a plain array.
template <class T>
class StackArgument {
 public:
  explicit StackArgument(IValue& value) : value_(from_value<T>(value)) {}
  T& get() { return value_; }

 private:
  T value_;
};
template <>
class StackArgument<IValue> {
 public:
  explicit StackArgument(IValue& value) : value_(value) {}
  const IValue& get() { return value_; }

 private:
  const IValue& value_;
};
template <>
class StackArgument<int64_t> {
 public:
  explicit StackArgument(IValue& value) {
    const int64_t* i = value.get_if<int64_t>();
    // A dtype is an int in graphs: PyTorch's code.
    const DType* dtype = i ? nullptr : value.get_if<DType>();
    value_ = i ? *i : dtype ? pytorch_code(*dtype) : from_value<int64_t>(value);
  }
  int64_t& get() { return value_; }

 private:
  int64_t value_;
};
template <>
class StackArgument<std::string> {
 public:
  explicit StackArgument(IValue& value) : value_(value.get_if<std::string>()) {
    if (!value_) wrong_argument(value, "str");
  }
  const std::string& get() { return *value_; }

 private:
  const std::string* value_;
};
template <>
class StackArgument<Tensor> {
 public:
  explicit StackArgument(IValue& value) : value_(value.get_if<Tensor>()) {
    if (!value_ || !*value_) wrong_argument(value, "Tensor");
  }
  const Tensor& get() { return *value_; }

 private:
  const Tensor* value_;
};
template <>
class StackArgument<Complex128> {
 public:
  explicit StackArgument(IValue& value) : value_(complex_of(value)) {}
  Complex128& get() { return value_; }

 private:
  Complex128 value_;
};
template <>
class StackArgument<List> {
 public:
  explicit StackArgument(IValue& value) : value_(value.list() ? value : with_lists(value)) {
    if (!value_.list()) wrong_argument(value, "list");
  }
  List& get() { return *value_.list(); }

 private:
  IValue value_;
};
template <>
class StackArgument<Dict> {
 public:
  explicit StackArgument(IValue& value) : value_(value.dict()) {
    if (!value_) wrong_argument(value, "dict");
  }
  Dict& get() { return *value_; }

 private:
  Dict* value_;
};

inline void leave(Stack& stack, IValue result) { stack.push_back(std::move(result)); }
inline void leave(Stack& stack, Complex128 result) { stack.emplace_back(Scalar(result)); }
// Pushes a Scalar as a value of its kind, so that type_of and int() see the kind.
inline void leave(Stack& stack, Scalar result) {
  switch (result.kind()) {
    case Scalar::Kind::kBool: stack.emplace_back(result.to_bool()); return;
    case Scalar::Kind::kInt: stack.emplace_back(result.to_int()); return;
    case Scalar::Kind::kFloat: stack.emplace_back(result.to_double()); return;
    case Scalar::Kind::kComplex: stack.emplace_back(result); return;
  }
}
template <class T>
  requires(!std::is_same_v<T, IValue> && !std::is_same_v<T, Complex128> &&
           !std::is_same_v<T, Scalar>)
void leave(Stack& stack, T result) {
  stack.emplace_back(std::move(result));
}
template <class... T>
void leave(Stack& stack, std::tuple<T...> results) {
  std::apply([&](auto&... each) { (leave(stack, std::move(each)), ...); }, results);
}

template <class F>
struct Boxed;
template <class L, class R, class... A>
struct Boxed<R (L::*)(A...) const> {
  static constexpr size_t kArguments = sizeof...(A);
  using Result = R;

  template <size_t... I>
  static void call(const L& function, Stack& stack, size_t base, std::index_sequence<I...>) {
    std::tuple<StackArgument<std::decay_t<A>>...> taken{
        StackArgument<std::decay_t<A>>(stack[base + I])...};
    if constexpr (std::is_void_v<R>) {
      function(std::get<I>(taken).get()...);
      stack.resize(base);
    } else {
      R result = function(std::get<I>(taken).get()...);
      stack.resize(base);
      leave(stack, std::move(result));
    }
  }
};

void check_count(const Stack& stack, size_t n, size_t expected);

template <auto F>
void boxed(Stack& stack, size_t n) {
  using B = Boxed<decltype(&decltype(F)::operator())>;
  check_count(stack, n, B::kArguments);
  B::call(F, stack, stack.size() - n, std::make_index_sequence<B::kArguments>());
}

// Definitions by family, one per file.
void define_arithmetic();
void define_comparisons();
void define_math();
void define_conversions();
void define_lists();
void define_dicts();
void define_texts();
void define_text_tests();
void define_formats();
void define_tensors();
void define_effects();
void define_futures();
void define_enums();

// Python's < for numbers, strings, and lists and tuples of them.
bool less(const IValue& a, const IValue& b);
// torch.equal.
bool tensors_equal(const Tensor& a, const Tensor& b);
// Python's str() and repr(), as PyTorch's scripts define them; used by format and print.
std::string text_of(const IValue& value);
// Python's [start:stop:step] of n items: index of the first item, and number of items.
struct Slice {
  int64_t begin, count, step;
};
Slice slice_of(int64_t n, std::optional<int64_t> start, std::optional<int64_t> stop, int64_t step);

template <class... A>
IValue new_list(A&&... items) {
  return make_container<List>(std::forward<A>(items)...);
}

}  // namespace uh::jit
