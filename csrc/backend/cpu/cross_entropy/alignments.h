// The states of ctc_loss and its gradient: a sequence's labels with blanks between them.
//
// A target of S labels has 2 S + 1 states: blank, label, blank, ..., blank. A path stays in a
// state, moves to the next, or skips the blank between two different labels.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "backend/cpu/ctc_loops.h"

namespace uh {

constexpr double kNever = -std::numeric_limits<double>::infinity();  // the logarithm of 0

inline double log_add(double a, double b) {
  const double high = std::max(a, b);
  if (high == kNever) return a + b;  // or NaN
  return std::log(std::exp(a - high) + std::exp(b - high)) + high;
}

inline int64_t padded(int64_t n) { return (n + kCtcPadding - 1) / kCtcPadding * kCtcPadding; }

// Numbers for states or classes -2 ... padded(n) + 1, of which all but n stay unreachable.
class PaddedLogs {
 public:
  explicit PaddedLogs(int64_t n) : values_(static_cast<size_t>(padded(n) + 4), kNever) {}
  double* data() { return values_.data() + 2; }

 private:
  std::vector<double> values_;
};

struct States {
  std::vector<int64_t> labels;
  std::vector<double> skips_to, skips_from;  // 1 if a path may skip the blank before, or after

  States(const int64_t* target, int64_t step, int64_t length, int64_t blank)
      : labels(static_cast<size_t>(2 * length + 1), blank),
        skips_to(static_cast<size_t>(padded(count()))),
        skips_from(skips_to.size()) {
    for (int64_t i = 0; i < length; ++i) labels[static_cast<size_t>(2 * i + 1)] = target[i * step];
    for (size_t s = 2; s < labels.size(); ++s)
      skips_to[s] = skips_from[s - 2] = labels[s] != labels[s - 2];
  }
  int64_t count() const { return static_cast<int64_t>(labels.size()); }

  // Reads each state's score from those of one step.
  template <class T>
  void read(double* to, const T* score, int64_t by_class) const {
    for (size_t s = 0; s < labels.size(); ++s)
      to[s] = static_cast<double>(score[labels[s] * by_class]);
  }
};

}  // namespace uh
