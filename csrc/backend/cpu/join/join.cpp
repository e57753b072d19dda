// The operators of join.yaml. Each lays its inputs into parts of one new tensor.
#include "generated/kernels/join.h"
#include "ops/copy/copy.h"

namespace uh::kernels {
namespace {

// PyTorch lets cat skip 1-d tensors without elements whatever the others' rank.
bool is_skipped(const Tensor& t) { return t.ndim() == 1 && t.size(0) == 0; }

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

// The part of `whole` that starts at `start` along `dim` and has `sizes`.
Strided part_of(const Tensor& full, Dims sizes, size_t dim, int64_t start) {
  Strided part(full.data(), full.dtype(), std::move(sizes), full.strides());
  part.advance(start * full.strides()[dim]);
  return part;
}

// The memory format that all inputs share, when it is channels_last.
MemoryFormat common_format(const std::vector<Tensor>& tensors) {
  for (MemoryFormat format : {MemoryFormat::kChannelsLast, MemoryFormat::kChannelsLast3d}) {
    bool all = true;
    for (const Tensor& t : tensors) all = all && !t.is_contiguous() && is_contiguous(t, format);
    if (all) return format;
  }
  return MemoryFormat::kContiguous;
}

// PyTorch raises a TypeError here, where other operators raise a RuntimeError.
void check_out(const std::vector<Tensor>& tensors, const Tensor& out, std::string_view op) {
  const DType dtype = common_dtype(tensors);
  check_kind(tensors.empty() || category(dtype) <= category(out.dtype()), ErrorKind::kType, op,
             ": input types can't be cast to the desired output type ", info(out.dtype()).title);
  for (const Tensor& t : tensors) {
    check(!t.is_same(out), op,
          ": unsupported operation: the input tensor and the written-to tensor refer to a single "
          "memory location. Please clone() the tensor before performing the operation.");
    check_no_overlap(out, t, op);
  }
}

}  // namespace

Tensor cat(KeySet, const std::vector<Tensor>& tensors, int64_t dim) {
  check_kind(!tensors.empty(), ErrorKind::kValue, "cat(): expected a non-empty list of Tensors");
  check_device(tensors, "cat");
  const Tensor* model = &tensors[0];
  size_t position = 0;
  for (size_t i = 0; i < tensors.size() && is_skipped(*model); ++i) model = &tensors[position = i];
  if (is_skipped(*model)) model = &tensors[position = 0];
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
  Tensor out = empty(sizes, common_dtype(tensors), model->device(), common_format(tensors));
  if (out.is_meta()) return out;
  int64_t start = 0;
  for (const Tensor& t : tensors) {
    if (is_skipped(t)) continue;
    copy_elements(part_of(out, t.sizes(), d, start), Strided(t));
    start += t.sizes()[d];
  }
  record_write(out);
  return out;
}

Tensor stack(KeySet, const std::vector<Tensor>& tensors, int64_t dim) {
  check(!tensors.empty(), "stack expects a non-empty TensorList");
  check_device(tensors, "stack");
  const Dims& each = tensors[0].sizes();
  for (size_t i = 1; i < tensors.size(); ++i) {
    check(tensors[i].sizes() == each, "stack expects each tensor to be equal size, but got ", each,
          " at entry 0 and ", tensors[i].sizes(), " at entry ", i);
  }
  const auto d = static_cast<size_t>(wrap_dim(dim, each.ndim() + 1, "stack"));
  Dims sizes = each;
  sizes.insert(d, static_cast<int64_t>(tensors.size()));
  Tensor out = empty(sizes, common_dtype(tensors), tensors[0].device());
  if (out.is_meta()) return out;
  Dims strides = out.strides();
  const int64_t step = strides[d];
  strides.erase(d);
  for (size_t i = 0; i < tensors.size(); ++i) {
    Strided part(out.data(), out.dtype(), each, strides);
    copy_elements(part.advance(static_cast<int64_t>(i) * step), Strided(tensors[i]));
  }
  record_write(out);
  return out;
}

Tensor flip(KeySet, const Tensor& self, const Dims& dims) {
  Tensor out = empty_like(self, self.dtype());
  Strided source(self);
  Dims seen(self.sizes().size(), 0);
  for (int64_t dim : dims) {
    const int64_t wrapped = wrap_dim(dim, self.ndim(), "flip");
    if (self.ndim() == 0) continue;
    const auto d = static_cast<size_t>(wrapped);
    check(!seen[d]++, "dim ", d, " appears multiple times in the list of dims");
    if (self.numel() && !self.is_meta()) source.advance((self.sizes()[d] - 1) * self.strides()[d]);
    source.strides[d] = -source.strides[d];
  }
  if (out.is_meta()) return out;
  copy_elements(Strided(out), source);
  record_write(out);
  return out;
}

Tensor roll(KeySet keys, const Tensor& self, const Dims& shifts, const std::optional<Dims>& dims) {
  check(!shifts.empty(), "roll: `shifts` required");
  if (!dims || dims->empty()) {
    check(shifts.size() == 1, "roll: shifts and dimensions must align. shifts: ", shifts.size(),
          ", dims: 0");
    const int64_t n = self.numel();
    Tensor out = empty(self.sizes(), self.dtype(), self.device());
    if (out.is_meta() || n == 0) return out;
    const Tensor row = as_contiguous(self);
    const int64_t split = (n - (shifts[0] % n + n) % n) % n;  // the element that comes first
    const auto piece = [](const Tensor& t, int64_t start, int64_t count) {
      Strided part(t.data(), t.dtype(), Dims{count}, Dims{1});
      return part.advance(start);
    };
    copy_elements(piece(out, 0, n - split), piece(row, split, n - split));
    copy_elements(piece(out, n - split, split), piece(row, 0, split));
    record_write(out);
    return out;
  }
  check(shifts.size() == dims->size(),
        "roll: shifts and dimensions must align. shifts: ", shifts.size(),
        ", dims: ", dims->size());
  if (shifts.size() > 1) {  // one dimension after the other
    Tensor rolled = self;
    for (size_t i = 0; i < shifts.size(); ++i)
      rolled = roll(keys, rolled, {shifts[i]}, Dims{(*dims)[i]});
    return rolled;
  }
  const auto d = static_cast<size_t>(wrap_dim((*dims)[0], self.ndim(), "roll"));
  check_kind(self.ndim() > 0, ErrorKind::kIndex, "roll: dimension specified as ", (*dims)[0],
             " but tensor has no dimensions");
  Tensor out = empty(self.sizes(), self.dtype(), self.device());
  if (out.is_meta() || out.numel() == 0) return out;
  const int64_t n = self.sizes()[d], split = (n - (shifts[0] % n + n) % n) % n;
  const auto move = [&](int64_t to, int64_t from, int64_t count) {
    Dims sizes = self.sizes();
    sizes[d] = count;
    copy_elements(part_of(out, sizes, d, to), part_of(self, sizes, d, from));
  };
  move(0, split, n - split);
  move(n - split, 0, split);
  record_write(out);
  return out;
}

Tensor repeat(KeySet, const Tensor& self, const Dims& repeats) {
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
  Tensor out = empty(sizes, self.dtype(), self.device());
  if (out.is_meta() || out.numel() == 0) return out;
  // Each dimension is seen as (repeat, size): the source stands still along the first.
  Dims split, out_strides, in_strides;
  for (size_t d = 0; d < sizes.size(); ++d) {
    const int64_t own = d < shift ? 1 : self.sizes()[d - shift];
    split.push_back(repeats[d]);
    split.push_back(own);
    out_strides.push_back(out.strides()[d] * own);
    out_strides.push_back(out.strides()[d]);
    in_strides.push_back(0);
    in_strides.push_back(d < shift ? 0 : self.strides()[d - shift]);
  }
  copy_elements(Strided(out.data(), out.dtype(), split, out_strides),
                Strided(self.data(), self.dtype(), split, in_strides));
  record_write(out);
  return out;
}

void cat_out(KeySet keys, const std::vector<Tensor>& tensors, int64_t dim, const Tensor& out) {
  check_out(tensors, out, "cat");
  write_out(out, cat(keys, tensors, dim), "cat");
}
void stack_out(KeySet keys, const std::vector<Tensor>& tensors, int64_t dim, const Tensor& out) {
  check_out(tensors, out, "stack");
  write_out(out, stack(keys, tensors, dim), "stack");
}

}  // namespace uh::kernels
