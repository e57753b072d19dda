// Reading and writing by index tensors on an OpenCL device: gather, scatter, index and related
// operators, embeddings, masks.
#include <algorithm>

#include "backend/opencl/copy.h"
#include "backend/opencl/kernel_calls.h"
#include "backend/opencl/registration.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/comparison.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/index.h"
#include "generated/ops/view.h"
#include "generated/structured/embedding.h"
#include "generated/structured/gather.h"
#include "generated/structured/index_write.h"
#include "generated/structured/masked.h"
#include "generated/structured/scatter.h"
#include "memory/device_registry.h"
#include "ops/copy/any_device.h"
#include "ops/geometry.h"
#include "ops/index/plan.h"
#include "ops/index/shapes.h"
#include "ops/overlap.h"
#include "ops/scatter/reduction.h"

namespace uh::opencl {
namespace {

constexpr size_t kIndexDims = 12;  // MAX_DIMS of index.cl

// The struct that index.cl declares.
struct Walk {
  int64_t rank = 0, along = 0, size = 0;
  int64_t first = 0, span = 1;
  int64_t wrapped = 0;
  int64_t sizes[kIndexDims] = {}, index[kIndexDims] = {};
  int64_t dense[kIndexDims] = {}, table[kIndexDims] = {};

  void add(int64_t n, int64_t index_step, int64_t dense_step, int64_t table_step) {
    check(rank < static_cast<int64_t>(kIndexDims), "opencl: more than ", kIndexDims, " dimensions");
    const auto d = static_cast<size_t>(rank++);
    sizes[d] = n;
    index[d] = index_step;
    dense[d] = dense_step;
    table[d] = table_step;
  }
  bool runs(size_t d) const {
    const auto at = static_cast<int64_t>(d);
    return at >= first && at < first + span;
  }
  int64_t numel() const {
    int64_t n = 1;
    for (size_t d = 0; d < static_cast<size_t>(rank); ++d) n *= sizes[d];
    return n;
  }
  // The number of values in a line, and the number of lines.
  int64_t line() const {
    int64_t n = 1;
    for (size_t d = 0; d < static_cast<size_t>(rank); ++d) n *= runs(d) ? sizes[d] : 1;
    return n;
  }
};

int64_t stride_of(const Tensor& t, int64_t d) { return d < t.ndim() ? t.stride(d) : 0; }

// For an index with as many dimensions as the table; `dense` has at least the sizes of the index.
Walk walk_places(const Tensor& table, int64_t dim, const Tensor& index, const Tensor& dense) {
  Walk w;
  w.first = dim;
  w.along = stride_of(table, dim);
  w.size = table.ndim() ? table.size(dim) : 1;
  for (int64_t d = 0; d < std::max<int64_t>(index.ndim(), 1); ++d)
    w.add(index.ndim() ? index.size(d) : 1, stride_of(index, d), stride_of(dense, d),
          d == dim ? 0 : stride_of(table, d));
  return w;
}

// For a 1-d index of slices; `dense` has the sizes of the table, but at dim that of the index.
Walk walk_slices(const Tensor& table, int64_t dim, const Tensor& index, const Tensor& dense) {
  Walk w;
  w.first = dim;
  w.along = stride_of(table, dim);
  w.size = table.ndim() ? table.size(dim) : 1;
  for (int64_t d = 0; d < std::max<int64_t>(table.ndim(), 1); ++d) {
    const bool own = d == dim;
    w.add(own ? index.numel() : table.size(d), own ? stride_of(index, 0) : 0, stride_of(dense, d),
          own ? 0 : stride_of(table, d));
  }
  return w;
}

Tensor places_of(const Tensor& index) {
  if (index.dtype() == DType::kInt64) return index;
  return contiguous(index, DType::kInt64);
}

// fail(number) throws for an index out of range. Null: the indices have been checked, so the host
// does not wait.
template <class F>
void read_places(const Tensor& table, const Tensor& index, const Walk& w, const Tensor& out,
                 const F& fail) {
  static const Source source{sources::index, "gather"};
  const int64_t n = w.numel();
  if (n == 0) return;
  const IndexCheck outside(out.device());
  launch_items(source.kernel(out.device(), Defines().text("E", bytes_type(out.dtype()))), n, table,
               index, out, outside.tensor(), w);
  if constexpr (!std::is_null_pointer_v<F>) outside.finish(fail);
}

const char* combination(Fused op) {
  switch (op) {
    case Fused::kProd: return "(a) * (b)";
    case Fused::kMax: return "((b) > (a) || (b) != (b) ? (b) : (a))";
    case Fused::kMin: return "((b) < (a) || (b) != (b) ? (b) : (a))";
    default: return "(a) + (b) * factor";
  }
}

// The number of work items per line: several if there are too few lines to occupy the device.
int64_t parts_of(const Kernel& kernel, int64_t lines, int64_t size) {
  const int64_t enough = kernel.device.is_cpu ? kernel.device.compute_units : int64_t{16384};
  return std::clamp<int64_t>(enough / std::max<int64_t>(1, lines), 1,
                             std::max<int64_t>(1, std::min<int64_t>(size, 256)));
}

// Writes values to the positions of the table, in order: combined by `op`, or else assigned.
template <class F>
void write_places(const Tensor& table, const Tensor& index, const Walk& w, const Tensor& values,
                  std::optional<Fused> op, double factor, int64_t skipped, const F& fail) {
  static const Source source{sources::index, "scatter"};
  const int64_t all = w.numel();
  if (all == 0) return;
  Defines lines;
  if (op) {
    lines.dtype("T", table.dtype());
    lines.text("COMBINE(a, b)", combination(*op));
  } else {
    lines.text("T_STORED", bytes_type(table.dtype())).text("T", "float").text("ASSIGN", "1");
  }
  const Kernel& kernel = source.kernel(table.device(), lines);
  const IndexCheck outside(table.device());
  const int64_t length = w.line(), count = all / length, parts = parts_of(kernel, count, w.size);
  const auto run = [&](const auto& number) {
    const size_t group = kernel.device.is_cpu ? 1 : 64;
    launch(kernel, items_of(count * parts, group), table, index, values, outside.tensor(), w,
           number, skipped, parts, count, length);
  };
  const DType dtype = op ? table.dtype() : DType::kFloat32;
  if (dtype == DType::kFloat64)
    run(factor);
  else if (is_floating(dtype))
    run(static_cast<float>(factor));
  else if (dtype == DType::kInt64)
    run(static_cast<int64_t>(factor));
  else if (dtype == DType::kInt32)
    run(static_cast<int32_t>(factor));
  else if (dtype == DType::kInt16)
    run(static_cast<int16_t>(factor));
  else if (dtype == DType::kInt8)
    run(static_cast<int8_t>(factor));
  else
    run(static_cast<uint8_t>(factor));
  if constexpr (!std::is_null_pointer_v<F>) outside.finish(fail);
}

constexpr int64_t kNoneSkipped = INT64_MIN;

// Throws the error for an index that a kernel found outside of the dimension.
auto out_of_bounds(std::string_view op, ErrorKind kind, int64_t dim, int64_t size) {
  return [=](int64_t index) {
    fail(kind, op, ": index ", index, " is out of bounds for dimension ", dim, " with size ", size);
  };
}

// ---- reading

void gather(const Tensor& self, int64_t dim, const Tensor& index, bool, const Tensor& result) {
  const int64_t d = wrap_dim(dim, self.ndim(), "gather");
  const Tensor positions = places_of(index);
  const Walk w = walk_places(self, d, positions, result);
  read_places(self, positions, w, result, out_of_bounds("gather", ErrorKind::kRuntime, d, w.size));
}

void index_select(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& result) {
  const int64_t d = wrap_dim(dim, self.ndim(), "index_select");
  const Tensor positions = places_of(index);
  const Walk w = walk_slices(self, d, positions, result);
  read_places(self, positions, w, result,
              out_of_bounds("index_select", ErrorKind::kIndex, d, w.size));
}

void take(const Tensor& self, const Tensor& index, const Tensor& result) {
  if (result.numel() == 0) return;
  const Tensor flat = ops::view(contiguous(self), {-1});
  const Tensor positions = ops::view(contiguous(index), {-1});
  Walk w = walk_places(flat, 0, positions, ops::view(result, {-1}));
  w.wrapped = 1;
  read_places(flat, positions, w, result, [&](int64_t position) {
    fail(ErrorKind::kIndex, "take(): out of range: tried to access index ", position,
         " on a tensor of ", flat.numel(), " elements.");
  });
}

auto not_a_row(std::string_view op, int64_t rows) {
  return [=](int64_t index) {
    fail(ErrorKind::kIndex, op, ": index out of range in self: ", index,
         " is not a row of a table of ", rows);
  };
}

void embedding(const Tensor& weight, const Tensor& indices, int64_t, bool, bool,
               const Tensor& result) {
  if (indices.numel() == 0) return;
  const Tensor positions = ops::view(contiguous(indices, DType::kInt64), {-1});
  const Tensor rows = ops::view(result, {positions.numel(), weight.size(1)});
  read_places(weight, positions, walk_slices(weight, 0, positions, rows), rows,
              not_a_row("embedding", weight.size(0)));
}

void embedding_dense_backward(const Tensor& grad_output, const Tensor& indices, int64_t,
                              int64_t padding_idx, bool, const Tensor& result) {
  if (result.numel() == 0) return;
  fill({}, result, Scalar(0));
  if (indices.numel() == 0) return;
  const Tensor positions = ops::view(contiguous(indices, DType::kInt64), {-1});
  const DType compute = is_reduced_floating(result.dtype()) ? DType::kFloat32 : result.dtype();
  const Tensor sums =
      compute == result.dtype() ? result : zeros_on(result.sizes(), compute, result.device());
  const Tensor rows =
      ops::view(contiguous(grad_output, compute), {positions.numel(), grad_output.sizes().back()});
  write_places(sums, positions, walk_slices(sums, 0, positions, rows), rows, Fused::kSum, 1,
               padding_idx < 0 ? kNoneSkipped : padding_idx,
               not_a_row("embedding_backward", result.size(0)));
  if (!sums.is_same(result)) copy_elements(result, sums);
}

// ---- writing

void scatter(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
             std::optional<Fused> op, std::string_view name) {
  if (index.numel() == 0) return;
  const int64_t d = wrap_dim(dim, self.ndim(), name);
  const Tensor positions = places_of(index);
  const Walk w = walk_places(self, d, positions, src);
  write_places(self, positions, w, src, op, 1, kNoneSkipped,
               out_of_bounds(name, ErrorKind::kRuntime, d, w.size));
}

// One number for all positions.
Tensor number_on(const Tensor& self, const Scalar& value) {
  const Tensor number = empty(Dims(), self.dtype(), self.device());
  fill({}, number, value);
  return number;
}

void scatter_src(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  scatter(self, dim, index, src, std::nullopt, "scatter");
}
void scatter_value(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
  scatter(self, dim, index, number_on(self, value), std::nullopt, "scatter");
}
void scatter_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  scatter(self, dim, index, src, Fused::kSum, "scatter_add");
}
void scatter_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                    const std::string& reduce) {
  scatter(self, dim, index, src, scatter_word(reduce, "scatter"), "scatter");
}
void scatter_value_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value,
                          const std::string& reduce) {
  scatter(self, dim, index, number_on(self, value), scatter_word(reduce, "scatter"), "scatter");
}
void scatter_reduce_two(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                        const std::string& reduce, bool) {
  scatter(self, dim, index, src, reduce_word(reduce, "scatter_reduce"), "scatter_reduce");
}

