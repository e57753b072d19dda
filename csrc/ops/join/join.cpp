// The shape rules of join.yaml, and its out= forms.
#include "generated/kernels/join.h"
#include "generated/ops/join.h"
#include "ops/copy/write_out.h"
#include "ops/join/shapes.h"
#include "ops/overlap.h"
#include "ops/suggested_format.h"
#include "ops/view/layouts.h"

namespace uh {
namespace {

DType common_dtype(const std::vector<Tensor>& tensors) {
  DType dtype = DType::kUndefined;
  for (const Tensor& t : tensors) dtype = promote(dtype, t.dtype());
  return dtype;
}

void check_device(const std::vector<Tensor>& tensors, std::string_view op) {
  for (const Tensor& t : tensors) {
    check(t.device() == tensors[0].device(), op,
          ": expected all tensors to be on the same device, but found ", name(tensors[0].device()),
          " and ", name(t.device()));
  }
}

// Returns the format that all inputs suggest, else kContiguous. `appended` dimensions of size 1
// follow those of each input.
MemoryFormat common_format(const std::vector<Tensor>& tensors, bool appended = false) {
  std::optional<MemoryFormat> common;
  for (const Tensor& t : tensors) {
    Dims sizes = t.sizes(), strides = t.strides();
    if (appended) {
      sizes.push_back(1);
      strides.push_back(1);
    }
    const MemoryFormat format = suggested_format(sizes, strides);
    if (format == MemoryFormat::kContiguous || format != common.value_or(format))
      return MemoryFormat::kContiguous;
    common = format;
  }
  return common.value_or(MemoryFormat::kContiguous);
}

// PyTorch raises a TypeError here, where other operators raise a RuntimeError.
void check_out_kind(const std::vector<Tensor>& tensors, const Tensor& out, std::string_view op) {
  const DType dtype = common_dtype(tensors);
  check_kind(tensors.empty() || category(dtype) <= category(out.dtype()), ErrorKind::kType, op,
             ": input types can't be cast to the desired output type ", info(out.dtype()).title);
}

void write_joined(const std::vector<Tensor>& tensors, const Tensor& result, const Tensor& out,
                  std::string_view op) {
  for (const Tensor& t : tensors) check_out_overlap(out, result.sizes(), t, true, op);
  write_out(out, result, op);
}

}  // namespace
}  // namespace uh

namespace uh {

// Each dimension becomes (repeat, size); the source has stride 0 along the first.
std::pair<Tensor, Tensor> repeated_views(const Tensor& self, const Dims& repeats,
                                         const Tensor& result) {
  const Dims& sizes = result.sizes();
  const size_t shift = repeats.size() - self.sizes().size();
  Dims split, to_strides, from_strides;
  for (size_t d = 0; d < sizes.size(); ++d) {
    const int64_t own = d < shift ? 1 : self.sizes()[d - shift];
    split.push_back(repeats[d]);
    split.push_back(own);
    to_strides.push_back(result.strides()[d] * own);
    to_strides.push_back(result.strides()[d]);
    from_strides.push_back(0);
    from_strides.push_back(d < shift ? 0 : self.strides()[d - shift]);
  }
  return {alias(result, Layout{split, to_strides, result.offset()}),
          alias(self, Layout{split, from_strides, self.offset()})};
}

}  // namespace uh

namespace uh::shapes {

Tensor cat(const std::vector<Tensor>& tensors, int64_t dim) {
  check_kind(!tensors.empty(), ErrorKind::kValue, "cat(): expected a non-empty list of Tensors");
  check_device(tensors, "cat");
  const Tensor* model = &tensors[0];
  size_t position = 0;
  for (size_t i = 0; i < tensors.size() && is_skipped(*model); ++i) model = &tensors[position = i];
  if (is_skipped(*model)) return empty(Dims{0}, common_dtype(tensors), model->device());
  Dims sizes = model->sizes();
  check(!sizes.empty(), "zero-dimensional tensor (at position ", position,
        ") cannot be concatenated");
  const auto d = static_cast<size_t>(wrap_dim(dim, model->ndim(), "cat"));
  sizes[d] = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& t = tensors[i];
    if (is_skipped(t)) continue;
    check(t.ndim() > 0, "zero-dimensional tensor (at position ", i, ") cannot be concatenated");
    check(t.ndim() == model->ndim(), "Tensors must have same number of dimensions: got ",
          model->ndim(), " and ", t.ndim());
    for (size_t k = 0; k < sizes.size(); ++k) {
      check(k == d || t.sizes()[k] == sizes[k], "Sizes of tensors must match except in dimension ",
            d, ". Expected size ", sizes[k], " but got size ", t.sizes()[k], " for tensor number ",
            i, " in the list.");
    }
    sizes[d] += t.sizes()[d];
  }
  return empty(sizes, common_dtype(tensors), model->device(), common_format(tensors));
}

