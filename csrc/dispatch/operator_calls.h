// The call of an Op: Note [Operators are compiled once] of operator.h.
//
// Included by the generated signatures_<n>.cpp only. Two of the functions are hot and a dozen
// instructions each; the others are marked cold and compiled for size.
#pragma once

#include <type_traits>

#include "dispatch/operator.h"

namespace uh {

template <class R, class... A>
Op<R(A...)>::Op(const FunctionSchema& schema, TagSet tags) : OperatorInfo(schema, tags) {}

template <class R, class... A>
R Op<R(A...)>::operator()(A... args) const {
  KeySet keys;
  ((keys = keys | keys_of(args)), ...);
  keys = (keys | t_state.included) - t_state.excluded;
  if ((keys - Key::kAutocastCPU).empty()) keys = keys | Key::kCPU;
  if (!(keys & barrier_).empty()) [[unlikely]]
    return behind_barrier(keys, args...);
  if (events::on()) [[unlikely]]
    return recorded(keys, args...);
  return kernel(choose(keys))(keys, args...);
}

template <class R, class... A>
R Op<R(A...)>::redispatch(KeySet keys, A... args) const {
  const Key key = choose(keys);
  if (events::on()) [[unlikely]]
    record_hop(*this, key, keys);
  return kernel(key)(keys, args...);
}

// Pushes one stack entry per result.
template <class T>
void push_result(Stack& stack, T&& value) {
  stack.emplace_back(std::forward<T>(value));
}
template <class... T>
void push_result(Stack& stack, std::tuple<T...>&& values) {
  std::apply([&](auto&&... v) { (stack.emplace_back(std::move(v)), ...); }, std::move(values));
}

template <class R, class... A>
[[gnu::noinline]] R Op<R(A...)>::behind_barrier(KeySet keys, A... args) const {
  if (keys.has(Key::kAutocastCPU) && kernels().has(Key::kAutocastCPU))
    return events::on() ? recorded(keys, args...) : kernel(Key::kAutocastCPU)(keys, args...);
  if (keys.has(Key::kTracer)) return boxed(Key::kTracer, args...);
  TensorsAmong arguments;
  (arguments.add(args), ...);
  const bool needs_gradient = g_barrier.enter(*this, arguments.tensors());
  const Without<Key::kAutograd> below;
  if constexpr (std::is_void_v<R>) {
    (*this)(args...);
    if (needs_gradient) g_barrier.leave(*this, arguments.tensors(), arguments.first());
  } else {
    R result = (*this)(args...);
    if (needs_gradient) {
      TensorsAmong results;
      results.add(result);
      g_barrier.leave(*this, arguments.tensors(), results.tensors());
    }
    return result;
  }
}

template <class R, class... A>
[[gnu::noinline]] R Op<R(A...)>::recorded(KeySet keys, A... args) const {
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

template <class T>
T pop_results(Stack& stack, std::type_identity<T>) {
  return from_value<T>(stack.back());
}
template <class... T>
std::tuple<T...> pop_results(Stack& stack, std::type_identity<std::tuple<T...>>) {
  return [&]<size_t... I>(std::index_sequence<I...>) {
    return std::tuple<T...>(from_value<T>(stack[stack.size() - sizeof...(T) + I])...);
  }(std::index_sequence_for<T...>{});
}

template <class R, class... A>
[[gnu::cold, gnu::noinline]] R Op<R(A...)>::boxed(Key key, A... args) const {
  Stack stack{to_value(args)...};
  const_cast<Op&>(*this).run_boxed(key, stack);  // every operator is a mutable global
  if constexpr (!std::is_void_v<R>) return pop_results(stack, std::type_identity<R>{});
}

template <class R, class... A>
[[gnu::cold]] R Op<R(A...)>::box_and_fall_back(KeySet keys, A... args) {
  return boxed(choose(keys), args...);
}

template <class R, class... A>
[[gnu::cold]] void Op<R(A...)>::call_boxed(Stack& stack) {
  if (stack.size() < sizeof...(A)) too_few(stack, sizeof...(A));
  call_boxed(stack, std::index_sequence_for<A...>{});
}

template <class R, class... A>
template <size_t... I>
[[gnu::cold]] void Op<R(A...)>::call_boxed(Stack& stack, std::index_sequence<I...>) {
  const size_t base = stack.size() - sizeof...(A);
  if constexpr (std::is_void_v<R>) {
    (*this)(from_value<std::decay_t<A>>(stack[base + I])...);
    stack.resize(base);
  } else {
    R result = (*this)(from_value<std::decay_t<A>>(stack[base + I])...);
    stack.resize(base);
    push_result(stack, std::move(result));
  }
}

}  // namespace uh