void write_slices(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                  std::optional<Fused> op, double factor, std::string_view name) {
  if (source.numel() == 0 || self.numel() == 0) return;
  const int64_t d = wrap_dim(dim, self.ndim(), name);
  const Tensor values = apart(self, source), positions = apart(self, places_of(index));
  const Walk w = walk_slices(self, d, positions, values);
  write_places(self, positions, w, values, op, factor, kNoneSkipped,
               out_of_bounds(name, ErrorKind::kIndex, d, w.size));
}

void index_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
               const Scalar& alpha) {
  write_slices(self, dim, index, source, Fused::kSum, alpha.to_double(), "index_add");
}
void index_copy(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  write_slices(self, dim, index, source, std::nullopt, 1, "index_copy");
}

// ---- advanced indexing

// For one index per leading dimension, without masks: a mask determines the number of elements.
bool has_plain_indices(const Tensor& self, const std::vector<Tensor>& indices) {
  bool any = false;
  for (const Tensor& t : indices) {
    if (!t) continue;
    any = true;
    if (is_mask(t) || !is_integral(t.dtype())) return false;
    if (t.device() != self.device() && !is_host(t.device())) return false;
  }
  return any && static_cast<int64_t>(indices.size()) <= self.ndim();
}

struct Positions {
  IndexPlan plan;
  Tensor positions;  // offsets into self, in elements, at the broadcast index
  Walk walk;
};

