// Checks of the arguments of all kinds of dropout.
#pragma once

#include <string_view>

#include "tensor/tensor.h"

namespace uh {

// Dropout scales its mask in the dtype of the input.
void check_scalable(const Tensor& input, std::string_view op);

void check_probability(double p, std::string_view op);

}  // namespace uh
