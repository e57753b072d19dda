// Stacking tensors of different ranks, and splitting them.
#include "backend/cpu/copy/elements.h"
#include "generated/kernels/arrange.h"
#include "generated/ops/arrange.h"
#include "generated/ops/copy.h"
#include "generated/ops/join.h"
#include "generated/ops/view.h"
#include "ops/view/layouts.h"

namespace uh::kernels {
namespace {

template <class F>
std::vector<Tensor> each(const std::vector<Tensor>& tensors, std::string_view op, const F& f) {
  check(!tensors.empty(), op, " expects a non-empty TensorList");
  std::vector<Tensor> out;
  for (const Tensor& t : tensors) out.push_back(f(t));
  return out;
}

// Returns pieces [cuts[i], cuts[i + 1]) of a dimension; empty if the end is before the start.
std::vector<Tensor> cut(const Tensor& self, int64_t dim, const std::vector<int64_t>& cuts) {
  std::vector<Tensor> out;
  for (size_t i = 0; i + 1 < cuts.size(); ++i)
    out.push_back(ops::slice(self, dim, cuts[i], cuts[i + 1], 1));
  return out;
}

int64_t cut_dim(const Tensor& self, int64_t dim) {
  check(self.ndim() > 0,
        "tensor_split expected at least a 1-dimensional tensor, but got a tensor "
        "with 0 dims");
  return wrap_dim(dim, self.ndim(), "tensor_split");
}

std::vector<Tensor> split_equally(const Tensor& self, int64_t sections, int64_t dim,
                                  std::string_view op) {
  check(sections != 0 && self.size(dim) % sections == 0, op, " attempted to split along dimension ",
        dim, ", but the size of the dimension ", self.size(dim),
        " is not divisible by the split_size ", sections, "!");
  return tensor_split_sections(KeySet(), self, sections, dim);
}

int64_t split_dim(const Tensor& self, int64_t dim, std::string_view op) {
  if (dim == 1 && self.ndim() == 1) return 0;  // hsplit of a vector
  check(self.ndim() > dim, op, " requires a tensor with at least ", dim == 1 ? 1 : dim + 1,
        " dimension but got a tensor with ", self.ndim(), " dimensions!");
  return dim;
}
int64_t hsplit_dim(const Tensor& self) { return split_dim(self, 1, "hsplit"); }
int64_t dsplit_dim(const Tensor& self) { return split_dim(self, 2, "dsplit"); }
int64_t vsplit_dim(const Tensor& self) {
  check(self.ndim() >= 2,
        "vsplit requires a tensor with at least 2 dimension but got a tensor "
        "with ",
        self.ndim(), " dimensions!");
  return 0;
}

// The arguments for cat: the tensors in their common rank, and the dimension.
struct Joined {
  std::vector<Tensor> tensors;
  int64_t dim;