// Prepares the iteration over `dense`, which has the result's sizes, and checks the indices.
Positions positions_of(const Tensor& self, std::vector<Tensor> indices) {
  indices.resize(self.sizes().size());
  Positions p{plan_indices(self, indices), Tensor(), {}};
  int64_t reach = 1;
  for (size_t d = 0; d < indices.size(); ++d) {
    if (!indices[d]) continue;
    const auto dim = static_cast<int64_t>(d);
    const int64_t size = self.size(dim), stride = self.stride(dim);
    // The offset of each index: an element of the table 0, stride, 2 * stride...
    const Tensor offsets =
        ops::mul(ops::arange(Scalar(0), Scalar(size), Scalar(1), DType::kInt64, self.device()),
                 Scalar(stride));
    const Tensor index =
        is_host(indices[d].device())
            ? ops::_to_copy(indices[d], DType::kInt64, self.device(), MemoryFormat::kContiguous)
            : contiguous(indices[d], DType::kInt64);
    const Tensor flat = ops::view(index, {-1});
    const Tensor led = empty(flat.sizes(), DType::kInt64, self.device());
    Walk w = walk_slices(offsets, 0, flat, led);
    w.wrapped = 1;
    read_places(offsets, flat, w, led, [&](int64_t position) {
      fail(ErrorKind::kIndex, "index ", position, " is out of bounds for dimension ", dim,
           " with size ", size);
    });
    const Tensor shaped = ops::view(led, index.sizes());
    p.positions = p.positions ? ops::add(p.positions, shaped, Scalar(1)) : shaped;
    reach += std::max<int64_t>(size - 1, 0) * stride;
  }
  p.positions = contiguous(ops::expand(p.positions, p.plan.index_sizes, false));
  p.walk.along = 1;
  p.walk.size = reach;
  return p;
}