Tensor stack(const std::vector<Tensor>& tensors, int64_t dim) {
  check(!tensors.empty(), "stack expects a non-empty TensorList");
  check_device(tensors, "stack");
  const Dims& each = tensors[0].sizes();
  for (size_t i = 1; i < tensors.size(); ++i) {
    check(tensors[i].sizes() == each, "stack expects each tensor to be equal size, but got ", each,
          " at entry 0 and ", tensors[i].sizes(), " at entry ", i);
  }
  const auto d = static_cast<size_t>(wrap_dim(dim, each.ndim() + 1, "stack"));
  const auto count = static_cast<int64_t>(tensors.size());
  Dims sizes = each;
  sizes.insert(d, count);
  const DType dtype = common_dtype(tensors);
  const MemoryFormat format = common_format(tensors, d == each.size());
  if (format == MemoryFormat::kContiguous || d == each.size())
    return empty(sizes, dtype, tensors[0].device(), format);
  Dims joined = each;  // cat, whose dimension is split
  joined[d] *= count;
  const auto strides = layouts::view_strides(joined, dense_strides(joined, format), sizes);
  return empty_strided(sizes, strides.value(), dtype, tensors[0].device());
}

Tensor flip(const Tensor& self, const Dims& dims) {
  Dims flips(self.sizes().size(), 0);
  for (int64_t dim : dims) {
    const auto d = static_cast<size_t>(wrap_dim(dim, self.ndim(), "flip"));
    check(self.ndim() == 0 || !flips[d]++, "dim ", d,
          " appears multiple times in the list of dims");
  }
  return empty_like(self, self.dtype());
}

Tensor roll(const Tensor& self, const Dims& shifts, const std::optional<Dims>& dims) {
  check(!shifts.empty(), "roll: `shifts` required");
  const size_t count = dims ? dims->size() : 0;
  check(shifts.size() == std::max<size_t>(count, 1),
        "roll: shifts and dimensions must align. shifts: ", shifts.size(), ", dims: ", count);
  for (size_t i = 0; i < count; ++i) {
    wrap_dim((*dims)[i], self.ndim(), "roll");
    check_kind(self.ndim() > 0, ErrorKind::kIndex, "roll: dimension specified as ", (*dims)[i],
               " but tensor has no dimensions");
  }
  // Without elements the result is a clone; without dims, of the flattened tensor.
  const bool clones = self.numel() == 0 && (count > 0 || self.ndim() == 1);
  return clones ? empty_like(self, self.dtype(), self.device())
                : empty(self.sizes(), self.dtype(), self.device());
}

Tensor repeat(const Tensor& self, const Dims& repeats) {
  check(repeats.size() >= self.sizes().size(),
        "Number of dimensions of repeat dims can not be smaller than number of "
        "dimensions of tensor: ",
        repeats.size(), " < ", self.ndim());
  const size_t shift = repeats.size() - self.sizes().size();
  Dims sizes(repeats.size());
  for (size_t d = 0; d < sizes.size(); ++d) {
    check(repeats[d] >= 0, "repeat: negative number of repetitions ", repeats[d], " in ", repeats);
    const int64_t own = d < shift ? 1 : self.sizes()[d - shift];
    check(!__builtin_mul_overflow(repeats[d], own, &sizes[d]), "repeat: ", repeats[d],
          " times size ", own, " overflows");
  }
  return empty(sizes, self.dtype(), self.device());
}

}  // namespace uh::shapes

namespace uh::kernels {

void cat_out(KeySet, const std::vector<Tensor>& tensors, int64_t dim, const Tensor& out) {
  check_out_kind(tensors, out, "cat");
  write_joined(tensors, ops::cat(tensors, dim), out, "cat");
}
void stack_out(KeySet, const std::vector<Tensor>& tensors, int64_t dim, const Tensor& out) {
  const Tensor result = ops::stack(tensors, dim);
  check_out_kind(tensors, out, "stack");
  write_joined(tensors, result, out, "stack");
}

}  // namespace uh::kernels
