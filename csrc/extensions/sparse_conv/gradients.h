// The gradient formulas of the products of a rulebook.
#pragma once

#include <underhood/underhood_library.hpp>

namespace sparse_conv {

// Both products are linear in each of their two operands, and the gradients are these products
// again, with other operands: so every derivative of theirs exists, of any order.
void register_gradients(uh::Library& library);

}  // namespace sparse_conv
