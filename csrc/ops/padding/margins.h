// Margins: the number of elements that a padding adds around each dimension, and the modes.
#pragma once

#include <string>

#include "tensor/tensor.h"

namespace uh {

enum class PadMode { kConstant, kReflect, kReplicate, kCircular };

// Parses "reflect", "replicate" or "circular"; throws for other names.
PadMode pad_mode(const std::string& name, std::string_view op);

// Elements added before and after each dimension; a negative number crops.
struct Margins {
  Dims before, after;
};

// Returns the margins for `pad`, whose pairs start at the last dimension.
Margins margins_of(const Tensor& self, const Dims& pad, std::string_view op);

// Returns the sizes of the result; throws if one is negative.
Dims padded_sizes(const Tensor& self, const Margins& m, std::string_view op);

}  // namespace uh
