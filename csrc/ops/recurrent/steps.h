// The steps of packed sequences (Note [Packed rows] in layers.cpp), in the order of computation.
#pragma once

#include <string_view>
#include <vector>

#include "tensor/tensor.h"

namespace uh {

class Steps {
 public:
  // Throws unless sizes are positive, do not increase, and add up to the rows of `rows`.
  Steps(std::string_view op, const Dims& sizes, bool reverse, const Tensor& rows);

  int64_t count() const { return static_cast<int64_t>(sizes_.size()); }
  // Returns the position in the sequence of the i-th step to compute.
  int64_t at(int64_t i) const { return reverse_ ? count() - 1 - i : i; }
  int64_t size(int64_t t) const { return sizes_[static_cast<size_t>(t)]; }
  int64_t offset(int64_t t) const { return offsets_[static_cast<size_t>(t)]; }
  int64_t batch() const { return sizes_[0]; }

  // Returns the rows of every step; undefined tensors if `rows` is undefined.
  std::vector<Tensor> split(const Tensor& rows) const;
  // Returns the initial state of every step: rows of the previous step, and of `start` for
  // sequences that begin there.
  Tensor before(const Tensor& rows, const Tensor& start) const;
  // Returns the last row of each sequence.
  Tensor last(const Tensor& rows) const;

 private:
  Dims sizes_, offsets_;
  bool reverse_;
};

}  // namespace uh
