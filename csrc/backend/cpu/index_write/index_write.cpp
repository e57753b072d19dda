// The operators of index_write.yaml: a 1-d index names slices of self.
#include "generated/kernels/index_write.h"
#include "backend/cpu/copy/elements.h"
#include "backend/cpu/scatter/scatter_indices.h"
#include "generated/ops/view.h"

namespace uh::kernels {
namespace {

// `source` in the shape that the walk has: a 0-d one stands for a single slice.
IntSpan strides_of(const Tensor& source) {
  return source.ndim() ? IntSpan(source.strides()) : IntSpan();
}

void check_overlap(const Tensor& self, const Tensor& index, const Tensor& source,
                   std::string_view op) {
  check_no_internal_overlap(self, op);
  check_no_overlap(self, index, op);
  check_no_overlap(self, source, op);
}

// What is read while `self` is written: a copy, where it shares memory with it.
Tensor apart(const Tensor& self, const Tensor& read) {
  return share_bytes(self, read) ? dense_copy(read) : read;
}

std::optional<IndexWalk> walk(const Tensor& self, int64_t dim, const Tensor& index,
                              const Tensor& source, std::string_view op) {
  if (self.is_meta() || source.numel() == 0 || self.numel() == 0) {
    if (!self.is_meta() && index.numel() > 0)
      check_places(walk_slices(self, dim, index, IntSpan()), op, ErrorKind::kIndex);
    return std::nullopt;
  }
  IndexWalk result = walk_slices(self, dim, index, strides_of(source));
  check_places(result, op, ErrorKind::kIndex);
  return result;
}

// What index_add and index_reduce ask for.
int64_t check_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                  std::string_view op) {
  const int64_t d = wrap_dim(dim, self.ndim(), op), n = index.numel();
  check_kind(index.ndim() <= 1, ErrorKind::kIndex, op,
             "(): Index is supposed to be a vector, but got dim: ", index.ndim(), " with sizes ",
             index.sizes());
  check_index_dtype(index, op);
  check(self.dtype() == source.dtype(), op,
        "(): self and source must have the same scalar type, got ", name(self.dtype()), " and ",
        name(source.dtype()));
  check(d == 0 || d < source.ndim(), op, "(): Indexing dim ", d,
        " is out of bounds of the source tensor with dim ", source.ndim());
  check_kind(n == 1 || source.ndim() > 0, ErrorKind::kIndex, "Dimension specified as ", d,
             " but tensor has no dimensions");
  check(n == (source.ndim() ? source.size(d) : 1), op, "(): Number of indices (", n,
        ") should be equal to source.size(dim): ", source.sizes(), " at dim ", d);
  if (self.ndim() == 0) {
    check(source.numel() == n, op, "(): source of shape ", source.sizes(),
          " does not fit slices of self of shape ", self.sizes());
    return d;
  }
  bool fits = source.ndim() == self.ndim();
  for (int64_t k = 0; fits && k < self.ndim(); ++k) fits = k == d || self.size(k) == source.size(k);
  check(fits, op,
        "(): source tensor shape must match self tensor shape, excluding the specified dimension. "
        "Got self.shape = ",
        self.sizes(), " source.shape = ", source.sizes());
  return d;
}

int64_t check_copy(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  const char* op = "index_copy";
  const int64_t d = wrap_dim(dim, self.ndim(), op), n = index.numel();
  check_overlap(self, index, source, op);
  check_kind(index.ndim() < 2, ErrorKind::kIndex, op,
             "(): Index should have dimension 1 or 0 (got ", index.ndim(), ")");
  check_kind(source.ndim() > 0 || n == 1, ErrorKind::kIndex, op,
             "(): When source is scalar, index should have one element (got ", n, ")");
  check_kind(source.ndim() == self.ndim() || source.ndim() == 0 || self.ndim() == 0,
             ErrorKind::kIndex, op,
             "(): When source and destination are not scalars, their dimensionality must match. "
             "Source dimensionality (",
             source.ndim(), "), destination dimensionality (", self.ndim(), ")");
  check(index.dtype() == DType::kInt64, op, "(): Expected a long tensor for index, but got ",
        name(index.dtype()));
  check(self.dtype() == source.dtype(), op,
        "(): self and source expected to have the same dtype, but got (self) ", name(self.dtype()),
        " and (source) ", name(source.dtype()));
  bool fits = true;
  for (int64_t k = 0; k < std::max(self.ndim(), source.ndim()); ++k) {
    if (k == d) continue;
    fits = fits && k < self.ndim() && k < source.ndim() && self.size(k) == source.size(k);
  }
  check(fits, op, "(): Source/destination tensor must have same slice shapes. Destination ",
        self.sizes(), " and source ", source.sizes(), " at dimension ", d);
  check_kind(source.ndim() == 0 || n == source.size(d), ErrorKind::kIndex, op,
             "(): Number of indices (", n,
             ") should be equal to source.size(dim): ", source.sizes(), " at dim ", d);
  return d;
}

// Negative indices made positive; the rest is for check_places to refuse.
Tensor wrapped(const Tensor& index, int64_t size) {
  const Tensor out = empty(Dims{index.numel()}, DType::kInt64);
  copy_elements(Strided(out.data(), out.dtype(), index.sizes(), contiguous_strides(index.sizes())),
                Strided(index));
  auto* positions = out.data_as<int64_t>();
  for (int64_t i = 0; i < out.numel(); ++i) {
    if (positions[i] < 0 && positions[i] >= -size) positions[i] += size;
  }
  return out;
}

Tensor like_copy(const Tensor& self) {
  Tensor out = empty_like(self, self.dtype());
  if (!out.is_meta()) copy_elements(out, self);
  return out;
}

Scalar single(const Tensor& value) {
  check(value.ndim() == 0,
        "index_fill: only supports a 0-dimensional value tensor, but got tensor with ",
        value.ndim(), " dimension(s): ", value.sizes());
  return value.is_meta() ? Scalar(0) : read_scalar(value);
}

// Alpha is converted to the dtype that is added, as in PyTorch.
void check_alpha(DType dtype, const Scalar& alpha) {
  check(dtype == DType::kBool || alpha.kind() != Scalar::Kind::kBool,
        "index_add: Boolean alpha only supported for Boolean results.");
  check(is_inexact(dtype) || !(alpha.is_float() || alpha.is_complex()),
        "index_add: For integral input tensors, argument alpha must not be a floating point "
        "number.");
  check(is_complex(dtype) || !alpha.is_complex(),
        "index_add: For non-complex input tensors, argument alpha must not be a complex number.");
}

}  // namespace

