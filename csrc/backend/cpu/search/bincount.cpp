// bincount: a count, or a sum of weights, per integer.
#include "backend/cpu/copy/elements.h"
#include "backend/cpu/reduce_loops.h"
#include "generated/kernels/search.h"

namespace uh::kernels {

Tensor bincount(KeySet, const Tensor& self, const Tensor& weights, int64_t minlength) {
  check(minlength >= 0, "bincount: minlength should be >= 0, got ", minlength);
  check_kind(!self.is_meta(), ErrorKind::kNotImplemented,
             "bincount: the size of the result depends on the values of a tensor, which a meta "
             "tensor does not have");
  check_kind(is_integral(self.dtype()), ErrorKind::kNotImplemented,
             "\"bincount_cpu\" not implemented for '", info(self.dtype()).title, "'");
  check(self.ndim() == 1, "bincount: only supports 1-d non-negative integral inputs, got sizes ",
        self.sizes());
  const int64_t n = self.numel();
  check(!weights || n == 0 || (weights.ndim() == 1 && weights.numel() == n),
        "bincount: weights should be 1-d and have the same length as input: ", n);
  const Tensor values = as_contiguous(self, DType::kInt64);
  const auto* value = values.data_as<int64_t>();
  int64_t min_value = 0, max_value = -1;
  fold_of(FoldOp::kMin, DType::kInt64).run(&min_value, value, n);
  fold_of(FoldOp::kMax, DType::kInt64).run(&max_value, value, n);
  check(min_value >= 0, "bincount: only supports 1-d non-negative integral inputs, got ",
        min_value);
  check(max_value < INT64_MAX, "bincount: ", max_value, " is too large to be counted");
  const bool weighted = weights && n > 0;
  const DType dtype = !weighted                            ? DType::kInt64
                      : weights.dtype() == DType::kFloat32 ? DType::kFloat32
                                                           : DType::kFloat64;
  Tensor out = empty(Dims{std::max(minlength, max_value + 1)}, dtype);
  fill_elements(out, ElementBytes{});
  if (!weighted) {
    auto* count = out.data_as<int64_t>();
    for (int64_t i = 0; i < n; ++i) ++count[value[i]];
  } else {
    const Tensor added = as_contiguous(weights, dtype);
    visit(dtype, [&](auto zero) {
      using T = decltype(zero);
      if constexpr (std::is_floating_point_v<T>) {
        T* total = out.data_as<T>();
        const T* weight = added.data_as<T>();
        for (int64_t i = 0; i < n; ++i) total[value[i]] += weight[i];
      }
    });
  }
  record_write(out);
  return out;
}

}  // namespace uh::kernels
