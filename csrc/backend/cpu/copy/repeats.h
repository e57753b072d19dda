// Results that repeat: an expanded operand has the same elements along its dimensions of stride 0,
// and so do the results. They are computed once, and copied.
#pragma once

#include "backend/cpu/copy/elements.h"

namespace uh {

class Repeats {
 public:
  // `positions[d]` is the dimension of the results for dimension d of `self`, or -1 if a result
  // depends on all its indices.
  Repeats(const Tensor& self, IntSpan positions);
  explicit operator bool() const { return !dims_.empty(); }

  // The operand, and a result, with one index of each dimension along which they repeat.
  Tensor operand(const Tensor& self) const;
  Tensor first(const Tensor& result) const;
  // Copies the first results to the others.
  void fill(const Tensor& result) const;

 private:
  Dims dims_, positions_;  // of the operand, and of the results
};

}  // namespace uh