void index_add_into(KeySet, const Tensor& self, int64_t dim, const Tensor& index,
                    const Tensor& source, const Scalar& alpha) {
  const int64_t d = check_add(self, dim, index, source, "index_add");
  check_alpha(self.dtype(), alpha);
  check_overlap(self, index, source, "index_add");
  const Tensor values = apart(self, source);
  const auto positions = walk(self, d, apart(self, index), values, "index_add");
  if (!positions) return;
  fold_places(self, *positions, values.data(), Fused::kSum, alpha);
  record_write(self);
}

void index_copy_into(KeySet, const Tensor& self, int64_t dim, const Tensor& index,
                     const Tensor& source) {
  const int64_t d = check_copy(self, dim, index, source);
  const Tensor values = apart(self, source);
  const auto positions = walk(self, d, apart(self, index), values, "index_copy");
  if (!positions) return;
  assign_places(self, *positions, values.data());
  record_write(self);
}

void index_reduce_into(KeySet, const Tensor& self, int64_t dim, const Tensor& index,
                       const Tensor& source, const std::string& reduce, bool include_self) {
  const Fused op = index_word(reduce, "index_reduce");
  const int64_t d = check_add(self, dim, index, source, "index_reduce");
  check_overlap(self, index, source, "index_reduce");
  const Tensor values = apart(self, source);
  const auto positions = walk(self, d, apart(self, index), values, "index_reduce");
  if (!positions) return;
  if (!include_self) forget_places(self, *positions, op);
  fold_places(self, *positions, values.data(), op, Scalar(1));
  if (op == Fused::kMean) divide_by_hits(self, *positions, include_self);
  record_write(self);
}