void lay_out(Positions& p, const Dims& strides) {
  Walk& w = p.walk;
  size_t at = 0;
  for (size_t d = 0; d < p.plan.before.size(); ++d)
    w.add(p.plan.before[d], 0, strides[at++], p.plan.before_strides[d]);
  w.first = w.rank;
  const Dims own = contiguous_strides(p.plan.index_sizes);
  for (size_t d = 0; d < own.size(); ++d) w.add(p.plan.index_sizes[d], own[d], strides[at++], 0);
  w.span = w.rank - w.first;
  for (size_t d = 0; d < p.plan.after.size(); ++d)
    w.add(p.plan.after[d], 0, strides[at++], p.plan.after_strides[d]);
}

Tensor index(KeySet, const Tensor& self, const std::vector<Tensor>& indices) {
  Positions p = positions_of(self, indices);
  const Tensor out =
      empty_strided(p.plan.result_sizes(), p.plan.result_strides(), self.dtype(), self.device());
  lay_out(p, out.strides());
  read_places(self, p.positions, p.walk, out, nullptr);
  record_write(out);
  return out;
}

void index_put_inplace(KeySet, const Tensor& self, const std::vector<Tensor>& indices,
                       const Tensor& values, bool accumulate) {
  shapes::index_put_inplace(self, indices, values, accumulate);
  Positions p = positions_of(self, indices);
  const Dims sizes = p.plan.result_sizes();
  const Tensor source = apart(self, values);
  lay_out(p, broadcast_strides(source.sizes(), source.strides(), sizes.size()));
  write_places(self, p.positions, p.walk, source,
               accumulate ? std::optional(Fused::kSum) : std::nullopt, 1, kNoneSkipped, nullptr);
  record_write(self);
}

Tensor index_put(KeySet keys, const Tensor& self, const std::vector<Tensor>& indices,
                 const Tensor& values, bool accumulate) {
  const Tensor out = empty_like(self, self.dtype());
  copy_elements(out, self);
  index_put_inplace(keys, out, indices, values, accumulate);
  return out;
}

// ---- masks

