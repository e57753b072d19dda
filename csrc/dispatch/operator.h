// Op: one operator, its table of kernels, and the call that picks one.
//
// What: Op<R(A...)> knows the C++ signature, so a call from C++ or the C ABI is one indirect call.
// OperatorInfo is the untyped part: name, schema, table, boxed entry; it is what the registry
// lists. Invariant: table_[k] is called only with the signature R(KeySet, A...) it was registered
// with. If violated: undefined behaviour; hence kernels are registered through the typed set_kernel
// only. Read next: dispatcher.h (the registry and libraries), record_call.h (what a recorded call
// tells).
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "dispatch/record_call.h"
#include "dispatch/schema.h"
#include "dispatch/value.h"

namespace uh {

// The keys an argument contributes to the dispatch.
inline KeySet keys_of(const Tensor& t) { return t ? t.keys() : KeySet(); }
inline KeySet keys_of(const Operand& o) { return keys_of(o.tensor); }
inline KeySet keys_of(const std::vector<Tensor>& list) {
  KeySet keys;
  for (const Tensor& t : list) keys = keys | keys_of(t);
  return keys;
}
inline KeySet keys_of(Device device) {
  if (device == Device::kUndefined) return KeySet();
  return device == Device::kMeta ? Key::kMeta : Key::kCPU;
}
template <class T>
inline KeySet keys_of(const T&) {
  return KeySet();
}

class OperatorInfo {
 public:
  OperatorInfo(const char* schema) : schema_(schema) {}
  OperatorInfo(const OperatorInfo&) = delete;
  OperatorInfo& operator=(const OperatorInfo&) = delete;
  virtual ~OperatorInfo() = default;

  std::string_view schema_text() const { return schema_; }
  const Schema& schema() const;  // parsed at first use
  int64_t recorded_name() const {
    return recorded_name_.number(schema_);
  }  // string id of the schema
  int64_t recorded_kernel(Key key) const {
    return recorded_kernels_[static_cast<size_t>(key)].number(kernel_name(key));
  }
  std::string full_name() const { return schema().full_name(); }
  KeySet kernels() const { return kernels_; }  // keys that have a kernel; the others fall through
  std::string_view kernel_name(Key key) const { return names_[static_cast<size_t>(key)]; }

  // Takes the arguments off the stack and leaves the results on it.
  virtual void call_boxed(Stack& stack) = 0;

 protected:
  // The highest key of `keys` that has a kernel; throws NotImplementedError when none has.
  Key choose(KeySet keys) const {
    const KeySet usable = keys & kernels_;
    if (usable.empty()) [[unlikely]]
      no_kernel(keys);
    return usable.highest();
  }
  [[noreturn]] void no_kernel(KeySet keys) const;
  void enter_kernel(Key key, void* kernel, std::string_view name) {
    table_[static_cast<size_t>(key)] = kernel;
    names_[static_cast<size_t>(key)] = name;
    kernels_ = kernels_ | key;
  }

  void set_schema_text(const char* text) { schema_ = text; }

  std::array<void*, kKeyCount> table_{};
  std::array<std::string_view, kKeyCount> names_{};
  KeySet kernels_;

 private:
  events::InternedText recorded_name_;
  std::array<events::InternedText, kKeyCount> recorded_kernels_;
  const char* schema_;
  mutable std::optional<Schema> parsed_;
};

template <class Signature>
class Op;

template <class R, class... A>
class Op<R(A...)> final : public OperatorInfo {
 public:
  using Kernel = R (*)(KeySet, A...);
  using OperatorInfo::OperatorInfo;

  void set_kernel(Key key, Kernel kernel, std::string_view name) {
    enter_kernel(key, reinterpret_cast<void*>(kernel), name);
  }

  R operator()(A... args) const {
    KeySet keys;
    ((keys = keys | keys_of(args)), ...);
    if (keys.empty()) keys = Key::kCPU;
    if (events::on()) [[unlikely]]
      return recorded(keys, args...);
    return kernel(choose(keys))(keys, args...);
  }

  // For a kernel that has done its part: goes on with the keys below its own.
  R redispatch(KeySet keys, A... args) const {
    const Key key = choose(keys);
    if (events::on()) [[unlikely]]
      record_hop(*this, key, keys);
    return kernel(key)(keys, args...);
  }

  void call_boxed(Stack& stack) override {
    const size_t n = sizeof...(A);
    check_kind(stack.size() >= n, ErrorKind::kType, full_name(), ": expected ", n,
               " arguments, got ", stack.size());
    call_boxed(stack, std::index_sequence_for<A...>{});
  }

 private:
  Kernel kernel(Key key) const {
    return reinterpret_cast<Kernel>(table_[static_cast<size_t>(key)]);
  }

  R recorded(KeySet keys, A... args) const {
    CallRecord record(*this);
    (record.argument(args), ...);
    record.enter();
    try {
      const Key key = choose(keys);
      record_hop(*this, key, keys);
      if constexpr (std::is_void_v<R>) {
        kernel(key)(keys, args...);
        record.leave();
      } else {
        R result = kernel(key)(keys, args...);
        record.result(result);
        record.leave();
        return result;
      }
    } catch (const Error& error) {
      record.failed(error);
      throw;
    }
  }

  template <size_t... I>
  void call_boxed(Stack& stack, std::index_sequence<I...>) {
    const size_t base = stack.size() - sizeof...(A);
    if constexpr (std::is_void_v<R>) {
      (*this)(from_value<std::decay_t<A>>(stack[base + I])...);
      stack.resize(base);
    } else {
      R result = (*this)(from_value<std::decay_t<A>>(stack[base + I])...);
      stack.resize(base);
      push(stack, std::move(result));
    }
  }
  template <class T>
  static void push(Stack& stack, T&& value) {
    stack.emplace_back(std::forward<T>(value));
  }
  template <class... T>
  static void push(Stack& stack, std::tuple<T...>&& values) {
    std::apply([&](auto&&... v) { (stack.emplace_back(std::move(v)), ...); }, std::move(values));
  }
};

}  // namespace uh
