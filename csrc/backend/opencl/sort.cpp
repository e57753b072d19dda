// Bitonic sort on an OpenCL device, of lines that are padded to a power of two.
#include <bit>

#include "backend/opencl/copy.h"
#include "backend/opencl/kernel_calls.h"
#include "backend/opencl/registration.h"
#include "generated/structured/sort.h"

namespace uh::opencl {
namespace {

// Writes the first elements of each sorted line, as many as `indices` has; `values` is optional.
void order(const Tensor& self, int64_t dim, bool descending, const Tensor& values,
           const Tensor& indices) {
  if (indices.numel() == 0) return;
  static const Source filling{sources::sort, "fill"}, exchanging{sources::sort, "exchange"},
      taking{sources::sort, "take"};
  const int64_t d = wrap_dim(dim, self.ndim(), "sort");
  const int64_t length = self.ndim() ? self.size(d) : 1, lines = self.numel() / length;
  const int64_t count = indices.numel() / lines;
  int64_t step = 1;
  for (int64_t k = d + 1; k < self.ndim(); ++k) step *= self.size(k);
  const auto padded = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(length)));
  const Device device = self.device();
  const Defines defines = computes(self.dtype());
  const DType key = is_reduced_floating(self.dtype()) ? DType::kFloat32 : self.dtype();
  const Tensor keys = empty(Dims{lines, padded}, key, device);
  const Tensor positions = empty(Dims{lines, padded}, DType::kInt64, device);
  launch_items(filling.kernel(device, defines), keys.numel(), contiguous(self), keys, positions,
               length, padded, step);
  const Kernel& exchange = exchanging.kernel(device, defines);
  for (int64_t block = 2; block <= padded; block *= 2)
    for (int64_t gap = block / 2; gap > 0; gap /= 2)
      launch_items(exchange, keys.numel() / 2, keys, positions, length, padded, block, gap,
                   int32_t{descending});
  const Tensor target = values ? values : empty(indices.sizes(), self.dtype(), device);
  const DenseResult out(target), at(indices);
  launch_items(taking.kernel(device, defines), indices.numel(), keys, positions, out.tensor(),
               at.tensor(), count, padded, step);
  if (values) out.store();
  at.store();
}

void sort_lines(const Tensor& self, int64_t dim, bool descending, const Tensor& values,
                const Tensor& indices) {
  order(self, dim, descending, values, indices);
}
void sort_stable(const Tensor& self, std::optional<bool>, int64_t dim, bool descending,
                 const Tensor& values, const Tensor& indices) {
  order(self, dim, descending, values, indices);
}
void argsort(const Tensor& self, int64_t dim, bool descending, const Tensor& result) {
  order(self, dim, descending, Tensor(), result);
}
void argsort_stable(const Tensor& self, bool, int64_t dim, bool descending, const Tensor& result) {
  order(self, dim, descending, Tensor(), result);
}
void topk(const Tensor& self, int64_t, int64_t dim, bool largest, bool, const Tensor& values,
          const Tensor& indices) {
  order(self, dim, largest, values, indices);
}

}  // namespace

void register_sort() {
  namespace s = structured;
  register_partial<ops::sort_op, kRealFirst, s::sort<sort_lines>>("opencl sort");
  register_partial<ops::sort_stable_op, kRealFirst, s::sort_stable<sort_stable>>("opencl sort");
  register_partial<ops::argsort_op, kRealFirst, s::argsort<argsort>>("opencl argsort");
  register_partial<ops::argsort_stable_op, kRealFirst, s::argsort_stable<argsort_stable>>(
      "opencl argsort");
  register_partial<ops::topk_op, kRealFirst, s::topk<topk>>("opencl topk");
}

}  // namespace uh::opencl
