// Reductions of the values written to one element, and of its previous value.
#pragma once

#include <string>
#include <string_view>

namespace uh {

enum class Fused { kSum, kProd, kMean, kMax, kMin };

// Parses "sum", "prod", "mean", "amax", "amin", and scatter's older "add" and "multiply".
Fused scatter_word(const std::string& reduce, std::string_view op);
Fused reduce_word(const std::string& reduce, std::string_view op);
Fused index_word(const std::string& reduce, std::string_view op);

}  // namespace uh
