// Kernels of the view operators. They compute layouts only; the generated ADInplaceOrView kernels
// set the base of a result.
#include <algorithm>

#include "base/call_section.h"
#include "generated/kernels/view.h"
#include "generated/ops/copy.h"
#include "generated/ops/linalg.h"
#include "generated/ops/view.h"
#include "ops/copy/element.h"
#include "ops/view/layouts.h"
#include "tensor/thread_state.h"

namespace uh::kernels {
namespace {

size_t dim_of(const Tensor& self, int64_t dim, std::string_view op) {
  return static_cast<size_t>(wrap_dim(dim, self.ndim(), op));
}

// Returns sizes and strides with permuted dimensions.
Layout permuted(const Tensor& self, const Dims& order) {
  Layout out{Dims(order.size()), Dims(order.size()), self.offset()};
  for (size_t i = 0; i < order.size(); ++i) {
    out.sizes[i] = self.size(order[i]);
    out.strides[i] = self.stride(order[i]);
  }
  return out;
}

// Wraps dims; throws if one is repeated.
Dims distinct(const Tensor& self, const Dims& dims, std::string_view op) {
  Dims out(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) {
    out[i] = wrap_dim(dims[i], self.ndim(), op);
    check(std::find(out.begin(), out.begin() + i, out[i]) == out.begin() + i, op,
          ": duplicate dims are not allowed, got ", dims);
  }
  return out;
}

}  // namespace

Tensor as_strided(KeySet, const Tensor& self, const Dims& size, const Dims& stride,
                  std::optional<int64_t> offset) {
  return alias(self, layouts::as_strided(self, size, stride, offset));
}

Tensor view(KeySet, const Tensor& self, const Dims& size) {
  Dims sizes = layouts::infer_size(size, self.numel());
  auto strides = layouts::view_strides(self.sizes(), self.strides(), sizes);
  check(strides.has_value(),
        "view size is not compatible with input tensor's size and stride (at least one dimension "
        "spans across two contiguous subspaces). Use .reshape(...) instead. Got size ",
        sizes, " for an input of size ", self.sizes(), " and stride ", self.strides());
  return alias(self, {std::move(sizes), std::move(*strides), self.offset()});
}

// Unlike other views it is a new tensor in inference mode, so one without versions.
static Tensor bits(const Tensor& self, Layout layout, DType dtype) {
  Tensor result = alias(self, std::move(layout), dtype, self.impl()->own_counter());
  if (t_state.inference) result.impl()->set_inference(true);
  return result;
}

Tensor view_dtype(KeySet, const Tensor& self, DType dtype) {
  const int64_t from = itemsize(self.dtype()), to = itemsize(dtype);
  Layout layout = self.impl()->layout();
  if (from == to) return bits(self, std::move(layout), dtype);
  check(self.ndim() > 0, "view: self.dim() cannot be 0 to view ", name(self.dtype()), " as ",
        name(dtype), " (different element sizes)");
  const size_t last = layout.sizes.size() - 1;
  check(layout.strides[last] == 1, "view: self.stride(-1) must be 1 to view ", name(self.dtype()),
        " as ", name(dtype), " (different element sizes), but got ", layout.strides[last]);
  auto rescale = [&](int64_t& n, const char* quantity) {
    int64_t bytes = 0;
    check(!__builtin_mul_overflow(n, from, &bytes) && bytes % to == 0, "view: ", quantity, " (", n,
          ") * ", from, " must be divisible by ", to, " to view ", name(self.dtype()), " as ",
          name(dtype));
    n = bytes / to;
  };
  rescale(layout.sizes[last], "self.size(-1)");
  rescale(layout.offset, "self.storage_offset()");
  for (size_t d = 0; d < last; ++d) rescale(layout.strides[d], "self.stride()");
  layout.strides[last] = 1;
  return bits(self, std::move(layout), dtype);
}

Tensor reshape(KeySet, const Tensor& self, const Dims& shape) {
  const Dims sizes = layouts::infer_size(shape, self.numel());
  if (const auto strides = layouts::view_strides(self.sizes(), self.strides(), sizes))
    return self.is_contiguous() ? ops::view(self, sizes)
                                : ops::_reshape_alias(self, sizes, *strides);
  return ops::_unsafe_view(ops::clone(self, MemoryFormat::kContiguous), sizes);
}

Tensor reshape_alias(KeySet, const Tensor& self, const Dims& size, const Dims& stride) {
  return alias(self, layouts::as_strided(self, size, stride,
                                         self.offset()));  // checked: this can be called directly
}

Tensor t(KeySet, const Tensor& self) { return alias(self, layouts::t(self)); }

Tensor transpose(KeySet, const Tensor& self, int64_t dim0, int64_t dim1) {
  return alias(self, layouts::transpose(self, dim0, dim1));
}

Tensor permute(KeySet, const Tensor& self, const Dims& dims) {
  check(dims.ndim() == self.ndim(),
        "permute(sparse_coo): number of dimensions in the tensor input does not match the length "
        "of the "
        "desired ordering of dimensions i.e. input.dim() = ",
        self.ndim(), " is not equal to len(dims) = ", dims.ndim());
  return alias(self, permuted(self, distinct(self, dims, "permute")));
}

Tensor numpy_T(KeySet, const Tensor& self) {
  Dims order(static_cast<size_t>(self.ndim()));
  for (size_t i = 0; i < order.size(); ++i) order[i] = self.ndim() - 1 - static_cast<int64_t>(i);
  return alias(self, permuted(self, order));
}

Tensor expand(KeySet, const Tensor& self, const Dims& size, bool) {
  check(size.ndim() >= self.ndim(), "expand: the number of sizes provided (", size.ndim(),
        ") must be greater or equal to the number of dimensions in the tensor (", self.ndim(),
        "): sizes ", size);
  Layout out{size, Dims(size.size()), self.offset()};
  const auto shift = static_cast<int64_t>(size.size()) - self.ndim();
  for (int64_t d = size.ndim(); d-- > 0;) {
    const auto i = static_cast<size_t>(d);
    const bool added = d < shift;
    const int64_t have = added ? 1 : self.size(d - shift);
    if (size[i] == -1) {
      check(!added,
            "expand: the expanded size of the tensor (-1) isn't allowed in a leading, non-existing "
            "dimension ",
            d);
      out.sizes[i] = have;
    }
    check(out.sizes[i] >= 0, "expand: invalid size ", size[i], " in ", size);
    check(have == out.sizes[i] || have == 1, "expand: the expanded size of the tensor (",
          out.sizes[i], ") must match the existing size (", have, ") at non-singleton dimension ",
          d, ".  Target sizes: ", size, ".  Tensor sizes: ", self.sizes());
    const bool stretched = have == 1 && out.sizes[i] != 1;
    if (added) {
      out.strides[i] = 0;
      if (out.sizes[i] == 1 &&
          self.ndim() > 0) {  // as in PyTorch: a new leading 1 gets a dense stride
        out.strides[i] = out.sizes[i + 1] * out.strides[i + 1];
      }
    } else {
      out.strides[i] = stretched ? 0 : self.stride(d - shift);
    }
  }
  checked_numel(out.sizes, "expand");
  return alias(self, std::move(out));
}

Tensor expand_as(KeySet, const Tensor& self, const Tensor& other) {
  return ops::expand(self, other.sizes(), false);
}
Tensor view_as(KeySet, const Tensor& self, const Tensor& other) {
  return ops::view(self, other.sizes());
}

Tensor squeeze(KeySet, const Tensor& self, const std::optional<Dims>& dim) {
  return alias(self, layouts::squeeze(self, dim));
}
Tensor unsqueeze(KeySet, const Tensor& self, int64_t dim) {
  return alias(self, layouts::unsqueeze(self, dim));
}

Tensor select(KeySet, const Tensor& self, int64_t dim, int64_t index) {
  check_kind(self.ndim() > 0, ErrorKind::kIndex, "select() cannot be applied to a 0-dim tensor.");
  const size_t d = dim_of(self, dim, "select");
  const int64_t size = self.sizes()[d];
  check_kind(index >= -size && index < size, ErrorKind::kIndex, "index ", index,
             " is out of bounds for dimension ", d, " with size ", size);
  Layout out = self.impl()->layout();
  out.offset += (index < 0 ? index + size : index) * out.strides[d];
  out.sizes.erase(d);
  out.strides.erase(d);
  return alias(self, std::move(out));
}

Tensor narrow(KeySet, const Tensor& self, int64_t dim, int64_t start, int64_t length) {
  return alias(self, layouts::narrow(self, dim, start, length));
}

Tensor narrow_from(KeySet, const Tensor& self, int64_t dim, const Tensor& start, int64_t length) {
  check(start.ndim() == 0 && is_integral(start.dtype()),
        "narrow: start must be an 0-dim integral Tensor, got ", name(start.dtype()), " of sizes ",
        start.sizes());
  return ops::narrow(self, dim, read_scalar(start).to_int(), length);
}

Tensor slice(KeySet, const Tensor& self, int64_t dim, std::optional<int64_t> start,
             std::optional<int64_t> end, int64_t step) {
  return alias(self, layouts::slice(self, dim, start, end, step));
}

Tensor diagonal(KeySet, const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  const size_t a = dim_of(self, dim1, "diagonal"), b = dim_of(self, dim2, "diagonal");
  check(a != b, "diagonal dimensions cannot be identical ", dim1, ", ", dim2);
  Layout out = self.impl()->layout();
  const int64_t rows = out.sizes[a], columns = out.sizes[b];
  offset = std::clamp(offset, -rows, columns);  // all diagonals beyond the corners are empty
  const int64_t length = std::max<int64_t>(
      offset >= 0 ? std::min(rows, columns - offset) : std::min(rows + offset, columns), 0);
  if (length > 0) out.offset += offset >= 0 ? offset * out.strides[b] : -offset * out.strides[a];
  const int64_t stride = out.strides[a] + out.strides[b];
  for (size_t d : {std::max(a, b), std::min(a, b)}) {
    out.sizes.erase(d);
    out.strides.erase(d);
  }
  out.sizes.push_back(length);
  out.strides.push_back(stride);
  return alias(self, std::move(out));
}

Tensor unfold(KeySet, const Tensor& self, int64_t dimension, int64_t size, int64_t step) {
  const size_t d = dim_of(self, dimension, "unfold");
  const int64_t have = self.ndim() ? self.sizes()[d] : 1;
  check(size >= 0 && size <= have, "unfold: maximum size for tensor at dimension ", d, " is ", have,
        " but size is ", size);
  check(step > 0, "unfold: step is ", step, " but must be > 0");
  Layout out = self.impl()->layout();
  const int64_t stride = self.ndim() ? out.strides[d] : 1;
  if (self.ndim()) {
    out.sizes[d] = (have - size) / step + 1;
    layouts::stretch(out, d, step);
  }
  out.sizes.push_back(size);
  out.strides.push_back(stride);
  checked_numel(out.sizes, "unfold");
  return alias(self, std::move(out));
}

Tensor movedim(KeySet, const Tensor& self, const Dims& source, const Dims& destination) {
  check(source.size() == destination.size(),
        "movedim: invalid source or destination dims: source (", source,
        " dims) should contain the same number of dims as destination (", destination, " dims)");
  const Dims from = distinct(self, source, "movedim"), to = distinct(self, destination, "movedim");
  if (self.ndim() == 0) return ops::alias(self);
  Dims order(static_cast<size_t>(self.ndim()), -1);
  for (size_t i = 0; i < from.size(); ++i) order[static_cast<size_t>(to[i])] = from[i];
  int64_t next = 0;
  for (int64_t& slot : order) {
    if (slot >= 0) continue;
    while (std::find(from.begin(), from.end(), next) != from.end()) ++next;
    slot = next++;
  }
  return ops::permute(self, order);
}

Tensor flatten(KeySet, const Tensor& self, int64_t start_dim, int64_t end_dim) {
  const size_t from = dim_of(self, start_dim, "flatten"), to = dim_of(self, end_dim, "flatten");
  check(from <= to, "flatten() has invalid args: start_dim cannot come after end_dim, got ",
        start_dim, " and ", end_dim);
  if (self.ndim() == 0) return ops::reshape(self, Dims{1});
  if (from == to) return self;
  Dims shape;
  int64_t merged = 1;
  for (size_t d = 0; d < self.sizes().size(); ++d) {
    const bool inside = d >= from && d <= to;
    if (inside) merged *= self.sizes()[d];
    if (!inside) shape.push_back(self.sizes()[d]);
    if (d == to) shape.push_back(merged);
  }
  return ops::reshape(self, shape);
}

Tensor ravel(KeySet, const Tensor& self) {
  return ops::view(ops::contiguous(self, MemoryFormat::kContiguous), Dims{self.numel()});
}

Tensor unflatten(KeySet, const Tensor& self, int64_t dim, const Dims& sizes) {
  const size_t d = dim_of(self, dim, "unflatten");
  check(self.ndim() > 0, "unflatten got an unexpected error:\nDimension specified as ", dim,
        " but tensor has no dimensions");
  check(!sizes.empty(), "unflatten: sizes must be non-empty");
  const Dims inner = layouts::infer_size(sizes, self.sizes()[d]);
  Dims shape;
  for (size_t i = 0; i < self.sizes().size(); ++i) {
    if (i != d) {
      shape.push_back(self.sizes()[i]);
      continue;
    }
    for (int64_t s : inner) shape.push_back(s);
  }
  auto strides = layouts::view_strides(self.sizes(), self.strides(), shape);
  check(strides.has_value(), "unflatten: sizes ", sizes, " do not fit the strides ",
        self.strides());
  return alias(self, {std::move(shape), std::move(*strides), self.offset()});
}

std::vector<Tensor> split_with_sizes(KeySet, const Tensor& self, const Dims& sizes, int64_t dim) {
  check(self.ndim() > 0, "split: expects at least a 1-dimensional tensor");
  const size_t d = dim_of(self, dim, "split_with_sizes");
  int64_t total = 0;
  bool overflow = false;
  for (int64_t s : sizes) {
    check(
        s >= 0,
        "split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes=",
        sizes);
    overflow = __builtin_add_overflow(total, s, &total) || overflow;
  }
  check(!overflow && total == self.sizes()[d],
        "split_with_sizes expects split_sizes to sum exactly to ", self.sizes()[d],
        " (input tensor's size at dimension ", dim, "), but got split_sizes=", sizes);
  std::vector<Tensor> pieces;
  int64_t start = 0;
  for (int64_t s : sizes) {
    pieces.push_back(alias(self, layouts::narrow(self, dim, start, s)));
    start += s;
  }
  return pieces;
}

std::vector<Tensor> split(KeySet keys, const Tensor& self, int64_t split_size, int64_t dim) {
  check(self.ndim() > 0, "split: expects at least a 1-dimensional tensor");
  check(split_size >= 0,
        "split: expects split_size be non-negative, but got split_size=", split_size);
  const int64_t size = self.sizes()[dim_of(self, dim, "split")];
  check(split_size > 0 || size == 0,
        "split: split_size can only be 0 if dimension size is 0, but got dimension size of ", size);
  if (split_size > 0) layouts::check_pieces(size / split_size, size, "split");
  Dims sizes;
  for (int64_t left = size; left > 0; left -= sizes.back())
    sizes.push_back(std::min(split_size, left));
  if (sizes.empty()) sizes.push_back(0);
  return split_with_sizes(keys, self, sizes, dim);
}

std::vector<Tensor> chunk(KeySet, const Tensor& self, int64_t chunks, int64_t dim) {
  check(self.ndim() > 0, "chunk expects at least a 1-dimensional tensor");
  check(chunks > 0, "chunk expects `chunks` to be greater than 0, got: ", chunks);
  const int64_t size = self.sizes()[dim_of(self, dim, "chunk")];
  const int64_t each = size / chunks + (size % chunks != 0);
  if (each == 0) layouts::check_pieces(chunks, size, "chunk");
  if (each == 0) return ops::split_with_sizes(self, Dims(static_cast<size_t>(chunks), 0), dim);
  return ops::split(self, each, dim);
}

std::vector<Tensor> unbind(KeySet keys, const Tensor& self, int64_t dim) {
  check_kind(self.ndim() > 0, ErrorKind::kIndex, "unbind: dimension specified as ", dim,
             " but tensor has no dimensions");
  const int64_t size = self.sizes()[dim_of(self, dim, "unbind")];
  layouts::check_pieces(size, size, "unbind");
  std::vector<Tensor> items;
  items.reserve(static_cast<size_t>(size));
  for (int64_t i = 0; i < size; ++i) items.push_back(select(keys, self, dim, i));
  return items;
}

Tensor detach(KeySet, const Tensor& self) { return alias(self, self.impl()->layout()); }

void t_(KeySet, const Tensor& self) {
  const Change change(self.impl());
  self.impl()->set_layout(layouts::t(self));
}
void transpose_(KeySet, const Tensor& self, int64_t dim0, int64_t dim1) {
  const Change change(self.impl());
  self.impl()->set_layout(layouts::transpose(self, dim0, dim1));
}
void squeeze_(KeySet, const Tensor& self, const std::optional<Dims>& dim) {
  const Change change(self.impl());
  self.impl()->set_layout(layouts::squeeze(self, dim));
}
void unsqueeze_(KeySet, const Tensor& self, int64_t dim) {
  const Change change(self.impl());
  self.impl()->set_layout(layouts::unsqueeze(self, dim));
}
void as_strided_(KeySet, const Tensor& self, const Dims& size, const Dims& stride,
                 std::optional<int64_t> offset) {
  const Change change(self.impl());
  self.impl()->set_layout(layouts::as_strided(self, size, stride, offset));
}

void resize_(KeySet, const Tensor& self, const Dims& size) {
  const Change change(self.impl());
  std::optional<Change> of_memory;
  if (self.storage()->use_count() > 1) of_memory.emplace(Change::Memory{self.storage()});
  if (self.sizes() == size) return;
  const int64_t n = checked_numel(size, "resize_");
  int64_t bytes = 0;
  check(!__builtin_mul_overflow(self.offset() + n, itemsize(self.dtype()), &bytes),
        "resize_: size ", size, " overflows");
  if (n > 0 && bytes > static_cast<int64_t>(self.storage()->nbytes()))
    self.storage()->resize(static_cast<size_t>(bytes));
  self.impl()->set_layout({size, contiguous_strides(size), self.offset()});
}

void set_empty(KeySet key, const Tensor& self) {
  set_(key, self, empty(Dims{0}, self.dtype(), self.device()));
}

void set_(KeySet, const Tensor& self, const Tensor& source) {
  const Change change(self.impl());
  check(self.dtype() == source.dtype(), "set_: expected a source of dtype ", name(self.dtype()),
        ", got ", name(source.dtype()));
  self.impl()->set_storage(source.impl()->storage_ref(), source.impl()->layout());
}

void set_part(KeySet, const Tensor& self, const Tensor& source, int64_t offset, const Dims& size,
              const Dims& stride) {
  const Change change(self.impl());
  check(offset >= 0, "set_: Tensor: invalid storage offset ", offset);
  check(stride.empty() || stride.size() == size.size(), "set_: unequal size length (", size.size(),
        ") and stride length (", stride.size(), ")");
  const int64_t count = checked_numel(size, "set_");
  const bool keeps = stride.empty() && self.sizes() == size;  // its strides as well as its sizes
  const Dims strides = keeps            ? Dims(self.strides())
                       : stride.empty() ? contiguous_strides(size)
                                        : stride;
  int64_t last = offset;
  for (size_t d = 0; d < size.size(); ++d) {
    check(strides[d] >= 0, "set_: Tensor: invalid negative stride ", strides[d]);
    int64_t reach = 0;
    check(!__builtin_mul_overflow(size[d] - 1, strides[d], &reach) &&
              !__builtin_add_overflow(last, reach, &last),
          "set_: Storage size calculation overflowed with sizes=", size, " and strides=", strides);
  }
  const int64_t width = itemsize(self.dtype());
  int64_t bytes = 0;
  check(last < INT64_MAX && !__builtin_mul_overflow(last + 1, width, &bytes),
        "set_: Storage size calculation overflowed with sizes=", size, " and strides=", strides);
  Storage& storage = *source.storage();
  if (count > 0 && bytes > static_cast<int64_t>(storage.nbytes()))
    storage.resize(static_cast<size_t>(bytes));
  self.impl()->set_storage(source.impl()->storage_ref(), Layout{size, strides, offset});
}

}  // namespace uh::kernels
