// Shape rules of reductions: the dimensions removed, and the sizes and dtypes of the results.
#pragma once

#include <optional>
#include <string_view>
#include <tuple>

#include "tensor/tensor.h"

namespace uh {

// The dimensions that a reduction removes, as one flag each. No dims, or an empty list, means all.
class ReducedDims {
 public:
  ReducedDims(const Tensor& self, const std::optional<Dims>& dims, std::string_view op = "");

  bool has(size_t dim) const { return reduced_[dim] != 0; }
  Dims result_sizes(const Tensor& self, bool keepdim) const;
  // Returns the number of elements reduced to one result.
  int64_t count(const Tensor& self) const;
  // Throws if a removed dimension is empty: max and min have no value then.
  void check_not_empty(const Tensor& self, std::string_view op) const;

 private:
  Dims reduced_;
};

inline std::optional<Dims> as_dims(std::optional<int64_t> dim) {
  return dim ? std::optional(Dims{*dim}) : std::nullopt;
}

inline DType or_else(DType dtype, DType otherwise) {
  return dtype == DType::kUndefined ? otherwise : dtype;
}
// Returns the default dtype of sums and products: int64 for integers.
inline DType sum_dtype(DType dtype) { return is_inexact(dtype) ? dtype : DType::kInt64; }

}  // namespace uh

namespace uh::shapes {

Tensor reduced(std::string_view op, const Tensor& self, const std::optional<Dims>& dim,
               bool keepdim, DType dtype);
// Returns the dtype of the mean.
DType mean_dtype(const Tensor& self, DType dtype);
Tensor mean(const Tensor& self, const std::optional<Dims>& dim, bool keepdim, DType dtype);
Tensor nansum(const Tensor& self, const std::optional<Dims>& dim, bool keepdim, DType dtype);
// Returns the dtype that nanmean computes in.
DType nanmean_dtype(const Tensor& self, DType dtype);
Tensor nanmean(const Tensor& self, const std::optional<Dims>& dim, bool keepdim, DType dtype);
// Returns the largest or smallest elements; throws for an empty dimension.
Tensor extreme(std::string_view op, const Tensor& self, const std::optional<Dims>& dim,
               bool keepdim);
std::tuple<Tensor, Tensor> extremes(std::string_view op, const Tensor& self,
                                    const std::optional<Dims>& dim, bool keepdim);
// Returns the values and indices of the largest or smallest elements along `dim`.
std::tuple<Tensor, Tensor> extreme_along(std::string_view op, const Tensor& self, int64_t dim,
                                         bool keepdim);
Tensor index_of_extreme(std::string_view op, const Tensor& self, std::optional<int64_t> dim,
                        bool keepdim);
Tensor truth(std::string_view op, const Tensor& self, const std::optional<Dims>& dim, bool keepdim);
Tensor logsumexp(const Tensor& self, const Dims& dim, bool keepdim);
Tensor hash_tensor(const Tensor& self, const Dims& dim, bool keepdim, int64_t mode);

}  // namespace uh::shapes
