// Rulebook: for each kernel offset, pairs of an input row and the output row that it contributes
// to.
//
// The pairs of offset k are in_rows[starts[k] .. starts[k + 1]) and the same range of out_rows.
// Invariant: within an offset no input row and no output row is repeated, so its pairs can be
// computed in any order and on any threads.
#pragma once

#include <underhood/underhood.hpp>

#include <string>
#include <tuple>
#include <vector>

namespace sparse_conv {

// Throws unless each row of indices is a sample and a coordinate per dimension, inside the batch
// and the shape, and no two rows are equal.
void check_sites(const uh::Tensor& indices, int64_t batch_size,
                 const std::vector<int64_t>& spatial_shape);

// Returns (out_indices, in_rows, out_rows, starts). A submanifold convolution has the sites of its
// input; a regular one's are ordered by batch and coordinates. `table`: auto, grid or hash.
std::tuple<uh::Tensor, uh::Tensor, uh::Tensor, uh::Tensor> build_rulebook(
    const uh::Tensor& indices, int64_t batch_size, const std::vector<int64_t>& spatial_shape,
    const std::vector<int64_t>& kernel_size, const std::vector<int64_t>& stride,
    const std::vector<int64_t>& padding, const std::vector<int64_t>& dilation, bool submanifold,
    const std::string& table);

// A rulebook from an operator's arguments, checked on construction.
class RulebookView {
 public:
  RulebookView(const uh::Tensor& in_rows, const uh::Tensor& out_rows, const uh::Tensor& starts);

  int64_t offsets() const { return static_cast<int64_t>(starts_.size()) - 1; }
  int64_t first(int64_t k) const { return starts_[static_cast<size_t>(k)]; }
  int64_t last(int64_t k) const { return starts_[static_cast<size_t>(k) + 1]; }
  const int64_t* in_rows() const { return in_rows_.data_ptr<int64_t>(); }
  const int64_t* out_rows() const { return out_rows_.data_ptr<int64_t>(); }

 private:
  uh::Tensor in_rows_, out_rows_;
  std::vector<int64_t> starts_;
};

// Throws unless 0 <= row < n.
void check_row(const char* name, int64_t row, int64_t n);

}  // namespace sparse_conv
