// The kernels of gather.yaml.
#include "generated/kernels/gather.h"
#include "backend/cpu/copy/elements.h"
#include "backend/cpu/index/along.h"
#include "generated/ops/view.h"

namespace uh::kernels {

void gather(const Tensor& self, int64_t dim, const Tensor& index, bool, const Tensor& result) {
  if (result.numel() == 0) return;
  const int64_t d = wrap_dim(dim, self.ndim(), "gather");
  gather_into(result.data(), self, walk_places(self, d, index, result.strides()), "gather",
              ErrorKind::kRuntime);
}

void index_select(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& result) {
  const int64_t d = wrap_dim(dim, self.ndim(), "index_select");
  const IndexWalk walk = walk_slices(self, d, index, result.strides());
  if (result.numel() == 0)
    check_places(walk, "index_select", ErrorKind::kIndex);
  else
    gather_into(result.data(), self, walk, "index_select", ErrorKind::kIndex);
}

void take(const Tensor& self, const Tensor& index, const Tensor& result) {
  if (result.numel() == 0) return;
  const Tensor flat = ops::reshape(as_contiguous(self), {-1});
  Tensor positions = ops::reshape(as_contiguous(index), {-1});
  const int64_t n = positions.numel(), size = flat.numel();
  const auto* argument = positions.data_as<int64_t>();
  const int64_t bad = index_loops().outside(argument, n, -size, size);
  check_kind(bad == n, ErrorKind::kIndex, "take(): out of range: tried to access index ",
             bad < n ? argument[bad] : 0, " on a tensor of ", size, " elements.");
  if (index_loops().outside(argument, n, 0, size) < n) {
    const Tensor wrapped = empty(positions.sizes(), DType::kInt64);
    for (int64_t i = 0; i < n; ++i)
      wrapped.data_as<int64_t>()[i] = argument[i] + (argument[i] < 0 ? size : 0);
    positions = wrapped;
  }
  gather_into(result.data(), flat, walk_places(flat, 0, positions, Dims{1}), "take",
              ErrorKind::kIndex);
}

}  // namespace uh::kernels
