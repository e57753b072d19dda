// Softmax along one dimension of a COO tensor: over the values with all other indices equal.
#include <algorithm>
#include <cmath>

#include "backend/cpu/sparse/parts.h"
#include "base/parallel.h"
#include "generated/kernels/sparse.h"
#include "generated/ops/copy.h"
#include "generated/ops/reduce.h"
#include "generated/ops/softmax.h"
#include "generated/ops/view.h"

namespace uh::kernels {

using namespace sparse;  // NOLINT: all of this file is sparse

namespace {

// The entries ordered by all indices but one, and where each group begins.
struct Groups {
  std::vector<int64_t> order, begins;

  Groups(const Checked& coo, int64_t dim) : order(static_cast<size_t>(coo.nnz())) {
    std::vector<int64_t> group(order.size(), 0);
    for (int64_t d = 0; d < coo.sparse_dim(); ++d) {
      if (d == dim) continue;
      for (size_t i = 0; i < group.size(); ++i)
        group[i] = group[i] * coo.sizes[static_cast<size_t>(d)] + coo.index(d)[i];
    }
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return group[static_cast<size_t>(a)] < group[static_cast<size_t>(b)];
    });
    for (size_t i = 0; i < order.size(); ++i)
      if (i == 0 ||
          group[static_cast<size_t>(order[i])] != group[static_cast<size_t>(order[i - 1])])
        begins.push_back(static_cast<int64_t>(i));
    begins.push_back(static_cast<int64_t>(order.size()));
  }
  int64_t count() const { return static_cast<int64_t>(begins.size()) - 1; }
};

void check_floating(const Tensor& t) {
  check_kind(t.dtype() == DType::kFloat32 || t.dtype() == DType::kFloat64,
             ErrorKind::kNotImplemented, "\"softmax\" not implemented for '", info(t.dtype()).title,
             "'");
}

// Calls f(T{}, a group's values as a strided list) for each group and each element of a block.
template <class F>
void each_group(const Checked& coo, int64_t dim, const F& f) {
  const Groups groups(coo, dim);
  const int64_t block = coo.block();
  parallel_for(0, groups.count(), 1024, [&](int64_t lo, int64_t hi) {
    for (int64_t g = lo; g < hi; ++g) {
      const int64_t* first = groups.order.data() + groups.begins[static_cast<size_t>(g)];
      const int64_t n =
          groups.begins[static_cast<size_t>(g) + 1] - groups.begins[static_cast<size_t>(g)];
      for (int64_t j = 0; j < block; ++j) f(n, [&](int64_t i) { return first[i] * block + j; });
    }
  });
}

template <bool kLog>
Tensor softmax(const Tensor& self, int64_t dim) {
  check_floating(self);
  const int64_t d = wrap_dim(dim, self.ndim());
  const Checked coo = checked_coalesced(self);
  if (d >= coo.sparse_dim()) {
    const int64_t within = d - coo.sparse_dim() + 1;
    return make_coo(self.sizes(), coo.indices,
                    kLog ? ops::log_softmax(coo.values, within) : ops::softmax(coo.values, within),
                    true);
  }
  const Tensor values = empty(coo.values.sizes(), self.dtype());
  visit(self.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T>) {
      const T* from = coo.values.data_as<T>();
      T* to = values.data_as<T>();
      each_group(coo, d, [&](int64_t n, const auto& at) {
        T largest = from[at(0)], sum = 0;
        for (int64_t i = 1; i < n; ++i) largest = std::max(largest, from[at(i)]);
        for (int64_t i = 0; i < n; ++i) {
          const T power = std::exp(from[at(i)] - largest);
          sum += power;
          to[at(i)] = power;
        }
        const T log_sum = std::log(sum);
        for (int64_t i = 0; i < n; ++i)
          to[at(i)] = kLog ? from[at(i)] - largest - log_sum : to[at(i)] / sum;
      });
    }
  });
  record_write(values);
  return make_coo(self.sizes(), coo.indices, values, true);
}

}  // namespace

Tensor sparse_softmax(KeySet, const Tensor& self, int64_t dim) { return softmax<false>(self, dim); }
Tensor sparse_log_softmax(KeySet, const Tensor& self, int64_t dim) {
  return softmax<true>(self, dim);
}

Tensor sparse_group_sum(KeySet, const Tensor& self, int64_t dim) {
  check_floating(self);
  const int64_t d = wrap_dim(dim, self.ndim());
  const Checked coo = checked(self);
  if (d >= coo.sparse_dim()) {
    const Tensor sums =
        ops::sum(coo.values, Dims{d - coo.sparse_dim() + 1}, true, DType::kUndefined);
    return with_values(self, plain(ops::expand(sums, coo.values.sizes(), false)));
  }
  const Tensor values = empty(coo.values.sizes(), self.dtype());
  visit(self.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T>) {
      const T* from = coo.values.data_as<T>();
      T* to = values.data_as<T>();
      each_group(coo, d, [&](int64_t n, const auto& at) {
        T sum = 0;
        for (int64_t i = 0; i < n; ++i) sum += from[at(i)];
        for (int64_t i = 0; i < n; ++i) to[at(i)] = sum;
      });
    }
  });
  record_write(values);
  return with_values(self, values);
}

}  // namespace uh::kernels