void index_fill_into(KeySet, const Tensor& self, int64_t dim, const Tensor& index,
                     const Scalar& value) {
  const char* op = "index_fill";
  const int64_t d = wrap_dim(dim, self.ndim(), op);
  check_kind(index.dtype() == DType::kInt64, ErrorKind::kIndex, op,
             "(): Expected dtype int64 for index, got ", name(index.dtype()));
  check_kind(index.ndim() <= 1, ErrorKind::kIndex, op,
             "(): Index has to be a vector/scalar, got sizes ", index.sizes());
  check(is_complex(self.dtype()) || !value.is_complex(), op,
        "(): Converting complex Scalar to non-complex type is not supported");
  check_no_overlap(self, index, op);
  if (self.is_meta()) return;
  const ElementBytes bytes = element_bytes(value, self.dtype());
  const IndexWalk positions = walk_slices(self, d, wrapped(index, self.ndim() ? self.size(d) : 1),
                                          Dims(self.sizes().size(), 0));
  if (index.numel() > 0) check_places(positions, op, ErrorKind::kIndex);
  if (self.numel() == 0 || index.numel() == 0) return;
  assign_places(self, positions, bytes.data());
  record_write(self);
}

void index_fill_tensor_into(KeySet keys, const Tensor& self, int64_t dim, const Tensor& index,
                            const Tensor& value) {
  index_fill_into(keys, self, dim, index, single(value));
}

void put_into(KeySet, const Tensor& self, const Tensor& index, const Tensor& source,
              bool accumulate) {
  check(index.dtype() == DType::kInt64, "put_(): Expected a long tensor for index, but got ",
        name(index.dtype()));
  check(self.dtype() == source.dtype(),
        "put_(): self and source expected to have the same dtype, but got self.dtype = ",
        name(self.dtype()), " and source.dtype = ", name(source.dtype()));
  check_kind(index.numel() == source.numel(), ErrorKind::kIndex,
             "put_(): Expected source and index to have the same number of elements, but got "
             "source.numel() = ",
             source.numel(), ", index.numel() = ", index.numel());
  check_kind(self.numel() > 0 || index.numel() == 0, ErrorKind::kIndex,
             "put_(): Tried to put elements into an empty tensor");
  check_overlap(self, index, source, "put_");
  if (self.is_meta() || index.numel() == 0) return;
  // If it is not dense, a flat copy takes the values and returns them.
  const Tensor dense = as_contiguous(self), values = as_contiguous(apart(self, source));
  const Tensor flat = ops::view(dense, {-1});
  const IndexWalk positions =
      walk_places(flat, 0, wrapped(ops::reshape(index, {-1}), self.numel()), Dims{1});
  check_places(positions, "put_", ErrorKind::kIndex);
  if (accumulate)
    fold_places(flat, positions, values.data(), Fused::kSum, Scalar(1));
  else
    assign_places(flat, positions, values.data());
  if (!dense.is_same(self)) copy_elements(self, dense);
  record_write(self);
}

Tensor index_fill(KeySet keys, const Tensor& self, int64_t dim, const Tensor& index,
                  const Scalar& value) {
  Tensor out = like_copy(self);
  index_fill_into(keys, out, dim, index, value);
  return out;
}

Tensor index_fill_tensor(KeySet keys, const Tensor& self, int64_t dim, const Tensor& index,
                         const Tensor& value) {
  return index_fill(keys, self, dim, index, single(value));
}

Tensor put(KeySet keys, const Tensor& self, const Tensor& index, const Tensor& source,
           bool accumulate) {
  Tensor out = like_copy(self);
  put_into(keys, out, index, source, accumulate);
  return out;
}

}  // namespace uh::kernels
