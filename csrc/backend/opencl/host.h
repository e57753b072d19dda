// Execution of an operator's call on the CPU, for kernels that do not support every dtype.
#pragma once

#include <tuple>
#include <utility>

#include "generated/ops/copy.h"
#include "memory/device_registry.h"
#include "ops/copy/device_copy.h"
#include "ops/cpu_fallback.h"
#include "tensor/tensor.h"

namespace uh::opencl {

// An argument in host memory.
template <class T>
const T& to_host(const T& value) {
  return value;
}
inline Tensor to_host(const Tensor& t) { return t && !is_host(t.device()) ? copy_to_host(t) : t; }
inline std::vector<Tensor> to_host(const std::vector<Tensor>& list) {
  std::vector<Tensor> copies;
  for (const Tensor& t : list) copies.push_back(to_host(t));
  return copies;
}

// Computes op(arguments...) on the CPU and copies what it returns, a tensor or a tuple of them,
// into `results`; counts a fallback.
template <class Op, class... Results, class... Arguments>
void on_cpu(const Op& op, std::tuple<Results...> results, const Arguments&... arguments) {
  count_cpu_fallback(op.qualified_name());
  const auto computed = op(to_host(arguments)...);
  const auto write = [](const Tensor& result, const Tensor& value) {
    if (result && value) ops::copy_(result, value, false);
  };
  if constexpr (sizeof...(Results) == 1) {
    write(std::get<0>(results), computed);
  } else {
    [&]<size_t... I>(std::index_sequence<I...>) {
      (write(std::get<I>(results), std::get<I>(computed)), ...);
    }(std::index_sequence_for<Results...>{});
  }
}

}  // namespace uh::opencl
