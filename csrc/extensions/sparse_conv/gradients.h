// The gradient formulas of the products of a rulebook.
#pragma once

#include <underhood/underhood_library.hpp>

namespace sparse_conv {

// Both products are linear in each of two operands, and their gradients are the same products with
// other operands, so derivatives of any order exist.
void register_gradients(uh::Library& library);

}  // namespace sparse_conv
