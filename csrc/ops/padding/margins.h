// Margins: the elements that a padding adds around each dimension, and the modes they follow from.
#pragma once

#include <string>

#include "tensor/tensor.h"

namespace uh {

enum class PadMode { kConstant, kReflect, kReplicate, kCircular };

// "reflect", "replicate" or "circular"; throws for another.
PadMode pad_mode(const std::string& name, std::string_view op);

// The number of elements added before and after each dimension; negative numbers cut off.
struct Margins {
  Dims before, after;
};

// The pairs of `pad` count from the last dimension backwards.
Margins margins_of(const Tensor& self, const Dims& pad, std::string_view op);

// The sizes of the result; throws for negative ones.
Dims padded_sizes(const Tensor& self, const Margins& m, std::string_view op);

}  // namespace uh
