// Checks of the arguments of all dropout operators.
#pragma once

#include <string_view>

#include "tensor/tensor.h"

namespace uh {

// Throws unless dropout can scale its mask in the dtype of the input.
void check_scalable(const Tensor& input, std::string_view op);

void check_probability(double p, std::string_view op);

}  // namespace uh
