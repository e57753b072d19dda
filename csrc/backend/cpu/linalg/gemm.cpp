#include "backend/cpu/linalg/gemm.h"

#include <cblas.h>

#include <array>
#include <atomic>

#include "backend/cpu/copy/elements.h"
#include "backend/cpu/gemm_loops.h"
#include "backend/cpu/linalg/tiled.h"
#include "backend/cpu/loop_plan.h"
#include "base/parallel.h"
#include "ops/geometry.h"

namespace uh {

void set_blas_threads(int n) {
  static std::atomic<int> current{0};
  if (current.load(std::memory_order_relaxed) == n) return;
  scipy_openblas_set_num_threads(n);
  current.store(n, std::memory_order_relaxed);
}

namespace {

// The matrices of a tensor, one per index of the batch. Strides in elements.
struct Matrices {
  Tensor tensor;
  Dims batch_strides;  // 0 where a matrix repeats
  int64_t rows, columns, row_stride, column_stride;
};

Matrices matrices(const Tensor& t, Reading reading, size_t batch_rank) {
  const size_t own = reading == Reading::kMatrix ? 2 : 1;
  const size_t lead = t.sizes().size() - own;
  Matrices m{t, {}, 1, 1, 1, 1};
  if (reading != Reading::kColumn) {
    m.columns = t.sizes().back();
    m.column_stride = t.strides().back();
  }
  if (reading != Reading::kRow) {
    m.rows = t.sizes()[lead];
    m.row_stride = t.strides()[lead];
  }
  m.batch_strides = broadcast_strides(IntSpan(t.sizes().data(), lead),
                                      IntSpan(t.strides().data(), lead), batch_rank);
  return m;
}

// A matrix with a unit stride in the form that BLAS reads: as stored, or transposed.
struct BlasView {
  CBLAS_TRANSPOSE transpose = CblasNoTrans;
  blasint leading = 0;  // 0: BLAS cannot read it
};

BlasView blas_view(const Matrices& m) {
  // The stride of a dimension of size 1 is never used, so any value is valid.
  const auto leading = [](int64_t unit_size, int64_t unit_stride, int64_t size,
                          int64_t stride) -> blasint {
    const int64_t min_value = std::max<int64_t>(unit_size, 1);
    if (unit_size > 1 && unit_stride != 1) return 0;
    if (size <= 1) return static_cast<blasint>(min_value);
    return stride >= min_value && stride <= INT32_MAX ? static_cast<blasint>(stride) : 0;
  };
  if (const blasint l = leading(m.columns, m.column_stride, m.rows, m.row_stride))
    return {CblasNoTrans, l};
  if (const blasint l = leading(m.rows, m.row_stride, m.columns, m.column_stride))
    return {CblasTrans, l};
  return {};
}

// A Scale in the dtype of a product.
template <class T>
struct Factors {
  SumOf<T> alpha, beta;
};

// One product: sizes of the whole batch, pointers of one of its members.
struct Product {
  Matrices a, b;
  BlasView view_a, view_b;

