// Modes of resampling.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace uh {

enum class ResampleMode { kNearest, kNearestExact, kLinear, kCubic, kLinearAa, kCubicAa };

// Parses the mode's name in _upsample_backward.
ResampleMode resample_mode(const std::string& name);

// The scale factors of the call, outermost dimension first.
using Scales = std::vector<std::optional<double>>;

// Returns the scale factor that positions samples along a dimension. As in PyTorch, a dimension
// that keeps or doubles its size ignores the caller's factor.
inline std::optional<double> used_scale(int64_t from, int64_t to, std::optional<double> scale,
                                        ResampleMode mode, size_t dims) {
  const bool is_plain = mode == ResampleMode::kNearest && dims == 2 && (to == from || to == 2 * from);
  return is_plain ? std::nullopt : scale;
}

// Modes of grid_sampler, by PyTorch's numbers.
enum Interpolation : int64_t { kBilinear = 0, kNearest = 1, kBicubic = 2 };
enum Padding : int64_t { kZeros = 0, kBorder = 1, kReflection = 2 };

}  // namespace uh
