// Operators that only move elements between channels and space: views and one copy.
#include "generated/kernels/resample.h"
#include "generated/ops/copy.h"
#include "generated/ops/view.h"

namespace uh::kernels {
namespace {

// Returns the number of dimensions before (C, H, W); throws if these three are missing.
int64_t lead_of(const Tensor& self, int64_t factor, std::string_view op, std::string_view name) {
  check(self.ndim() >= 3, op, ": expects input to have at least 3 dimensions, but got input with ",
        self.ndim(), " dimension(s)");
  check(factor > 0 && factor <= INT32_MAX, op, ": expects a positive ", name, ", but got ", factor);
  return self.ndim() - 3;
}

Dims joined(const Tensor& self, int64_t lead, std::initializer_list<int64_t> tail) {
  Dims sizes;
  for (int64_t d = 0; d < lead; ++d) sizes.push_back(self.size(d));
  for (const int64_t size : tail) sizes.push_back(size);
  return sizes;
}

Tensor regrouped(const Tensor& self, int64_t lead, std::initializer_list<int64_t> split,
                 std::initializer_list<int64_t> order, std::initializer_list<int64_t> sizes) {
  Dims permutation;
  for (int64_t d = 0; d < lead; ++d) permutation.push_back(d);
  for (const int64_t d : order) permutation.push_back(lead + d);
  const Tensor parts = ops::reshape(self, joined(self, lead, split));
  const Tensor moved = ops::clone(ops::permute(parts, permutation), MemoryFormat::kContiguous);
  return ops::view(moved, joined(self, lead, sizes));
}

}  // namespace

Tensor pixel_shuffle(KeySet, const Tensor& self, int64_t r) {
  const int64_t lead = lead_of(self, r, "pixel_shuffle", "upscale_factor");
  const int64_t c = self.size(lead), h = self.size(lead + 1), w = self.size(lead + 2);
  check(c % (r * r) == 0,
        "pixel_shuffle: expects its input's 'channel' dimension to be divisible by the square of "
        "upscale_factor, but input.size(-3)=",
        c, " is not divisible by ", r * r);
  const int64_t o = c / (r * r);
  return regrouped(self, lead, {o, r, r, h, w}, {0, 3, 1, 4, 2}, {o, h * r, w * r});
}

Tensor pixel_unshuffle(KeySet, const Tensor& self, int64_t r) {
  const int64_t lead = lead_of(self, r, "pixel_unshuffle", "downscale_factor");
  const int64_t c = self.size(lead), h = self.size(lead + 1), w = self.size(lead + 2);
  check(h % r == 0 && w % r == 0,
        "pixel_unshuffle: expects height and width to be divisible by downscale_factor, but ", h,
        " x ", w, " is not divisible by ", r);
  if (self.numel() == 0) return ops::clone(self, MemoryFormat::kPreserve);  // as PyTorch
  return regrouped(self, lead, {c, h / r, r, w / r, r}, {0, 2, 4, 1, 3}, {c * r * r, h / r, w / r});
}

Tensor channel_shuffle(KeySet, const Tensor& self, int64_t groups) {
  check(self.ndim() > 2, "channel_shuffle: expects input with > 2 dims, but got input with sizes ",
        self.sizes());
  check(groups > 0,
        "channel_shuffle: number of groups to divide channels in must be positive, got ", groups);
  const int64_t c = self.size(1);
  check(c % groups == 0, "channel_shuffle: number of channels must be divisible by groups, got ", c,
        " channels and ", groups, " groups");
  Dims split{self.size(0), groups, c / groups};
  for (int64_t d = 2; d < self.ndim(); ++d) split.push_back(self.size(d));
  const Tensor parts = ops::reshape(self, split);
  return ops::view(ops::clone(ops::transpose(parts, 1, 2), MemoryFormat::kContiguous),
                   self.sizes());
}

}  // namespace uh::kernels
