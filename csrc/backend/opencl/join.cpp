// cat and related operators on an OpenCL device: copies into parts of the result.
#include "generated/structured/join.h"
#include "backend/opencl/copy.h"
#include "backend/opencl/kernel_calls.h"
#include "backend/opencl/registration.h"
#include "generated/ops/creation.h"
#include "generated/ops/gather.h"
#include "generated/ops/view.h"
#include "ops/join/shapes.h"

namespace uh::opencl {
namespace {

// The part of `full` with these sizes that begins at `start` along `dim`.
Tensor part_of(const Tensor& full, Dims sizes, size_t dim, int64_t start) {
  return alias(
      full, Layout{std::move(sizes), full.strides(), full.offset() + start * full.strides()[dim]});
}

void put(const Tensor& to, const Tensor& from) {
  if (to.numel()) copy_elements(to, from);
}

void cat(const std::vector<Tensor>& tensors, int64_t dim, const Tensor& result) {
  if (result.numel() == 0) return;
  const auto d = static_cast<size_t>(wrap_dim(dim, result.ndim(), "cat"));
  int64_t start = 0;
  for (const Tensor& t : tensors) {
    if (is_skipped(t)) continue;
    put(part_of(result, t.sizes(), d, start), t);
    start += t.sizes()[d];
  }
}

void stack(const std::vector<Tensor>& tensors, int64_t dim, const Tensor& result) {
  const auto d = static_cast<size_t>(wrap_dim(dim, result.ndim(), "stack"));
  Dims strides = result.strides();
  const int64_t step = strides[d];
  strides.erase(d);
  for (size_t i = 0; i < tensors.size(); ++i) {
    const int64_t first = result.offset() + static_cast<int64_t>(i) * step;
    put(alias(result, Layout{tensors[i].sizes(), strides, first}), tensors[i]);
  }
}

// Elements of `self` seen as (n) along `dim`, those from `split` on first.
void roll_dim(const Tensor& self, int64_t shift, size_t d, const Tensor& result) {
  const int64_t n = self.sizes()[d], split = (n - (shift % n + n) % n) % n;
  const auto move = [&](int64_t to, int64_t from, int64_t count) {
    Dims sizes = self.sizes();
    sizes[d] = count;
    put(part_of(result, sizes, d, to), part_of(self, sizes, d, from));
  };
  move(0, split, n - split);
  move(n - split, 0, split);
}

void roll(const Tensor& self, const Dims& shifts, const std::optional<Dims>& dims,
          const Tensor& result) {
  if (result.numel() == 0) return;
  if (!dims || dims->empty())
    return roll_dim(ops::view(contiguous(self), {-1}), shifts[0], 0, ops::view(result, {-1}));
  Tensor source = self;  // one dimension after the other
  for (size_t i = 0; i < shifts.size(); ++i) {
    const Tensor target =
        i + 1 == shifts.size() ? result : empty(self.sizes(), self.dtype(), self.device());
    roll_dim(source, shifts[i], static_cast<size_t>(wrap_dim((*dims)[i], self.ndim(), "roll")),
             target);
    source = target;
  }
}

void repeat(const Tensor& self, const Dims& repeats, const Tensor& result) {
  if (result.numel() == 0) return;
  const auto [to, from] = repeated_views(self, repeats, result);
  copy_elements(to, from);
}

// Reverses one dimension after the other.
void flip(const Tensor& self, const Dims& dims, const Tensor& result) {
  if (result.numel() == 0) return;
  Tensor source = self;
  for (const int64_t each : dims) {
    if (self.ndim() == 0) break;
    const int64_t dim = wrap_dim(each, self.ndim(), "flip"), n = source.size(dim);
    const Tensor backwards =
        ops::arange(Scalar(n - 1), Scalar(-1), Scalar(-1), DType::kInt64, self.device());
    source = ops::index_select(source, dim, backwards);
  }
  copy_elements(result, source);
}

}  // namespace

void register_join() {
  namespace s = structured;
  constexpr Key kKey = Key::kOpenCL;
  s::register_cat<cat>(kKey, "opencl cat");
  s::register_stack<stack>(kKey, "opencl stack");
  s::register_roll<roll>(kKey, "opencl roll");
  s::register_repeat<repeat>(kKey, "opencl repeat");
  s::register_flip<flip>(kKey, "opencl flip");
}

}  // namespace uh::opencl
