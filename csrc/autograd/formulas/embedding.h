// Gradients of embedding_bag, and the double backward of embedding.
#pragma once

#include "autograd/formula.h"

namespace uh::autograd {

// The results of embedding_bag that describe its bags.
struct Bags {
  Tensor bag_of;   // the bag of each index
  Tensor sizes;    // the number of indices per bag, without padding
  Tensor largest;  // mode 2: the source row of each element
  int64_t mode;    // 0 sum, 1 mean, 2 max
  int64_t padding;
};

Tensor embedding_twice(const Tensor& grad, const Tensor& indices, int64_t rows, int64_t padding,
                       bool by_frequency);
// `sparse`: returns a COO tensor of the rows that were read.
Tensor embedding_backward(const Tensor& grad, const Tensor& indices, int64_t rows, int64_t padding,
                          bool by_frequency, bool sparse);
Tensor bag_weight_backward(const Tensor& grad, const Tensor& indices, const Bags& bags,
                           const Tensor& scales, const Dims& sizes, bool by_frequency, bool sparse);
// The gradient of per_sample_weights.
Tensor bag_scale_backward(const Tensor& grad, const Tensor& weight, const Tensor& indices,
                          const Bags& bags);

}  // namespace uh::autograd
