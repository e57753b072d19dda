// Sums of logarithms, for ctc_loss and its gradient.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace uh {

constexpr double kNever = -std::numeric_limits<double>::infinity();

inline double log_add(double a, double b, double c) {
  const double high = std::max({a, b, c});
  if (high == kNever) return kNever;
  return std::log(std::exp(a - high) + std::exp(b - high) + std::exp(c - high)) + high;
}

}  // namespace uh
