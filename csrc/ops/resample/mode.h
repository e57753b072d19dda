// Modes of resampling: which neighbours make an element of the result.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace uh {

enum class ResampleMode { kNearest, kNearestExact, kLinear, kCubic, kLinearAa, kCubicAa };

// The mode by the name that _upsample_backward takes.
ResampleMode resample_mode(const std::string& name);

// The factors that the caller gave, outermost dimension first.
using Scales = std::vector<std::optional<double>>;

// The factor that places samples along a dimension. As in PyTorch, an image that keeps or doubles
// its size does so whatever the caller gave.
inline std::optional<double> used_scale(int64_t from, int64_t to, std::optional<double> scale,
                                        ResampleMode mode, size_t dims) {
  const bool is_plain = mode == ResampleMode::kNearest && dims == 2 && (to == from || to == 2 * from);
  return is_plain ? std::nullopt : scale;
}

}  // namespace uh