  blasint m() const { return static_cast<blasint>(a.rows); }
  blasint n() const { return static_cast<blasint>(b.columns); }
  blasint k() const { return static_cast<blasint>(a.columns); }
};

void blas(const Product& p, const float* a, const float* b, float* c, Factors<float> f) {
  scipy_cblas_sgemm(CblasRowMajor, p.view_a.transpose, p.view_b.transpose, p.m(), p.n(), p.k(),
                    f.alpha, a, p.view_a.leading, b, p.view_b.leading, f.beta, c, p.n());
}
void blas(const Product& p, const double* a, const double* b, double* c, Factors<double> f) {
  scipy_cblas_dgemm(CblasRowMajor, p.view_a.transpose, p.view_b.transpose, p.m(), p.n(), p.k(),
                    f.alpha, a, p.view_a.leading, b, p.view_b.leading, f.beta, c, p.n());
}

void blas(const Product& p, const Complex64* a, const Complex64* b, Complex64* c,
          Factors<Complex64> f) {
  scipy_cblas_cgemm(CblasRowMajor, p.view_a.transpose, p.view_b.transpose, p.m(), p.n(), p.k(),
                    &f.alpha, a, p.view_a.leading, b, p.view_b.leading, &f.beta, c, p.n());
}
void blas(const Product& p, const Complex128* a, const Complex128* b, Complex128* c,
          Factors<Complex128> f) {
  scipy_cblas_zgemm(CblasRowMajor, p.view_a.transpose, p.view_b.transpose, p.m(), p.n(), p.k(),
                    &f.alpha, a, p.view_a.leading, b, p.view_b.leading, &f.beta, c, p.n());
}

// y = m x, where m may be stored transposed.
void blas_vector(const Matrices& m, BlasView v, const float* a, const float* x, blasint step,
                 float* y, Factors<float> f) {
  const bool stored = v.transpose == CblasNoTrans;
  const auto rows = static_cast<blasint>(m.rows), columns = static_cast<blasint>(m.columns);
  scipy_cblas_sgemv(CblasRowMajor, v.transpose, stored ? rows : columns, stored ? columns : rows,
                    f.alpha, a, v.leading, x, step, f.beta, y, 1);
}
void blas_vector(const Matrices& m, BlasView v, const double* a, const double* x, blasint step,
                 double* y, Factors<double> f) {
  const bool stored = v.transpose == CblasNoTrans;
  const auto rows = static_cast<blasint>(m.rows), columns = static_cast<blasint>(m.columns);
  scipy_cblas_dgemv(CblasRowMajor, v.transpose, stored ? rows : columns, stored ? columns : rows,
                    f.alpha, a, v.leading, x, step, f.beta, y, 1);
}
void blas_vector(const Matrices& m, BlasView v, const Complex64* a, const Complex64* x,
                 blasint step, Complex64* y, Factors<Complex64> f) {
  const bool stored = v.transpose == CblasNoTrans;
  const auto rows = static_cast<blasint>(m.rows), columns = static_cast<blasint>(m.columns);
  scipy_cblas_cgemv(CblasRowMajor, v.transpose, stored ? rows : columns, stored ? columns : rows,
                    &f.alpha, a, v.leading, x, step, &f.beta, y, 1);
}
void blas_vector(const Matrices& m, BlasView v, const Complex128* a, const Complex128* x,
                 blasint step, Complex128* y, Factors<Complex128> f) {
  const bool stored = v.transpose == CblasNoTrans;
  const auto rows = static_cast<blasint>(m.rows), columns = static_cast<blasint>(m.columns);
  scipy_cblas_zgemv(CblasRowMajor, v.transpose, stored ? rows : columns, stored ? columns : rows,
                    &f.alpha, a, v.leading, x, step, &f.beta, y, 1);
}
float blas_dot(blasint n, const float* x, blasint dx, const float* y, blasint dy) {
  return scipy_cblas_sdot(n, x, dx, y, dy);
}
double blas_dot(blasint n, const double* x, blasint dx, const double* y, blasint dy) {
  return scipy_cblas_ddot(n, x, dx, y, dy);
}
Complex64 blas_dot(blasint n, const Complex64* x, blasint dx, const Complex64* y, blasint dy) {
  Complex64 sum;
  scipy_cblas_cdotu_sub(n, x, dx, y, dy, &sum);
  return sum;
}
Complex128 blas_dot(blasint n, const Complex128* x, blasint dx, const Complex128* y, blasint dy) {
  Complex128 sum;
  scipy_cblas_zdotu_sub(n, x, dx, y, dy, &sum);
  return sum;
}

Matrices transposed(Matrices m) {
  std::swap(m.rows, m.columns);
  std::swap(m.row_stride, m.column_stride);
  return m;
}

bool is_step(int64_t stride) { return stride >= 1 && stride <= INT32_MAX; }

// Below this many multiplications a plain loop is faster than BLAS's argument checks.
constexpr int64_t kSmall = 1024;
constexpr int64_t kShort = 64;  // the plain loop adds serially: not for long sums

bool is_small(int64_t m, int64_t n, int64_t k) { return k <= kShort && m * n * k <= kSmall; }

// The implementations of one product.
enum class Way { kSmall, kDot, kMatrixByVector, kVectorByMatrix, kBlas, kPairs };

Way way_of(const Matrices& x, const Matrices& y) {
  if (x.tensor.dtype() == DType::kBFloat16) return Way::kPairs;
  if (is_small(x.rows, y.columns, x.columns)) return Way::kSmall;
  if (x.rows == 1 && y.columns == 1 && is_step(x.column_stride) && is_step(y.row_stride))
    return Way::kDot;
  if (y.columns == 1 && is_step(y.row_stride)) return Way::kMatrixByVector;
  if (x.rows == 1 && is_step(x.column_stride)) return Way::kVectorByMatrix;
  return Way::kBlas;
}

// Records the plan: rows, columns, and the inner dimension.
void record_product(const Matrices& a, const Matrices& b, const Dims& batch, int64_t item,
                    int64_t threads) {
  static constexpr std::array kNames{"small matrix product",   "dot product",
                                     "matrix by vector",       "vector by matrix",
                                     "blocked matrix product", "matrix product of pairs"};
  PlanOperand c{item, {}}, x{item, {}}, y{item, {}};
  Dims sizes = batch;
  int64_t step = a.rows * b.columns * item;
  c.strides.resize(batch.size());
  for (size_t d = batch.size(); d-- > 0; step *= batch[d]) c.strides[d] = step;
  for (size_t d = 0; d < batch.size(); ++d) {
    x.strides.push_back(a.batch_strides[d] * item);
    y.strides.push_back(b.batch_strides[d] * item);
  }
  const auto add = [&](int64_t size, int64_t in_c, int64_t in_x, int64_t in_y) {
    sizes.push_back(size);
    c.strides.push_back(in_c * item);
    x.strides.push_back(in_x * item);
    y.strides.push_back(in_y * item);
  };
  add(a.rows, b.columns, a.row_stride, 0);
  add(b.columns, 1, 0, b.column_stride);
  add(a.columns, 0, a.column_stride, b.row_stride);
  record_plan({.loop = kNames[static_cast<size_t>(way_of(a, b))],
               .sizes = sizes,
               .operands = {c, x, y},
               .threads = threads});
}

// A fast path for two small matrices: the general preparation would take most of the time.
bool multiplied_small(const Tensor& out, const Tensor& a, const Tensor& b) {
  if (a.ndim() != 2 || b.ndim() != 2 || !is_small(a.size(0), b.size(1), a.size(1))) return false;
  const auto run = [&](auto loop, auto* c) {
    using T = std::remove_pointer_t<decltype(c)>;
    if (events::on()) [[unlikely]]
      record_product(matrices(a, Reading::kMatrix, 0), matrices(b, Reading::kMatrix, 0), {},
                     sizeof(T), 1);
    loop(c, a.data_as<T>(), a.stride(0), a.stride(1), b.data_as<T>(), b.stride(0), b.stride(1),
         a.size(0), b.size(1), a.size(1), nullptr);
    return true;
  };
  switch (out.dtype()) {
    case DType::kFloat32: return run(gemm_loops().small_float, out.data_as<float>());
    case DType::kFloat64: return run(gemm_loops().small_double, out.data_as<double>());
    case DType::kComplex64: return run(gemm_loops().small_complex64, out.data_as<Complex64>());
    case DType::kComplex128: return run(gemm_loops().small_complex128, out.data_as<Complex128>());
    default: return false;
  }
}

template <class T>
TiledProduct<T> tiled(const Matrices& x, const Matrices& y, const T* a, const T* b, T* c,
                      Factors<T> f) {
  return {
      c,      y.columns, a,         x.row_stride, x.column_stride, b, y.row_stride, y.column_stride,
      x.rows, y.columns, x.columns, f.alpha,      f.beta};
}

// Returns the number of ranges that each implementation splits one product into.
template <class T>
int64_t ranges_of_product(const Matrices& x, const Matrices& y) {
  const Way way = way_of(x, y);
  if (way <= Way::kDot) return 1;
  if constexpr (!is_complex_v<T>) {
    const auto product = tiled<T>(x, y, nullptr, nullptr, nullptr, {});
    if (way == Way::kPairs || (way == Way::kBlas && is_for_tiles(product)))
      return tile_ranges(product);
  }
  return get_num_threads();
}

template <class T>
void one_product(const Product& p, const T* a, const T* b, T* c, const Factors<T>* scale) {
  const Matrices &x = p.a, &y = p.b;
  const Way way = way_of(x, y);
  if (way == Way::kSmall) {
    const auto small = [] {
      if constexpr (std::is_same_v<T, float>)
        return gemm_loops().small_float;
      else if constexpr (std::is_same_v<T, double>)
        return gemm_loops().small_double;
      else if constexpr (std::is_same_v<T, Complex64>)
        return gemm_loops().small_complex64;
      else
        return gemm_loops().small_complex128;
    }();
    return small(c, a, x.row_stride, x.column_stride, b, y.row_stride, y.column_stride, x.rows,
                 y.columns, x.columns, scale ? &scale->alpha : nullptr);
  }
  const Factors<T> f = scale ? *scale : Factors<T>{T(1), T(0)};
  if (way == Way::kDot) {
    const T sum = blas_dot(p.k(), a, static_cast<blasint>(x.column_stride), b,
                           static_cast<blasint>(y.row_stride));
    *c = !scale ? sum : f.beta == T(0) ? f.alpha * sum : f.alpha * sum + f.beta * *c;
  } else if (way == Way::kMatrixByVector) {
    blas_vector(x, p.view_a, a, b, static_cast<blasint>(y.row_stride), c, f);
  } else if (way == Way::kVectorByMatrix) {
    const Matrices flipped = transposed(y);
    blas_vector(flipped, blas_view(flipped), b, a, static_cast<blasint>(x.column_stride), c, f);
  } else {
    if constexpr (std::is_floating_point_v<T>) {
      const auto product = tiled(x, y, a, b, c, f);
      if (is_for_tiles(product)) return multiply_in_tiles(product);
    }
    blas(p, a, b, c, f);
  }
}

void one_product(const Product& p, const BFloat16* a, const BFloat16* b, BFloat16* c,
                 const Factors<BFloat16>* scale) {
  multiply_in_tiles(tiled(p.a, p.b, a, b, c, scale ? *scale : Factors<BFloat16>{1, 0}));
}

// Merges batch members that share b into rows of a: (batch, m, k) (k, n) becomes (batch * m, k) (k,
// n).
void fold_batch(Matrices& a, Matrices& b, Dims& batch) {
  while (!batch.empty() && b.batch_strides.back() == 0 && batch.back() > 0) {
    const int64_t step = a.batch_strides.back();
    if (a.rows != 1 && step != a.rows * a.row_stride) return;
    Matrices folded = a;
    if (a.rows == 1) folded.row_stride = step;
    folded.rows *= batch.back();
    if (!blas_view(folded).leading) return;
    a = std::move(folded);
    for (Dims* dims : {&batch, &a.batch_strides, &b.batch_strides}) dims->resize(dims->size() - 1);
  }
}

template <class T>
void multiply_floats(T* out, Matrices a, Matrices b, Dims batch, const Scale* scale) {
  check(std::max({a.rows, a.columns, b.columns}) <= INT32_MAX,
        "matmul: sizes over 2^31 - 1 are not supported, got (", a.rows, ", ", a.columns, ") @ (",
        b.rows, ", ", b.columns, ")");
  const Product p{a, b, blas_view(a), blas_view(b)};
  const Factors<T> factors =
      scale ? Factors<T>{scale->alpha.to<SumOf<T>>(), scale->beta.to<SumOf<T>>()} : Factors<T>{};
  const int64_t members = numel_of(batch), work = a.rows * a.columns * b.columns;
  const auto g =
      make_geometry<2>(batch, {IntSpan(a.batch_strides), IntSpan(b.batch_strides)}, false);
  const auto run = [&](int64_t lo, int64_t hi) {
    Odometer<2> at(g, g.sizes.size(), lo);
    for (int64_t i = lo; i < hi; ++i, at.step()) {
      one_product(p, a.tensor.data_as<T>() + at.offsets()[0],
                  b.tensor.data_as<T>() + at.offsets()[1], out + i * a.rows * b.columns,
                  scale ? &factors : nullptr);
    }
  };
  constexpr int64_t kWorthThreads = 1
                                    << 21;  // multiplications: OpenBLAS splits larger products well
  const bool side_by_side = members > 1 && work < kWorthThreads;
  const int64_t grain = std::max<int64_t>(1, 65536 / std::max<int64_t>(work, 1));
  if (events::on()) [[unlikely]]
    record_product(a, b, batch, sizeof(T),
                   side_by_side ? ranges_of(members, grain) : ranges_of_product<T>(a, b));
  set_blas_threads(side_by_side ? 1 : get_num_threads());
  if (!side_by_side) return run(0, members);
  parallel_for(0, members, grain, run);
}

// Copies integers to row-major order and multiplies in 32 or 64 bits, which wrap to the same
// result.
template <class T>
void multiply_integers(const Tensor& out, const Matrices& a, const Matrices& b, const Dims& batch) {
  const int64_t m = a.rows, n = b.columns, k = a.columns;
  const auto g =
      make_geometry<2>(batch, {IntSpan(a.batch_strides), IntSpan(b.batch_strides)}, false);
  const auto loop = [] {
    if constexpr (sizeof(T) == 4)
      return gemm_loops().int32;
    else
      return gemm_loops().int64;
  }();
  const bool direct = out.dtype() == dtype_of<T>::value;
  const Tensor wide = direct ? out : empty(out.sizes(), dtype_of<T>::value);
  constexpr int64_t kBand = 16;  // rows per task
  const int64_t bands = (m + kBand - 1) / kBand;
  parallel_for(0, numel_of(batch) * bands,
               std::max<int64_t>(1, 65536 / std::max<int64_t>(kBand * n * k, 1)),
               [&](int64_t lo, int64_t hi) {
                 Odometer<2> at(g, g.sizes.size(), lo / bands);
                 for (int64_t i = lo; i < hi; ++i) {
                   const int64_t first = i % bands * kBand, rows = std::min(kBand, m - first);
                   loop(wide.data_as<T>() + (i / bands * m + first) * n,
                        a.tensor.data_as<T>() + at.offsets()[0] + first * k,
                        b.tensor.data_as<T>() + at.offsets()[1], rows, n, k);
                   if (i % bands == bands - 1) at.step();
                 }
               });
  if (!direct) copy_elements(out, wide);
}

// Returns a copy that BLAS can read, in the stored order of the matrices: a transposing copy takes
// several times as long.
Tensor dense(const Tensor& t, Reading reading) {
  const size_t n = t.sizes().size();
  if (reading != Reading::kMatrix || t.strides()[n - 1] <= t.strides()[n - 2])
    return as_contiguous(t);
  Dims sizes = t.sizes(), strides = t.strides();
  std::swap(sizes[n - 1], sizes[n - 2]);
  std::swap(strides[n - 1], strides[n - 2]);
  const Tensor copy = as_contiguous(alias(t, {sizes, strides, t.offset()}));
  strides = copy.strides();
  std::swap(strides[n - 1], strides[n - 2]);
  return alias(copy, {t.sizes(), strides, copy.offset()});
}

// Multiplies by the loops of bfloat16_product_loops.h, which read a by rows, and b by rows or
// columns. A matrix times a vector is the product of the transposed ones: it has the long side.
void multiply_pairs(const Tensor& out, const Tensor& a, Reading a_reading, const Tensor& b,
                    Reading b_reading, Dims batch, const Scale* scale) {
  const auto by_rows = [](const Matrices& m) { return m.columns <= 1 || m.column_stride == 1; };
  const auto by_columns = [](const Matrices& m) { return m.rows <= 1 || m.row_stride == 1; };
  Matrices x = matrices(a, a_reading, batch.size()), y = matrices(b, b_reading, batch.size());
  const bool to_vector = y.columns == 1;
  if (!by_rows(x) &&
      !(to_vector && x.row_stride == 1))  // one row has any stride, and is not by columns
    x = matrices(as_contiguous(a), a_reading, batch.size());
  if (!by_columns(y) && (to_vector || !by_rows(y)))
    y = matrices(dense(b, b_reading), b_reading, batch.size());
  fold_batch(x, y, batch);
  if (to_vector) {
    std::swap(x, y);
    x = transposed(std::move(x));
    y = transposed(std::move(y));
  }
  multiply_floats(out.data_as<BFloat16>(), x, y, batch, scale);
}

bool keeps_nothing(const Scale* scale) { return !scale || !scale->beta.to_bool(); }

// out = beta * out + product; `product` is null if there is nothing to add.
template <class T>
void combine(T* out, const T* product, int64_t n, const Scale& scale) {
  const T alpha = scale.alpha.to<T>(), beta = scale.beta.to<T>();
  for (int64_t i = 0; i < n; ++i) {
    const auto scaled = static_cast<T>(beta * out[i]);
    out[i] = product ? static_cast<T>(alpha * product[i] + scaled) : scaled;
  }
}

}  // namespace

void multiply(const Tensor& out, const Tensor& a, Reading a_reading, const Tensor& b,
              Reading b_reading, Dims batch, const Scale* scale) {
  if (out.numel() == 0) return;
  const DType dtype = out.dtype();
  if (!scale && a.numel() > 0 && multiplied_small(out, a, b)) return;
  if (dtype == DType::kBFloat16 && bfloat16_product_loops().tiles && a.numel() > 0)
    return multiply_pairs(out, a, a_reading, b, b_reading, std::move(batch), scale);
  if (is_reduced_floating(dtype)) {
    const Tensor wide = keeps_nothing(scale) ? empty(out.sizes(), DType::kFloat32)
                                             : as_contiguous(out, DType::kFloat32);
    multiply(wide, as_contiguous(a, DType::kFloat32), a_reading, as_contiguous(b, DType::kFloat32),
             b_reading, batch, scale);
    return copy_elements(out, wide);
  }
  if (a.numel() == 0) {  // an empty sum
    if (keeps_nothing(scale)) return fill_elements(out, ElementBytes{});
    return visit_any(dtype, [&](auto zero) {
      using T = decltype(zero);
      if constexpr (sizeof(T) > 2 || std::is_integral_v<T>)
        combine(out.data_as<T>(), static_cast<const T*>(nullptr), out.numel(), *scale);
    });
  }
  if (!is_inexact(dtype)) {
    if (scale) {
      const Tensor product = empty(out.sizes(), dtype);
      multiply(product, a, a_reading, b, b_reading, batch);
      if (keeps_nothing(scale)) fill_elements(out, ElementBytes{});
      return visit(dtype, [&](auto zero) {
        using T = decltype(zero);
        if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
          using U = std::make_unsigned_t<T>;  // unsigned: wraps
          combine(out.data_as<U>(), product.data_as<U>(), out.numel(), *scale);
        }
      });
    }
    const DType compute = dtype == DType::kInt64 ? DType::kInt64 : DType::kInt32;
    const Matrices x = matrices(as_contiguous(a, compute), a_reading, batch.size());
    const Matrices y = matrices(as_contiguous(b, compute), b_reading, batch.size());
    if (compute == DType::kInt64) return multiply_integers<int64_t>(out, x, y, batch);
    return multiply_integers<int32_t>(out, x, y, batch);
  }
  Matrices x = matrices(a, a_reading, batch.size()), y = matrices(b, b_reading, batch.size());
  if (!blas_view(x).leading) x = matrices(dense(a, a_reading), a_reading, batch.size());
  if (!blas_view(y).leading) y = matrices(dense(b, b_reading), b_reading, batch.size());
  fold_batch(x, y, batch);
  visit_any(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double> || is_complex_v<T>)
      multiply_floats(out.data_as<T>(), x, y, batch, scale);
  });
}

const char* blas_core_name() { return scipy_openblas_get_corename(); }

}  // namespace uh
