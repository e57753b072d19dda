// Repetition, meshgrid, cartesian_prod and combinations.
#include <new>
#include <numeric>

#include "backend/cpu/copy/elements.h"
#include "generated/kernels/arrange.h"
#include "generated/ops/arrange.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/gather.h"
#include "generated/ops/join.h"
#include "generated/ops/view.h"
#include "memory/device_registry.h"

namespace uh::kernels {
namespace {

Tensor indices(std::vector<int64_t> values, DType dtype) {
  const auto n = static_cast<int64_t>(values.size());
  Tensor out = empty(Dims{n}, dtype);
  cast_run(out.data(), dtype, values.data(), DType::kInt64, n);
  record_write(out);
  return out;
}

}  // namespace

Tensor repeat_counts(KeySet, const Tensor& repeats, std::optional<int64_t> output_size) {
  check(repeats.ndim() == 1, "repeat_interleave only accept 1D vector as repeat, got sizes ",
        repeats.sizes());
  check(repeats.dtype() == DType::kInt64 || repeats.dtype() == DType::kInt32,
        "repeats has to be Long or Int tensor, got ", name(repeats.dtype()));
  if (repeats.is_meta()) {
    check_kind(output_size.has_value(), ErrorKind::kNotImplemented,
               "repeat_interleave: the size of the result depends on the counts, which a meta "
               "tensor does not have");
    return empty(Dims{*output_size}, repeats.dtype(), Device::kMeta);
  }
  const Tensor counts = as_contiguous(repeats, DType::kInt64);
  std::vector<int64_t> values;
  int64_t total = 0;
  for (int64_t i = 0; i < counts.numel(); ++i) {
    const int64_t count = counts.data_as<int64_t>()[i];
    check(count >= 0, "repeats can not be negative, got ", count, " at index ", i);
    check(!__builtin_add_overflow(total, count, &total), "repeat_interleave: the counts overflow");
  }
  check(!output_size || *output_size == total, "repeat_interleave: output_size is ",
        output_size.value_or(0), " but the counts add up to ", total);
  checked_numel({&total, 1}, "repeat_interleave");
  if (static_cast<size_t>(total) > values.max_size()) throw std::bad_alloc();
  values.reserve(static_cast<size_t>(total));
  for (int64_t i = 0; i < counts.numel(); ++i)
    values.insert(values.end(), static_cast<size_t>(counts.data_as<int64_t>()[i]), i);
  return indices(std::move(values), repeats.dtype());
}

Tensor repeat_interleave_tensor(KeySet, const Tensor& self, const Tensor& repeats,
                                std::optional<int64_t> dim, std::optional<int64_t> output_size) {
  const Tensor input = dim ? self : ops::flatten(self, 0, -1);
  const Tensor source = input.ndim() == 0 ? ops::unsqueeze(input, 0) : input;
  const int64_t d = wrap_dim(dim.value_or(0), input.ndim(), "repeat_interleave");
  Tensor counts = repeats;
  if (repeats.ndim() == 0 || (repeats.ndim() == 1 && repeats.size(0) == 1)) {
    counts = ops::expand(ops::reshape(repeats, Dims{1}), Dims{source.size(d)}, false);
  } else {
    check(repeats.ndim() == 1, "repeats must be 0-dim or 1-dim tensor, got ", repeats.ndim(),
          " dimensions");
    check(repeats.size(0) == source.size(d),
          "repeats must have the same size as input along dim, "
          "but got repeats.size(0) = ",
          repeats.size(0), " and input.size(", d, ") = ", source.size(d));
  }
  const Tensor result = ops::index_select(source, d, ops::repeat_interleave(counts, output_size));
  return result;
}

Tensor repeat_interleave_int(KeySet, const Tensor& self, int64_t repeats,
                             std::optional<int64_t> dim, std::optional<int64_t>) {
  check(repeats >= 0, "Repeats must be non-negative, got ", repeats);
  const Tensor input = dim ? self : ops::flatten(self, 0, -1);
  const Tensor source = input.ndim() == 0 ? ops::unsqueeze(input, 0) : input;
  const int64_t d = wrap_dim(dim.value_or(0), input.ndim(), "repeat_interleave");
  Dims wide = source.sizes(), joined = source.sizes();
  wide.insert(static_cast<size_t>(d + 1), repeats);
  const int64_t own = source.size(d);
  check(!__builtin_mul_overflow(own, repeats, &joined[static_cast<size_t>(d)]),
        "repeat_interleave: ", own, " times ", repeats, " overflows");
  const Tensor result =
      ops::flatten(ops::clone(ops::expand(ops::unsqueeze(source, d + 1), wide, false),
                              MemoryFormat::kContiguous),
                   d, d + 1);
  return result;
}

Tensor tile(KeySet, const Tensor& self, const Dims& dims) {
  if (dims.ndim() >= self.ndim()) return ops::repeat(self, dims);
  Dims counts(self.sizes().size(), 1);
  const size_t shift = counts.size() - dims.size();
  for (size_t i = 0; i < dims.size(); ++i) counts[shift + i] = dims[i];
  return ops::repeat(self, counts);
}

std::vector<Tensor> meshgrid(KeySet, const std::vector<Tensor>& tensors,
                             const std::string& indexing) {
  check(!tensors.empty(), "meshgrid expects a non-empty TensorList");
  check(indexing == "ij" || indexing == "xy",
        "torch.meshgrid: indexing must be one of \"xy\" or \"ij\", but received: ", indexing);
  const bool swap = indexing == "xy" && tensors.size() >= 2;
  std::vector<Tensor> inputs = tensors;
  if (swap) std::swap(inputs[0], inputs[1]);
  Dims shape;
  for (const Tensor& t : inputs) {
    check(t.dtype() == inputs[0].dtype(),
          "torch.meshgrid expects all tensors to have the same dtype, got ",
          name(inputs[0].dtype()), " and ", name(t.dtype()));
    check(t.device() == inputs[0].device(),
          "torch.meshgrid expects all tensors to have the same device");
    check(t.ndim() <= 1,
          "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got "
          "sizes ",
          t.sizes());
    shape.push_back(t.numel());
  }
  std::vector<Tensor> grids;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Dims line(inputs.size(), 1);
    line[i] = shape[i];
    grids.push_back(ops::expand(ops::view(inputs[i], line), shape, false));
  }
  if (swap) std::swap(grids[0], grids[1]);
  return grids;
}

