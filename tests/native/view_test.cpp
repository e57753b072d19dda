// View operators compared with a model that copies: a shape and the values in row-major order.
#include <algorithm>
#include <functional>
#include <numeric>

#include "capi/underhood.h"
#include "check.h"
#include "generated/ops.h"

namespace uh {
namespace {

using Index = std::vector<int64_t>;

struct Model {
  Index sizes;
  std::vector<int64_t> values;

  int64_t at(const Index& index) const {
    int64_t flat = 0;
    for (size_t d = 0; d < sizes.size(); ++d) flat = flat * sizes[d] + index[d];
    return values[static_cast<size_t>(flat)];
  }
  // Returns the model whose element at `index` is this one's at from(index).
  Model of(Index shape, const std::function<Index(const Index&)>& from) const {
    Model out{std::move(shape), {}};
    const int64_t n =
        std::accumulate(out.sizes.begin(), out.sizes.end(), int64_t{1}, std::multiplies<>());
    Index index(out.sizes.size(), 0);
    for (int64_t i = 0; i < n; ++i) {
      out.values.push_back(at(from(index)));
      for (size_t d = index.size(); d-- > 0;) {
        if (++index[d] < out.sizes[d]) break;
        index[d] = 0;
      }
    }
    return out;
  }
};

std::vector<int64_t> read(const Tensor& t) {
  std::vector<int64_t> values(static_cast<size_t>(t.numel()));
  CHECK_EQ(uh_read_ints(reinterpret_cast<uh_handle>(t.impl()), values.data(), t.numel()), 0);
  return values;
}

void same(const Tensor& t, const Model& m, const char* op) {
  CHECK(std::equal(t.sizes().begin(), t.sizes().end(), m.sizes.begin(), m.sizes.end()), op,
        " sizes ", t.sizes());
  CHECK(read(t) == m.values, op, " sizes ", t.sizes(), " strides ", t.strides(), " offset ",
        t.offset());
}

struct Pair {
  Tensor t;
  Model m;
};

Index with(Index v, size_t d, int64_t value) {
  v[d] = value;
  return v;
}
Index without(Index v, size_t d) {
  v.erase(v.begin() + static_cast<std::ptrdiff_t>(d));
  return v;
}
Index plus(Index v, size_t d, int64_t value) {
  v.insert(v.begin() + static_cast<std::ptrdiff_t>(d), value);
  return v;
}

// Applies one random valid view to `p`, in the engine and in the model.
void step(Pair& p, test::Random& random) {
  const Index sizes = p.m.sizes;
  const auto rank = static_cast<int64_t>(sizes.size());
  if (rank == 0 || (rank < 5 && random.one_in(6))) {
    const auto d = static_cast<size_t>(random.in(0, rank));
    p.t = ops::unsqueeze(p.t, static_cast<int64_t>(d) - (random.one_in(2) ? rank + 1 : 0));
    p.m = p.m.of(plus(sizes, d, 1), [&](const Index& i) { return without(i, d); });
    return same(p.t, p.m, "unsqueeze");
  }
  const auto d = static_cast<size_t>(random.in(0, rank - 1));
  const int64_t dim = static_cast<int64_t>(d) - (random.one_in(2) ? rank : 0);
  const int64_t n = sizes[d];
  switch (random.in(0, 8)) {
    case 0: {
      const auto e = static_cast<size_t>(random.in(0, rank - 1));
      Index shape = sizes;
      std::swap(shape[d], shape[e]);
      p.t = ops::transpose(p.t, dim, static_cast<int64_t>(e));
      p.m = p.m.of(shape, [&](Index i) {
        std::swap(i[d], i[e]);
        return i;
      });
      return same(p.t, p.m, "transpose");
    }
    case 1: {
      const int64_t step = random.in(1, 3), from = random.in(-n - 1, n + 1),
                    to = random.in(-n - 1, n + 1);
      const int64_t lo = std::clamp(from < 0 ? from + n : from, int64_t{0}, n);
      const int64_t hi = std::clamp(to < 0 ? to + n : to, int64_t{0}, n);
      p.t = ops::slice(p.t, dim, from, to, step);
      p.m = p.m.of(with(sizes, d, hi > lo ? (hi - lo + step - 1) / step : 0),
                   [&](const Index& i) { return with(i, d, lo + i[d] * step); });
      return same(p.t, p.m, "slice");
    }
    case 2: {
      if (n == 0) return;
      const int64_t at = random.in(0, n - 1);
      p.t = ops::select(p.t, dim, at - (random.one_in(2) ? n : 0));
      p.m = p.m.of(without(sizes, d), [&](const Index& i) { return plus(i, d, at); });
      return same(p.t, p.m, "select");
    }
    case 3: {
      const int64_t length = random.in(0, n), from = random.in(0, n - length);
      p.t = ops::narrow(p.t, dim, from, length);
      p.m = p.m.of(with(sizes, d, length), [&](const Index& i) { return with(i, d, from + i[d]); });
      return same(p.t, p.m, "narrow");
    }
    case 4: {
      if (n != 1) return;
      const int64_t many = random.in(0, 4);
      Dims target{IntSpan(sizes)};
      target[d] = many;
      p.t = ops::expand(p.t, target, false);
      p.m = p.m.of(with(sizes, d, many), [&](const Index& i) { return with(i, d, 0); });
      return same(p.t, p.m, "expand");
    }
    case 5: {
      const int64_t size = random.in(0, n), hop = random.in(1, 3);
      if (rank >= 5) return;
      Index shape = with(sizes, d, (n - size) / hop + 1);
      shape.push_back(size);
      p.t = ops::unfold(p.t, dim, size, hop);
      p.m = p.m.of(shape, [&](Index i) {
        i[d] = i[d] * hop + i.back();
        i.pop_back();
        return i;
      });
      return same(p.t, p.m, "unfold");
    }
    case 6: {
      if (rank < 2) return;
      const size_t e = d == 0 ? 1 : d - 1;
      const int64_t k = random.in(-3, 3), rows = sizes[d] + std::min<int64_t>(k, 0),
                    columns = sizes[e] - std::max<int64_t>(k, 0);
      Index shape = without(without(sizes, std::max(d, e)), std::min(d, e));
      shape.push_back(std::max<int64_t>(0, std::min(rows, columns)));
      p.t = ops::diagonal(p.t, k, dim, static_cast<int64_t>(e));
      p.m = p.m.of(shape, [&](Index i) {
        const int64_t j = i.back();
        i.pop_back();
        const int64_t row = j - std::min<int64_t>(k, 0), column = j + std::max<int64_t>(k, 0);
        return d < e ? plus(plus(i, d, row), e, column) : plus(plus(i, e, column), d, row);
      });
      return same(p.t, p.m, "diagonal");
    }
    case 7: {
      p.t = ops::squeeze(p.t, Dims{dim});
      if (n == 1) p.m = p.m.of(without(sizes, d), [&](const Index& i) { return plus(i, d, 0); });
      return same(p.t, p.m, "squeeze");
    }
    default: {
      p.t = ops::reshape(p.t, Dims{p.t.numel()});
      p.m.sizes = {p.t.numel()};
      return same(p.t, p.m, "reshape");
    }
  }
}

FUZZ(chains_of_views_against_copies) {
  test::Random random(budget.seed);
  while (!budget.over()) {
    Index sizes;
    for (int64_t r = random.in(0, 4); r > 0; --r) sizes.push_back(random.in(0, 4));
    int64_t n = 1;
    for (int64_t s : sizes) n *= s;
    std::vector<int64_t> values(static_cast<size_t>(n));
    std::iota(values.begin(), values.end(), 0);
    const uh_handle result =
        uh_from_data(values.data(), static_cast<int>(DType::kInt64), sizes.data(),
                     static_cast<int64_t>(sizes.size()), static_cast<int>(DType::kInt64));
    Pair p{Tensor(Ref<TensorImpl>::adopt(reinterpret_cast<TensorImpl*>(result))), {sizes, values}};
    const Tensor base = p.t;
    for (int64_t steps = random.in(1, 6); steps > 0; --steps) step(p, random);
    CHECK(read(base) == values, "a view changed its base");
  }
}

// Random layouts: accepted exactly if every element is inside the Storage, and then readable.
FUZZ(as_strided_stays_inside) {
  test::Random random(budget.seed);
  const std::vector<int64_t> extremes = {INT64_MIN, INT64_MAX, -1, int64_t{1} << 62,
                                         int64_t{1} << 32};
  const Tensor base = ops::zeros(Dims{24}, DType::kInt16, Device::kCPU);
  while (!budget.over()) {
    Dims sizes, strides;
    auto number = [&](int64_t high) {
      return random.one_in(12) ? random.of(extremes) : random.in(0, high);
    };
    for (int64_t r = random.in(0, 6); r > 0; --r) {
      sizes.push_back(number(4));
      strides.push_back(number(6));
    }
    const int64_t offset = number(26);
    bool inside = offset >= 0, nothing = false, sane = true;
    __int128 last = offset, count = 1;
    for (size_t d = 0; d < sizes.size(); ++d) {
      nothing |= sizes[d] == 0;
      sane &= sizes[d] >= 0 && strides[d] >= 0;
      if (!sane) break;
      const auto reach = (static_cast<__int128>(sizes[d]) - 1) * strides[d];
      last = std::min(last + reach, static_cast<__int128>(1) << 126);
      if (count < (static_cast<__int128>(1) << 64)) count *= sizes[d];
    }
    inside &= nothing || last < 24;
    bool accepted = true;
    try {
      const Tensor view = ops::as_strided(base, sizes, strides, offset);
      if (view.numel() < 100000) read(view);
    } catch (const Error&) {
      accepted = false;
    }
    const bool fits = nothing || count < (static_cast<__int128>(1) << 63);
    if (sane && inside && fits && !nothing)
      CHECK(accepted, "refused: ", sizes, strides, " ", offset);
    if (accepted) CHECK(sane && inside, "accepted: ", sizes, strides, " ", offset);
  }
}

TEST(views_share_bytes_and_counter_and_know_their_base) {
  const Tensor x = ops::zeros(Dims{2, 3}, DType::kFloat32, Device::kCPU);
  const Tensor y = ops::transpose(x, 0, 1);
  const Tensor z = ops::select(y, 0, 1);
  CHECK_EQ(z.storage(), x.storage());
  CHECK_EQ(z.impl()->base(), x.impl());
  CHECK_EQ(x.storage()->use_count(), 3);
  ops::fill__Scalar(z, Scalar(5.0));
  CHECK_EQ(x.impl()->version(), 1);
  CHECK_EQ(x.data_as<float>()[1], 5.0f);
  CHECK_EQ(x.data_as<float>()[0], 0.0f);
}

}  // namespace
}  // namespace uh
