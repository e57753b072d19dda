// The steps of packed sequences (Note [Packed rows] in layers.cpp), in the order they are walked.
#pragma once

#include <string_view>
#include <vector>

#include "tensor/tensor.h"

namespace uh {

class Steps {
 public:
  // Throws unless sizes are positive, do not grow, and add up to the rows of `rows`.
  Steps(std::string_view op, const Dims& sizes, bool reverse, const Tensor& rows);

  int64_t count() const { return static_cast<int64_t>(sizes_.size()); }
  // The i-th step that is computed: its place in the sequence.
  int64_t at(int64_t i) const { return reverse_ ? count() - 1 - i : i; }
  int64_t size(int64_t t) const { return sizes_[static_cast<size_t>(t)]; }
  int64_t offset(int64_t t) const { return offsets_[static_cast<size_t>(t)]; }
  int64_t batch() const { return sizes_[0]; }

  // The rows of every step; of a tensor that is not there, tensors that are not there.
  std::vector<Tensor> split(const Tensor& rows) const;
  // The state that every step began with: rows of the step before, and of `start` for sequences
  // that begin there.
  Tensor before(const Tensor& rows, const Tensor& start) const;
  // The rows at which each sequence ends.
  Tensor last(const Tensor& rows) const;

 private:
  Dims sizes_, offsets_;
  bool reverse_;
};

}  // namespace uh
