// Reductions of values that are written to one place, and of the value that is there.
#pragma once

#include <string>
#include <string_view>

namespace uh {

enum class Fused { kSum, kProd, kMean, kMax, kMin };

// "sum", "prod", "mean", "amax", "amin", and scatter's older words "add" and "multiply".
Fused scatter_word(const std::string& reduce, std::string_view op);
Fused reduce_word(const std::string& reduce, std::string_view op);
Fused index_word(const std::string& reduce, std::string_view op);

}  // namespace uh
