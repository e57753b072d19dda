// The operators of index.yaml.
#include "generated/kernels/index.h"
#include "base/parallel.h"
#include "generated/kernels/masked.h"
#include "ops/copy/copy.h"
#include "ops/index/advanced.h"
#include "ops/index/mask.h"
#include "ops/kernel/copy_loops.h"
#include "ops/kernel/geometry.h"

namespace uh::kernels {
namespace {

constexpr int64_t kGrain = 32768;

// The result's shape on meta is known only without masks: how many are True is a value.
void check_values_known(const Tensor& t, std::string_view op) {
  check_kind(!t.is_meta(), ErrorKind::kNotImplemented, op,
             ": the size of the result depends on the values of a mask, "
             "which a meta tensor does not have");
}

// Walks the kept elements before the index: operand 0 is `self`, operand 1 the dense side.
template <class F>
void for_before(const Advanced& a, int64_t dense_step, const F& f) {
  Dims dense = contiguous_strides(a.before);
  for (int64_t& s : dense) s *= dense_step;
  const auto g = make_geometry<2>(a.before, {IntSpan(a.before_strides), IntSpan(dense)}, false);
  const int64_t n = numel_of(a.before);
  Odometer<2> at(g, g.sizes.size(), 0);
  for (int64_t i = 0; i < n; ++i, at.step()) f(at.offsets()[0], at.offsets()[1]);
}

// Reads (into `dense`) or writes (from it) every chosen element. `dense` has the result's row-major
// order.
void transfer(const Tensor& self, const Advanced& a, std::byte* dense, bool write) {
  const auto n = static_cast<int64_t>(a.offsets.size());
  const int64_t item = itemsize(self.dtype()), each = numel_of(a.after);
  if (n == 0 || each == 0) return;
  const auto g = make_geometry<2>(
      a.after, {IntSpan(a.after_strides), IntSpan(contiguous_strides(a.after))}, false);
  const auto move = copy_loops().move[size_class(item)];
  const auto take = copy_loops().take[size_class(item)];
  for_before(a, n * each, [&](int64_t own, int64_t other) {
    std::byte* const base = self.data() + own * item;
    std::byte* const block = dense + other * item;
    if (each == 1 && !write) {
      return parallel_for(0, n, kGrain, [&](int64_t lo, int64_t hi) {
        take(block + lo * item, 1, base, 1, a.offsets.data() + lo, 1, hi - lo);
      });
    }
    const auto run = [&](int64_t lo, int64_t hi) {
      for (int64_t i = lo; i < hi; ++i) {
        std::byte* const chosen = base + a.offsets[static_cast<size_t>(i)] * item;
        std::byte* const row = block + i * each * item;
        for_rows(g, 0, g.rows(), [&](const auto& at) {
          std::byte *x = chosen + at[0] * item, *y = row + at[1] * item;
          write ? move(x, g.row_stride(0), y, g.row_stride(1), g.row())
                : move(y, g.row_stride(1), x, g.row_stride(0), g.row());
        });
      }
    };
    // Writes stay on one thread: of several values for one element the last one wins, always.
    write ? run(0, n) : parallel_for(0, n, std::max<int64_t>(1, kGrain / each), run);
  });
}

template <class T>
void accumulate_into(const Tensor& self, const Advanced& a, const T* values) {
  using Wide = std::conditional_t<
      std::is_integral_v<T>, uint64_t,
      std::conditional_t<std::is_same_v<T, double> || is_complex_v<T>, T, float>>;
  const auto n = static_cast<int64_t>(a.offsets.size());
  const int64_t each = numel_of(a.after);
  const auto g = make_geometry<2>(
      a.after, {IntSpan(a.after_strides), IntSpan(contiguous_strides(a.after))}, false);
  for_before(a, n * each, [&](int64_t own, int64_t other) {
    for (int64_t i = 0; i < n && each > 0; ++i) {
      T* const chosen = self.data_as<T>() + own + a.offsets[static_cast<size_t>(i)];
      const T* const row = values + other + i * each;
      for_rows(g, 0, g.rows(), [&](const auto& at) {
        for (int64_t j = 0; j < g.row(); ++j) {
          T& x = chosen[at[0] + j * g.row_stride(0)];
          if constexpr (std::is_same_v<T, bool>)
            x = x || row[at[1] + j * g.row_stride(1)];
          else
            x = static_cast<T>(static_cast<Wide>(x) +
                               static_cast<Wide>(row[at[1] + j * g.row_stride(1)]));
        }
      });
    }
  });
}

Tensor read(const Tensor& self, const Advanced& a) {
  Tensor out = empty(a.result_sizes(), self.dtype());
  transfer(self, a, out.data(), false);
  record_write(out);
  return out;
}

// x[mask] with a mask of x's own shape: no offsets are needed.
bool is_plain_mask(const Tensor& self, const std::vector<Tensor>& indices) {
  return indices.size() == 1 && indices[0] && indices[0].dtype() == DType::kBool &&
         self.ndim() > 0 && indices[0].sizes() == self.sizes();
}

Tensor index_meta(const Tensor& self, const std::vector<Tensor>& indices) {
  Dims shape, before, after;
  size_t first = self.sizes().size(), last = 0, indexed = 0;
  for (size_t d = 0; d < indices.size(); ++d) {
    if (!indices[d]) continue;
    check_kind(indices[d].dtype() != DType::kBool && indices[d].dtype() != DType::kUInt8,
               ErrorKind::kNotImplemented,
               "index: the size of the result depends on the values of a mask, which a meta tensor "
               "does not have");
    shape = broadcast_shapes(shape, indices[d].sizes());
    first = std::min(first, d);
    last = d;
    ++indexed;
  }
  const bool adjacent = indexed > 0 && last - first + 1 == indexed;
  for (size_t d = 0; d < self.sizes().size(); ++d) {
    if (d < indices.size() && indices[d]) continue;
    (adjacent && d < first ? before : after).push_back(self.sizes()[d]);
  }
  for (int64_t s : shape) before.push_back(s);
  for (int64_t s : after) before.push_back(s);
  return empty(before, self.dtype(), Device::kMeta);
}

}  // namespace

Tensor index(KeySet, const Tensor& self, const std::vector<Tensor>& indices) {
  check_kind(static_cast<int64_t>(indices.size()) <= std::max<int64_t>(self.ndim(), 1),
             ErrorKind::kIndex, "too many indices for tensor of dimension ", self.ndim(), ": got ",
             indices.size());
  if (self.is_meta()) return index_meta(self, indices);
  for (const Tensor& t : indices) {
    if (t) check_values_known(t, "index");
  }
  if (is_plain_mask(self, indices)) {
    Tensor out = compressed(as_contiguous(self), as_contiguous(indices[0]));
    record_write(out);
    return out;
  }
  return read(self, resolve_indices(self, indices));
}

void index_put_into(KeySet, const Tensor& self, const std::vector<Tensor>& indices,
                    const Tensor& values, bool accumulate) {
  check(self.dtype() == values.dtype(),
        "Index put requires the source and destination dtypes match, got ",
        info(self.dtype()).title, " for the destination and ", info(values.dtype()).title,
        " for the source.");
  check_no_internal_overlap(self, "index_put_");
  if (self.is_meta()) return;
  if (is_plain_mask(self, indices) && values.numel() == 1 && !accumulate) {
    return masked_fill_into(KeySet(), self, indices[0], read_scalar(values));
  }
  const Advanced a = resolve_indices(self, indices);
  const Dims sizes = a.result_sizes();
  check(values.ndim() <= sizes.ndim() || values.numel() == 1,
        "shape mismatch: value tensor of shape ", values.sizes(),
        " cannot be broadcast to indexing result of shape ", sizes);
  const Tensor dense = empty(sizes, self.dtype());
  if (values.numel() == 1) {
    fill_elements(dense, element_bytes(read_scalar(values), self.dtype()));
  } else {
    for (int64_t d = 0; d < values.ndim(); ++d) {
      const int64_t own = values.size(d),
                    target = sizes[static_cast<size_t>(d + sizes.ndim() - values.ndim())];
      check(own == 1 || own == target, "shape mismatch: value tensor of shape ", values.sizes(),
            " cannot be broadcast to indexing result of shape ", sizes);
    }
    copy_elements(dense, values);
  }
  if (accumulate) {
    visit_any(self.dtype(),
              [&](auto zero) { accumulate_into(self, a, dense.data_as<decltype(zero)>()); });
  } else {
    transfer(self, a, dense.data(), true);
  }
  record_write(self);
}

Tensor index_put(KeySet keys, const Tensor& self, const std::vector<Tensor>& indices,
                 const Tensor& values, bool accumulate) {
  Tensor out = empty_like(self, self.dtype());
  if (!out.is_meta()) copy_elements(out, self);
  index_put_into(keys, out, indices, values, accumulate);
  return out;
}

}  // namespace uh::kernels
