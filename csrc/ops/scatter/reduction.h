// Reductions of the values written to one element, and of its previous value.
#pragma once

#include <string>
#include <string_view>

namespace uh {

enum class Fused { kSum, kProd, kMean, kMax, kMin };

// Parses "sum", "prod", "mean", "amax", "amin", scatter's older "add" and "multiply", and
// segment_reduce's "max" and "min".
Fused scatter_word(const std::string& reduce, std::string_view op);
Fused reduce_word(const std::string& reduce, std::string_view op);
Fused index_word(const std::string& reduce, std::string_view op);
Fused segment_word(const std::string& reduce);

}  // namespace uh
