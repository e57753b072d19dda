#include "tensor/result_strides.h"

#include <algorithm>
#include <array>

#include "tensor/dense.h"
#include "tensor/memory_format.h"
#include "tensor/stride_order.h"
#include "tensor/tensor.h"

namespace uh {
namespace {

// Returns the result's strides if all operands have its sizes and are all contiguous in one memory
// format, or all dense with equal strides: those of the format if contiguous, even if a dimension
// of size 1 has another stride.
std::optional<Dims> common_strides(const Dims& sizes, std::span<const Layout> operands) {
  const auto all = [&](const auto& holds) { return std::ranges::all_of(operands, holds); };
  if (!all([&](const Layout& operand) { return operand.sizes == sizes; })) return std::nullopt;
  const bool empty = std::ranges::find(sizes, 0) != sizes.end();
  if (empty || all([](const Layout& operand) { return is_contiguous(operand); }))
    return contiguous_strides(sizes);
  constexpr auto kChannelsLast = MemoryFormat::kChannelsLast;
  if (all([](const Layout& operand) { return is_contiguous(operand, kChannelsLast); }))
    return dense_strides(sizes, kChannelsLast);
  const Dims& first = operands[0].strides;
  if (all([&](const Layout& operand) { return operand.strides == first && is_dense(operand); }))
    return first;
  return std::nullopt;
}

}  // namespace

Dims result_strides(ResultStrides rule, const Dims& sizes, std::span<const Layout> operands,
                    bool with_number) {
  if (rule == ResultStrides::kRowMajor) return contiguous_strides(sizes);
  if (rule == ResultStrides::kOperand) return strides_like(operands[0]);
  if (!with_number || rule == ResultStrides::kTensors) {
    if (std::optional<Dims> strides = common_strides(sizes, operands)) return *strides;
  }
  struct Expanded {
    Dims strides;
  };
  std::array<Expanded, 3> all;
  for (size_t i = 0; i < operands.size(); ++i)
    all[i].strides = operand_strides(operands[i].sizes, operands[i].strides, sizes);
  return dense_strides(sizes, stride_order(sizes, std::span(all).first(operands.size())));
}

}  // namespace uh