  Tensor concatenated() const { return ops::cat(tensors, dim); }
  void into(const Tensor& out) const { ops::cat_out(tensors, dim, out); }
};

Joined side_by_side(const std::vector<Tensor>& tensors) {
  auto rows = each(tensors, "hstack", [](const Tensor& t) { return ops::atleast_1d(t); });
  const int64_t dim = rows[0].ndim() == 1 ? 0 : 1;
  return {std::move(rows), dim};
}
Joined below(const std::vector<Tensor>& tensors) {
  return {each(tensors, "vstack", [](const Tensor& t) { return ops::atleast_2d(t); }), 0};
}
Joined with_new_dimension(const std::vector<Tensor>& tensors) {
  return {each(tensors, "dstack", [](const Tensor& t) { return ops::atleast_3d(t); }), 2};
}
Joined as_columns(const std::vector<Tensor>& tensors) {
  const auto column = [](const Tensor& t) {
    return t.ndim() <= 1 ? ops::reshape(t, Dims{t.numel(), 1}) : t;
  };
  return {each(tensors, "column_stack", column), 1};
}

}  // namespace

Tensor atleast_1d(KeySet, const Tensor& self) {
  return self.ndim() == 0 ? ops::reshape(self, Dims{1}) : self;
}
Tensor atleast_2d(KeySet, const Tensor& self) {
  if (self.ndim() == 0) return ops::reshape(self, Dims{1, 1});
  return self.ndim() == 1 ? ops::unsqueeze(self, 0) : self;
}
Tensor atleast_3d(KeySet, const Tensor& self) {
  if (self.ndim() == 0) return ops::reshape(self, Dims{1, 1, 1});
  if (self.ndim() == 1) return ops::unsqueeze(ops::unsqueeze(self, 0), -1);
  return self.ndim() == 2 ? ops::unsqueeze(self, -1) : self;
}

Tensor hstack(KeySet, const std::vector<Tensor>& t) { return side_by_side(t).concatenated(); }
Tensor vstack(KeySet, const std::vector<Tensor>& t) { return below(t).concatenated(); }
Tensor dstack(KeySet, const std::vector<Tensor>& t) { return with_new_dimension(t).concatenated(); }
Tensor column_stack(KeySet, const std::vector<Tensor>& t) { return as_columns(t).concatenated(); }
void hstack_out(KeySet, const std::vector<Tensor>& t, const Tensor& out) {
  side_by_side(t).into(out);
}
void vstack_out(KeySet, const std::vector<Tensor>& t, const Tensor& out) { below(t).into(out); }
void dstack_out(KeySet, const std::vector<Tensor>& t, const Tensor& out) {
  with_new_dimension(t).into(out);
}
void column_stack_out(KeySet, const std::vector<Tensor>& t, const Tensor& out) {
  as_columns(t).into(out);
}

std::vector<Tensor> tensor_split_sections(KeySet, const Tensor& self, int64_t sections,
                                          int64_t dim) {
  dim = cut_dim(self, dim);
  check(sections > 0, "number of sections must be larger than 0, got ", sections);
  const int64_t size = self.size(dim), small = size / sections, larger = size % sections;
  layouts::check_pieces(sections, size, "tensor_split");
  std::vector<int64_t> cuts{0};
  for (int64_t i = 0; i < sections; ++i) cuts.push_back(cuts.back() + small + (i < larger));
  return cut(self, dim, cuts);
}

std::vector<Tensor> tensor_split_indices(KeySet, const Tensor& self, const Dims& indices,
                                         int64_t dim) {
  dim = cut_dim(self, dim);
  std::vector<int64_t> cuts{0};
  for (int64_t i : indices) cuts.push_back(i);
  cuts.push_back(self.size(dim));
  return cut(self, dim, cuts);
}

std::vector<Tensor> tensor_split_tensor(KeySet keys, const Tensor& self, const Tensor& at,
                                        int64_t dim) {
  check(at.dtype() == DType::kInt64,
        "tensor_split expected tensor_indices_or_sections to have dtype of long, but got ",
        name(at.dtype()));
  check(at.device() == Device::kCPU,
        "tensor_split expected tensor_indices_or_sections to be on cpu");
  check(at.ndim() <= 1,
        "tensor_split expected tensor_indices_or_sections to be a zero-dimensional "
        "or one-dimensional tensor, but got a tensor with ",
        at.ndim(), " dims");
  if (at.ndim() == 0) return tensor_split_sections(keys, self, read_scalar(at).to_int(), dim);
  const Tensor dense = as_contiguous(at);
  return tensor_split_indices(
      keys, self, Dims(IntSpan(dense.data_as<int64_t>(), static_cast<size_t>(dense.numel()))), dim);
}

std::vector<Tensor> hsplit_sections(KeySet, const Tensor& self, int64_t sections) {
  check(self.ndim() >= 1,
        "hsplit requires a tensor with at least 1 dimension, but got a tensor "
        "with 0 dimensions!");
  return split_equally(self, sections, hsplit_dim(self), "hsplit");
}
std::vector<Tensor> hsplit_indices(KeySet keys, const Tensor& self, const Dims& indices) {
  check(self.ndim() >= 1,
        "hsplit requires a tensor with at least 1 dimension, but got a tensor "
        "with 0 dimensions!");
  return tensor_split_indices(keys, self, indices, hsplit_dim(self));
}
std::vector<Tensor> vsplit_sections(KeySet, const Tensor& self, int64_t sections) {
  return split_equally(self, sections, vsplit_dim(self), "vsplit");
}
std::vector<Tensor> vsplit_indices(KeySet keys, const Tensor& self, const Dims& indices) {
  return tensor_split_indices(keys, self, indices, vsplit_dim(self));
}
std::vector<Tensor> dsplit_sections(KeySet, const Tensor& self, int64_t sections) {
  return split_equally(self, sections, dsplit_dim(self), "dsplit");
}
std::vector<Tensor> dsplit_indices(KeySet keys, const Tensor& self, const Dims& indices) {
  return tensor_split_indices(keys, self, indices, dsplit_dim(self));
}

}  // namespace uh::kernels