Tensor cartesian_prod(KeySet, const std::vector<Tensor>& tensors) {
  for (const Tensor& t : tensors)
    check(t.ndim() == 1, "Expect a 1D vector, but got shape ", t.sizes());
  check(!tensors.empty(), "meshgrid expects a non-empty TensorList");
  if (tensors.size() == 1) return tensors[0];
  std::vector<Tensor> columns;
  for (const Tensor& grid : ops::meshgrid_indexing(tensors, "ij"))
    columns.push_back(ops::flatten(grid, 0, -1));
  return ops::stack(columns, 1);
}

constexpr int64_t kMaxSelected = int64_t{1} << 31;

Tensor combinations(KeySet, const Tensor& self, int64_t r, bool with_replacement) {
  check(self.ndim() == 1, "Expect a 1D vector, but got shape ", self.sizes());
  check(r >= 0, "Expect a non-negative number, but got ", r);
  if (r == 0) return empty(Dims{0}, self.dtype(), self.device());
  const int64_t n = self.numel();
  if (n == 0 || (!with_replacement && r > n)) {
    const Tensor none = empty(Dims{0}, DType::kInt64, self.device());
    return ops::expand(ops::reshape(ops::index_select(self, 0, none), Dims{0, 1}), Dims{0, r},
                       false);
  }
  check_kind(r <= kMaxSelected, ErrorKind::kMemory, "combinations: no memory for combinations of ",
             r, " elements");
  std::vector<int64_t> selected, at(static_cast<size_t>(r));
  if (!with_replacement) std::iota(at.begin(), at.end(), 0);
  const auto limit = [&](int64_t i) { return with_replacement ? n - 1 : n - r + i; };
  bool more = n > 0 && at.back() < n;
  while (more) {
    selected.insert(selected.end(), at.begin(), at.end());
    int64_t i = r - 1;
    while (i >= 0 && at[static_cast<size_t>(i)] >= limit(i)) --i;
    more = i >= 0;
    if (!more) break;
    int64_t value = ++at[static_cast<size_t>(i)];
    for (auto k = static_cast<size_t>(i) + 1; k < at.size(); ++k)
      at[k] = with_replacement ? value : ++value;
  }
  const auto rows = static_cast<int64_t>(selected.size()) / r;
  if (self.is_meta()) return empty(Dims{rows, r}, self.dtype(), Device::kMeta);
  Tensor positions = indices(std::move(selected), DType::kInt64);
  if (!is_host(self.device()))
    positions =
        ops::_to_copy(positions, DType::kUndefined, self.device(), MemoryFormat::kUndefined);
  return ops::view(ops::index_select(self, 0, positions), Dims{rows, r});
}

}  // namespace uh::kernels
