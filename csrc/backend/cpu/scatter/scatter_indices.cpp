#include "backend/cpu/scatter/scatter_indices.h"

#include <limits>

#include "backend/cpu/copy/elements.h"

namespace uh {
namespace {

struct Bytes16 {
  uint64_t low, high;
};

// Calls combine(element of the table, element of the dense side) for each position.
template <class T, class F>
void for_places(T* table, const IndexWalk& walk, const T* dense, const F& combine) {
  for_written_rows(walk, [&](const IndexRow& row, int64_t from, int64_t to, int64_t from_step,
                             int64_t to_step) {
    const T* x = dense + from;
    T* target = table + to;
    if (row.index_step == 0) {  // one slice: a plain loop
      target += *row.index * row.along;
      if (from_step == 1 && to_step == 1) {
        for (int64_t j = 0; j < row.n; ++j) combine(target[j], x[j]);
      } else {
        for (int64_t j = 0; j < row.n; ++j) combine(target[j * to_step], x[j * from_step]);
      }
      return;
    }
    if (row.index_step == 1 && row.along == 1 && to_step == 0) {
      for (int64_t j = 0; j < row.n; ++j) combine(target[row.index[j]], x[j * from_step]);
      return;
    }
    for (int64_t j = 0; j < row.n; ++j)
      combine(target[j * to_step + row.index[j * row.index_step] * row.along], x[j * from_step]);
  });
}

template <class T>
using Wide = std::conditional_t<
    std::is_same_v<T, bool>, uint8_t,
    std::conditional_t<
        std::is_integral_v<T>, uint64_t,
        std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>>>;

template <class T>
T larger(T a, T b) {
  return b > a || b != b ? b : a;
}
template <class T>
T smaller(T a, T b) {
  return b < a || b != b ? b : a;
}

// Returns the identity of an operation.
Scalar neutral(DType dtype, Fused op) {
  if (op == Fused::kSum || op == Fused::kMean) return Scalar(0);
  if (op == Fused::kProd) return Scalar(1);
  const bool max = op == Fused::kMax;
  if (is_floating(dtype)) {
    const double infinity = std::numeric_limits<double>::infinity();
    return Scalar(max ? -infinity : infinity);
  }
  return visit(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) {
      using Limits = std::numeric_limits<T>;
      return Scalar(static_cast<int64_t>(max ? Limits::min() : Limits::max()));
    }
    return Scalar(0);
  });
}

}  // namespace

void assign_places(const Tensor& self, const IndexWalk& walk, const std::byte* src) {
  const auto assign = [&](auto zero) {
    using T = decltype(zero);
    for_places(self.data_as<T>(), walk, reinterpret_cast<const T*>(src),
               [](T& target, T value) { target = value; });
  };
  switch (itemsize(self.dtype())) {
    case 1: return assign(uint8_t{});
    case 2: return assign(uint16_t{});
    case 4: return assign(uint32_t{});
    case 8: return assign(uint64_t{});
    default: return assign(Bytes16{});
  }
}

void fold_places(const Tensor& self, const IndexWalk& walk, const std::byte* src, Fused op,
                 const Scalar& alpha) {
  if (op == Fused::kMax || op == Fused::kMin) {
    return visit(self.dtype(), [&](auto zero) {
      using T = decltype(zero);
      const auto* values = reinterpret_cast<const T*>(src);
      if (op == Fused::kMax)
        return for_places(self.data_as<T>(), walk, values,
                          [](T& target, T value) { target = larger(target, value); });
      for_places(self.data_as<T>(), walk, values,
                 [](T& target, T value) { target = smaller(target, value); });
    });
  }
  visit_any(self.dtype(), [&](auto zero) {
    using T = decltype(zero);
    using W = Wide<T>;
    const auto* values = reinterpret_cast<const T*>(src);
    if (op == Fused::kProd) {
      return for_places(self.data_as<T>(), walk, values, [](T& target, T value) {
        if constexpr (std::is_same_v<T, bool>)
          target = target && value;
        else
          target = static_cast<T>(static_cast<W>(target) * static_cast<W>(value));
      });
    }
    const W scale = [&] {
      if constexpr (std::is_same_v<T, bool>)
        return static_cast<W>(alpha.to_bool());
      else if constexpr (std::is_integral_v<T>)
        return static_cast<W>(alpha.to_int());
      else
        return alpha.to<W>();
    }();
    if (scale == W(1)) {
      return for_places(self.data_as<T>(), walk, values, [](T& target, T value) {
        if constexpr (std::is_same_v<T, bool>)
          target = target || value;
        else
          target = static_cast<T>(static_cast<W>(target) + static_cast<W>(value));
      });
    }
    for_places(self.data_as<T>(), walk, values, [scale](T& target, T value) {
      if constexpr (std::is_same_v<T, bool>)
        target = target || (value && scale);
      else
        target = static_cast<T>(static_cast<W>(target) + static_cast<W>(value) * scale);
    });
  });
}

void forget_places(const Tensor& self, const IndexWalk& walk, Fused op) {
  IndexWalk constant = walk;
  constant.dense = Dims(walk.dense.size(), 0);
  const ElementBytes value = element_bytes(neutral(self.dtype(), op), self.dtype());
  assign_places(self, constant, value.data());
}

void divide_by_hits(const Tensor& self, const IndexWalk& walk, bool include_self) {
  const Tensor hits = empty(self.sizes(), DType::kInt64);
  fill_elements(hits, element_bytes(Scalar(include_self ? 1 : 0), DType::kInt64));
  IndexWalk count = walk;
  count.dense = Dims(walk.dense.size(), 0);
  count.table = hits.strides();
  count.table.resize(count.sizes.size(), 0);
  if (self.ndim()) {
    const auto dim = static_cast<size_t>(walk.dim);
    count.along = hits.strides()[dim];
    count.table[dim] = 0;
  }
  const ElementBytes one = element_bytes(Scalar(1), DType::kInt64);
  fold_places(hits, count, one.data(), Fused::kSum, Scalar(1));
  const auto g = make_geometry<2>(self.sizes(), {self.strides(), hits.strides()});
  visit(self.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for_rows(g, 0, g.rows(), [&](const auto& at) {
      T* x = self.data_as<T>() + at[0];
      const int64_t* n = hits.data_as<int64_t>() + at[1];
      for (int64_t j = 0; j < g.row(); ++j, x += g.row_stride(0), n += g.row_stride(1)) {
        if (*n <= 1) continue;
        if constexpr (std::is_same_v<T, bool>) {
          continue;
        } else if constexpr (std::is_integral_v<T>) {
          const int64_t value = *x, quotient = value / *n;
          *x = static_cast<T>(quotient - (value % *n < 0));
        } else {
          *x = static_cast<T>(static_cast<Wide<T>>(*x) / static_cast<Wide<T>>(*n));
        }
      }
    });
  });
}

}  // namespace uh
