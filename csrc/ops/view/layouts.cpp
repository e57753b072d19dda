#include "ops/view/layouts.h"

#include <algorithm>

namespace uh::layouts {

Dims infer_size(IntSpan size, int64_t numel) {
  Dims out(size);
  std::optional<size_t> open;
  for (size_t d = 0; d < size.size(); ++d) {
    check(size[d] >= -1, "view: invalid shape dimension ", size[d], " in ", printed(size));
    if (size[d] != -1) continue;
    check(!open, "view: only one dimension can be inferred, got shape ", printed(size));
    open = d;
    out[d] = 1;
  }
  const int64_t known = checked_numel(out, "view");
  if (open && known == 0) {
    fail(ErrorKind::kRuntime, "cannot reshape tensor of ", numel, " elements into shape ",
         printed(size),
         " because the unspecified dimension size -1 can be any value and is ambiguous");
  }
  const bool fits = open ? numel % known == 0 : numel == known;
  check(fits, "shape '", printed(size), "' is invalid for input of size ", numel);
  if (open) out[*open] = numel / known;
  return out;
}

std::optional<Dims> view_strides(IntSpan old_sizes, IntSpan old_strides, IntSpan sizes) {
  if (numel_of(old_sizes) == 0) {
    const bool same = std::equal(old_sizes.begin(), old_sizes.end(), sizes.begin(), sizes.end());
    return same ? Dims(old_strides) : contiguous_strides(sizes);
  }
  Dims strides(sizes.size());
  int64_t view_dim = static_cast<int64_t>(sizes.size()) - 1;
  int64_t block_stride = old_strides.empty() ? 1 : old_strides.back();
  int64_t block = 1, taken = 1;  // elements in the block, and in the new dimensions so far
  for (int64_t d = static_cast<int64_t>(old_sizes.size()) - 1; d >= 0; --d) {
    const auto i = static_cast<size_t>(d);
    block *= old_sizes[i];
    const bool ends =
        d == 0 || (old_sizes[i - 1] != 1 && old_strides[i - 1] != block * block_stride);
    if (!ends) continue;
    while (view_dim >= 0 && (taken < block || sizes[static_cast<size_t>(view_dim)] == 1)) {
      strides[static_cast<size_t>(view_dim)] = taken * block_stride;
      taken *= sizes[static_cast<size_t>(view_dim)];
      --view_dim;
    }
    if (taken != block) return std::nullopt;
    if (d > 0) {
      block_stride = old_strides[i - 1];
      block = taken = 1;
    }
  }
  for (; view_dim >= 0; --view_dim) {  // a 0-d tensor viewed as [1, 1, ...]
    if (sizes[static_cast<size_t>(view_dim)] != 1) return std::nullopt;
    strides[static_cast<size_t>(view_dim)] = 1;
  }
  return strides;
}

Layout transpose(const Tensor& self, int64_t dim0, int64_t dim1) {
  const auto a = static_cast<size_t>(wrap_dim(dim0, self.ndim(), "transpose"));
  const auto b = static_cast<size_t>(wrap_dim(dim1, self.ndim(), "transpose"));
  Layout layout = self.impl()->layout();
  if (self.ndim() == 0) return layout;
  std::swap(layout.sizes[a], layout.sizes[b]);
  std::swap(layout.strides[a], layout.strides[b]);
  return layout;
}

Layout t(const Tensor& self) {
  check(self.ndim() <= 2, "t() expects a tensor with <= 2 dimensions, but self is ", self.ndim(),
        "D with sizes ", self.sizes());
  return self.ndim() < 2 ? self.impl()->layout() : transpose(self, 0, 1);
}

Layout squeeze(const Tensor& self, const std::optional<Dims>& dim) {
  const auto n = static_cast<size_t>(self.ndim());
  std::array<bool, 64> selected{};
  check(n <= selected.size(), "squeeze: at most 64 dimensions, got ", n);
  if (!dim) {
    selected.fill(true);
  } else {
    for (int64_t d : *dim) {
      const auto at = static_cast<size_t>(wrap_dim(d, self.ndim(), "squeeze"));
      check(!selected[at] || n == 0, "squeeze: dim ", at,
            " appears multiple times in the list of dims ", *dim);
      selected[at] = true;
    }
  }
  Layout out{{}, {}, self.offset()};
  for (size_t d = 0; d < n; ++d) {
    if (selected[d] && self.sizes()[d] == 1) continue;
    out.sizes.push_back(self.sizes()[d]);
    out.strides.push_back(self.strides()[d]);
  }
  return out;
}

Layout unsqueeze(const Tensor& self, int64_t dim) {
  const auto at = static_cast<size_t>(wrap_dim(dim, self.ndim() + 1, "unsqueeze"));
  Layout out = self.impl()->layout();
  const int64_t stride = at < out.sizes.size() ? out.sizes[at] * out.strides[at] : 1;
  out.sizes.insert(at, 1);
  out.strides.insert(at, stride);
  return out;
}

Layout as_strided(const Tensor& self, IntSpan size, IntSpan stride,
                  std::optional<int64_t> argument) {
  const int64_t offset = argument.value_or(self.offset());
  check(size.size() == stride.size(), "as_strided: mismatch in length of strides and shape: size ",
        printed(size), ", stride ", printed(stride));
  check(offset >= 0, "as_strided: storage offset must be non-negative, got ", offset);
  checked_numel(size, "as_strided");
  int64_t last = offset;
  bool none = false;
  for (size_t d = 0; d < size.size(); ++d) {
    check(stride[d] >= 0,
          "as_strided: negative strides are not supported at the moment, got strides: ",
          printed(stride));
    none = none || size[d] == 0;
    int64_t reach = 0;
    const bool over = size[d] > 0 && (__builtin_mul_overflow(size[d] - 1, stride[d], &reach) ||
                                      __builtin_add_overflow(last, reach, &last));
    check(!over, "as_strided: sizes ", printed(size), " with strides ", printed(stride),
          " overflow");
  }
  const int64_t width = itemsize(self.dtype());
  check(last < INT64_MAX / width, "as_strided: sizes ", printed(size), " with strides ",
        printed(stride), " overflow");
  const int64_t available = static_cast<int64_t>(self.storage()->nbytes()) / width;
  check(none || self.is_meta() || last < available, "as_strided: setStorage: sizes ", printed(size),
        ", strides ", printed(stride), ", storage offset ", offset, ", and itemsize ", width,
        " requiring a storage size of ", none ? 0 : (last + 1) * width,
        " are out of bounds for storage of size ", self.storage()->nbytes());
  return {Dims(size), Dims(stride), offset};
}

Layout slice(const Tensor& self, int64_t dim, std::optional<int64_t> start,
             std::optional<int64_t> end, int64_t step) {
  check_kind(self.ndim() > 0, ErrorKind::kIndex, "slice() cannot be applied to a 0-dim tensor");
  check(step > 0, "slice: step must be positive, got ", step);
  const auto d = static_cast<size_t>(wrap_dim(dim, self.ndim(), "slice"));
  Layout out = self.impl()->layout();
  const int64_t size = out.sizes[d];
  auto clip = [&](std::optional<int64_t> at, int64_t missing) {
    if (!at) return missing;
    const int64_t i = *at < 0 ? (*at < -size ? 0 : *at + size) : *at;
    return std::min(i, size);
  };
  const int64_t from = clip(start, 0);
  const int64_t to = std::max(clip(end, size), from);
  out.offset += from * out.strides[d];
  out.sizes[d] = (to - from) / step + ((to - from) % step != 0);
  stretch(out, d, step);
  return out;
}

void stretch(Layout& layout, size_t d, int64_t step) {
  int64_t stride = 0;
  if (!__builtin_mul_overflow(layout.strides[d], step, &stride)) layout.strides[d] = stride;
}

Layout narrow(const Tensor& self, int64_t dim, int64_t start, int64_t length) {
  check(self.ndim() > 0, "narrow() cannot be applied to a 0-dim tensor");
  check(length >= 0, "narrow(): length must be non-negative, got ", length);
  const auto d = static_cast<size_t>(wrap_dim(dim, self.ndim(), "narrow"));
  const int64_t size = self.sizes()[d];
  check_kind(start >= -size && start <= size, ErrorKind::kIndex,
             "narrow: start out of range (expected to be in range of [", -size, ", ", size,
             "], but got ", start, ")");
  const int64_t from = start < 0 ? start + size : start;
  check(from <= size - length, "narrow: start (", from, ") + length (", length,
        ") exceeds dimension size (", size, ")");
  Layout out = self.impl()->layout();
  out.offset += from * out.strides[d];
  out.sizes[d] = length;
  return out;
}

void check_pieces(int64_t count, int64_t size, std::string_view op) {
  constexpr int64_t kMaxPieces = 1 << 22, kMaxEmptyPieces = 1 << 20;
  check(count <= kMaxPieces && count - size <= kMaxEmptyPieces, op, ": ", count,
        " pieces of a dimension of size ", size, " are too many");
}

}  // namespace uh::layouts
