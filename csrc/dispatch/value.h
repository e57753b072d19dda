// Value and Stack: arguments and results in boxed form, any type in one word plus a tag.
//
// What: the interpreter, recorded arguments, Python custom operators and anything else that does
// not know an operator's C++ signature calls through a Stack of Values (PyTorch's IValue).
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "tensor/tensor.h"

namespace uh {

class Value {
 public:
  using Variant = std::variant<std::monostate, Tensor, int64_t, double, bool, Dims, std::string,
                               std::vector<Tensor>, std::vector<double>, DType, Device, Scalar>;

  Value() = default;
  template <class T>
    requires(!std::is_same_v<std::decay_t<T>, Value>)
  Value(T&& v) : v_(std::forward<T>(v)) {}

  bool is_none() const { return std::holds_alternative<std::monostate>(v_); }
  template <class T>
  const T* get_if() const {
    return std::get_if<T>(&v_);
  }
  const Variant& variant() const { return v_; }
  std::string type_name() const;

 private:
  Variant v_;
};

using Stack = std::vector<Value>;

// Reads a Value as the C++ type T of a kernel's parameter, or throws a TypeError naming both.
template <class T>
T from_value(const Value& value);

}  // namespace uh