void masked_fill(const Tensor& self, const Tensor& mask, const Scalar& value,
                 const Tensor& result) {
  if (result.numel() == 0) return;
  copy_elements(result, ops::where(mask, number_on(self, value), self));
}
void masked_fill_inplace(const Tensor& self, const Tensor& mask, const Scalar& value) {
  masked_fill(self, mask, value, self);
}
void masked_fill_tensor(const Tensor& self, const Tensor& mask, const Tensor& value,
                        const Tensor& result) {
  if (result.numel() == 0) return;
  const Tensor number = empty(Dims(), self.dtype(), self.device());
  ops::copy_(number, value, false);
  copy_elements(result, ops::where(mask, number, self));
}
void masked_fill_tensor_inplace(const Tensor& self, const Tensor& mask, const Tensor& value) {
  masked_fill_tensor(self, mask, value, self);
}

constexpr auto kIndexed = [](const Tensor& self, const std::vector<Tensor>& indices,
                             const auto&...) { return has_plain_indices(self, indices); };
constexpr auto kPut = [](const Tensor& self, const std::vector<Tensor>& indices, const Tensor&,
                         bool accumulate) {
  return has_plain_indices(self, indices) && (!accumulate || is_real(self));
};
constexpr auto kReducedTwo = [](const Tensor& self, int64_t, const Tensor&, const Tensor&,
                                const std::string& reduce, bool include_self) {
  return is_real(self) && include_self && reduce != "mean";
};
constexpr auto kDenseRows = [](const Tensor& grad, const Tensor&, int64_t, int64_t, bool by_freq) {
  return is_computed(grad) && !by_freq;
};
constexpr auto kRealAlpha = [](const Tensor& self, int64_t, const Tensor&, const Tensor&,
                               const Scalar&) { return is_real(self); };

}  // namespace

void register_index() {
  namespace s = structured;
  constexpr Key kKey = Key::kOpenCL;
  s::register_gather<gather>(kKey, "opencl gather");
  s::register_index_select<index_select>(kKey, "opencl index_select");
  s::register_take<take>(kKey, "opencl take");
  s::register_embedding<embedding>(kKey, "opencl embedding");
  register_partial<ops::embedding_dense_backward_op, kDenseRows,
                   s::embedding_dense_backward<embedding_dense_backward>>(
      "opencl embedding_dense_backward");
  s::register_scatter_src<scatter_src>(kKey, "opencl scatter");
  s::register_scatter_value<scatter_value>(kKey, "opencl scatter");
  register_partial<ops::scatter_add_op, kRealFirst, s::scatter_add<scatter_add>>(
      "opencl scatter_add");
  register_partial<ops::scatter_add__op, kRealFirst, s::scatter_add_<scatter_add>>(
      "opencl scatter_add_");
  register_partial<ops::scatter_reduce_op, kRealFirst, s::scatter_reduce<scatter_reduce>>(
      "opencl scatter");
  register_partial<ops::scatter_value_reduce_op, kRealFirst,
                   s::scatter_value_reduce<scatter_value_reduce>>("opencl scatter");
  register_partial<ops::scatter__reduce_op, kRealFirst, s::scatter__reduce<scatter_reduce>>(
      "opencl scatter_");
  register_partial<ops::scatter__value_reduce_op, kRealFirst,
                   s::scatter__value_reduce<scatter_value_reduce>>("opencl scatter_");
  register_partial<ops::scatter_reduce_two_op, kReducedTwo,
                   s::scatter_reduce_two<scatter_reduce_two>>("opencl scatter_reduce");
  register_partial<ops::scatter_reduce__two_op, kReducedTwo,
                   s::scatter_reduce__two<scatter_reduce_two>>("opencl scatter_reduce_");
  register_partial<ops::index_add_op, kRealAlpha, s::index_add<index_add>>("opencl index_add");
  register_partial<ops::index_add__op, kRealAlpha, s::index_add_<index_add>>("opencl index_add_");
  s::register_index_copy<index_copy>(kKey, "opencl index_copy");
  register_partial<ops::index_op, kIndexed, index>("opencl index");
  register_partial<ops::index_put_op, kPut, index_put>("opencl index_put");
  register_partial<ops::index_put__op, kPut, index_put_inplace>("opencl index_put_");
  s::register_masked_fill_Scalar<masked_fill>(kKey, "opencl masked_fill");
  s::register_masked_fill__Scalar<masked_fill_inplace>(kKey, "opencl masked_fill_");
  s::register_masked_fill<masked_fill_tensor>(kKey, "opencl masked_fill");
  s::register_masked_fill_<masked_fill_tensor_inplace>(kKey, "opencl masked_fill_");
}

}  // namespace uh::opencl
