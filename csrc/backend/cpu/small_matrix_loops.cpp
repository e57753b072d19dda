#include "backend/cpu/small_matrix_loops.h"

#include <utility>

#include "backend/cpu/vectors.h"

namespace uh::UH_ISA {
namespace {

template <class T>
T root(T v) {
  if constexpr (sizeof(T) == 4)
    return __builtin_sqrtf(v);
  else
    return __builtin_sqrt(v);
}
template <class T>
T magnitude(T v) {
  return v < 0 ? -v : v;
}

// A row of P numbers in registers. Rows are padded to P, so that no loop has a remainder.
template <class T, int P>
struct Row {
  static constexpr int kLanes = P < Lanes<T>::kCount ? P : static_cast<int>(Lanes<T>::kCount);
  static constexpr int kParts = P / kLanes;
  typedef T Part __attribute__((vector_size(kLanes * sizeof(T))));
  Part part[kParts];

  [[gnu::always_inline]] void add_times(T factor, const Row& other) {
#pragma GCC unroll 16
    for (int i = 0; i < kParts; ++i) part[i] += factor * other.part[i];
  }
  // With rounded products, not fused multiply-adds, which leave a residue instead of 0 where a
  // product is the number itself: more singular matrices get a pivot of exactly 0.
  [[gnu::always_inline]] void subtract_rounded(T factor, const Row& other) {
#pragma GCC unroll 16
    for (int i = 0; i < kParts; ++i) {
      Part product = factor * other.part[i];
#ifdef __x86_64__
      asm("" : "+x"(product));
#endif
      part[i] -= product;
    }
  }
  [[gnu::always_inline]] void scale(T factor) {
#pragma GCC unroll 16
    for (int i = 0; i < kParts; ++i) part[i] *= factor;
  }
  [[gnu::always_inline]] void divide(T by) {
#pragma GCC unroll 16
    for (int i = 0; i < kParts; ++i) part[i] /= by;
  }
  [[gnu::always_inline]] static T dot(const Row& a, const Row& b) {
    Part products = a.part[0] * b.part[0];
#pragma GCC unroll 16
    for (int i = 1; i < kParts; ++i) products += a.part[i] * b.part[i];
    T sum = 0;
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) sum += products[i];
    return sum;
  }
  [[gnu::always_inline]] T* numbers() { return reinterpret_cast<T*>(part); }
  [[gnu::always_inline]] const T* numbers() const { return reinterpret_cast<const T*>(part); }
};

template <class T, int P>
struct Matrix {
  Row<T, P> row[P];

  // Reads a row-major m x n matrix, P >= n. Returns false if LAPACK would scale it.
  bool read(const T* a, int64_t m, int64_t n) {
    constexpr T kHigh = T(0x1p50), kLow = T(0x1p-50);
    using Part = typename Row<T, P>::Part;
    auto scaled = Part{} != Part{}, some = scaled, normal = scaled;
    for (int64_t r = 0; r < m; ++r) {
      row[r] = {};
      for (int64_t c = 0; c < n; ++c) row[r].numbers()[c] = a[r * n + c];
#pragma GCC unroll 16
      for (const Part& part : row[r].part) {
        const Part size = part < 0 ? -part : part;
        scaled |= ~(size <= kHigh);  // or NaN
        some |= size > 0;
        normal |= size >= kLow;
      }
    }
    bool too_large = false, any = false, enough = false;
#pragma GCC unroll 16
    for (int i = 0; i < Row<T, P>::kLanes; ++i) {
      too_large |= scaled[i] != 0;
      any |= some[i] != 0;
      enough |= normal[i] != 0;
    }
    return !too_large && (enough || !any);
  }
  // Reads the transposed matrix, P >= m.
  bool read_turned(const T* a, int64_t m, int64_t n) {
    T turned[P * P];
    for (int64_t r = 0; r < m; ++r)
      for (int64_t c = 0; c < n; ++c) turned[c * m + r] = a[r * n + c];
    return read(turned, n, m);
  }
  void set_identity(int64_t n) {
    for (int64_t r = 0; r < n; ++r) {
      row[r] = {};
      row[r].numbers()[r] = 1;
    }
  }
  void write(T* to, int64_t rows, int64_t columns) const {
    for (int64_t c = 0; c < columns; ++c)
      for (int64_t r = 0; r < rows; ++r) to[c * rows + r] = row[r].numbers()[c];
  }
};

// H = 1 - tau v v^T with v[0] = 1 maps x to (result, 0, ..., 0).
template <class T>
struct Reflection {
  T result, tau;
};

// LAPACK's larfg; v replaces x.
template <class T>
Reflection<T> reflection(T* x, int64_t n) {
  constexpr bool kFloat = sizeof(T) == 4;
  constexpr T kTiny = kFloat ? T(0x1p-90) : T(0x1p-900);  // squares of smaller numbers underflow
  constexpr T kLift = kFloat ? T(0x1p100) : T(0x1p900);
  T sum = 0, sizes = 0;
  for (int64_t i = 1; i < n; ++i) {
    sum += x[i] * x[i];
    sizes += magnitude(x[i]);
  }
  if (sizes == 0) return {std::exchange(x[0], T(1)), 0};
  const bool tiny = x[0] * x[0] + sum < kTiny;
  if (tiny) {
    sum = 0;
    for (int64_t i = 0; i < n; ++i) x[i] *= kLift;
    for (int64_t i = 1; i < n; ++i) sum += x[i] * x[i];
  }
  const T length = root(x[0] * x[0] + sum), result = -__builtin_copysign(length, x[0]);
  const T tau = (result - x[0]) / result, scale = 1 / (x[0] - result);
  x[0] = 1;
  for (int64_t i = 1; i < n; ++i) x[i] *= scale;
  return {tiny ? result / kLift : result, tau};
}

// a = H a for the first `rows` rows of a.
template <class T, int P>
void reflect(Row<T, P>* a, const T* v, int64_t rows, T tau) {
  Row<T, P> sum{};
  for (int64_t r = 0; r < rows; ++r) sum.add_times(v[r], a[r]);
  sum.scale(tau);
  for (int64_t r = 0; r < rows; ++r) a[r].add_times(-v[r], sum);
}

// A product of reflections H_0 H_1 ..., of which H_j acts on rows j + first and below.
template <class T, int P>
struct Reflections {
  T v[P][P], tau[P];

  void multiply(Matrix<T, P>& q, int64_t count, int64_t first, int64_t rows) const {
    for (int64_t j = count - 1; j >= 0; --j)
      if (tau[j] != 0) reflect<T, P>(q.row + j + first, v[j], rows - j - first, tau[j]);
  }
};

template <int P, class T>
bool qr(const T* from, int64_t m, int64_t n, int64_t k, T* q, T* r) {
  Matrix<T, P> a;
  Reflections<T, P> by;
  if (!a.read(from, m, n)) return false;
  const int64_t count = m < n ? m : n;
  for (int64_t j = 0; j < count; ++j) {
    for (int64_t i = j; i < m; ++i) by.v[j][i - j] = a.row[i].numbers()[j];
    const Reflection<T> h = reflection(by.v[j], m - j);
    by.tau[j] = h.tau;
    // The columns before j, which are 0 below row j, stay as they are.
    if (h.tau != 0) reflect<T, P>(a.row + j, by.v[j], m - j, h.tau);
    a.row[j].numbers()[j] = h.result;
    for (int64_t i = j + 1; i < m; ++i) a.row[i].numbers()[j] = 0;
  }
  a.write(r, k, n);
  if (!q) return true;
  a.set_identity(m);
  by.multiply(a, count, 0, m);
  a.write(q, m, k);
  return true;
}

// Solves r x = x in place, for an upper triangular matrix.
template <int P, class T>
[[gnu::always_inline]] inline void back_substitute(const Matrix<T, P>& r, int64_t n,
                                                   Matrix<T, P>& x) {
  for (int64_t k = n - 1; k >= 0; --k) {
    x.row[k].divide(r.row[k].numbers()[k]);
    for (int64_t i = 0; i < k; ++i) x.row[i].add_times(-r.row[i].numbers()[k], x.row[k]);
  }
}

template <int P, class T>
bool invert(const T* from, int64_t n, T* inverse, int32_t* info) {
  Matrix<T, P> a, b;
  if (!a.read(from, n, n)) return false;
  b.set_identity(n);
  *info = 0;
  for (int64_t k = 0; k < n; ++k) {
    int64_t pivot = k;
    for (int64_t r = k + 1; r < n; ++r)
      if (magnitude(a.row[r].numbers()[k]) > magnitude(a.row[pivot].numbers()[k])) pivot = r;
    std::swap(a.row[k], a.row[pivot]);
    std::swap(b.row[k], b.row[pivot]);
    if (a.row[k].numbers()[k] == 0) {
      if (*info == 0) *info = static_cast<int32_t>(k + 1);
      continue;
    }
    for (int64_t r = k + 1; r < n; ++r) {
      const T factor = a.row[r].numbers()[k] / a.row[k].numbers()[k];
      a.row[r].subtract_rounded(factor, a.row[k]);
      b.row[r].subtract_rounded(factor, b.row[k]);
    }
  }
  back_substitute<P>(a, n, b);
  b.write(inverse, n, n);
  return true;
}

template <int P, class T>
bool bidiagonal(const T* from, int64_t m, int64_t n, T* d, T* e) {
  Matrix<T, P> a;
  if (!(m < n ? a.read_turned(from, m, n) : a.read(from, m, n))) return false;
  if (m < n) std::swap(m, n);
  for (int64_t j = 0; j < n; ++j) {
    T column[P];
    for (int64_t i = j; i < m; ++i) column[i - j] = a.row[i].numbers()[j];
    const Reflection<T> left = reflection(column, m - j);
    d[j] = left.result;
    if (left.tau != 0) reflect<T, P>(a.row + j, column, m - j, left.tau);
    if (j + 1 == n) break;
    Row<T, P> row{};
    for (int64_t i = j + 1; i < n; ++i) row.numbers()[i] = a.row[j].numbers()[i];
    const Reflection<T> right = reflection(row.numbers() + j + 1, n - j - 1);
    e[j] = right.result;
    if (right.tau == 0) continue;
    for (int64_t i = j + 1; i < m; ++i)
      a.row[i].add_times(-right.tau * Row<T, P>::dot(a.row[i], row), row);
  }
  return true;
}

template <int P, class T>
bool tridiagonal(const T* from, int64_t n, T* d, T* e, T* q) {
  Matrix<T, P> a;
  Reflections<T, P> by;
  T symmetric[P * P];
  for (int64_t r = 0; r < n; ++r)
    for (int64_t c = 0; c <= r; ++c) symmetric[r * n + c] = symmetric[c * n + r] = from[r * n + c];
  if (!a.read(symmetric, n, n)) return false;
  for (int64_t j = 0; j + 1 < n; ++j) {
    Row<T, P> v{};
    for (int64_t i = j + 1; i < n; ++i) v.numbers()[i] = a.row[j].numbers()[i];
    const Reflection<T> h = reflection(v.numbers() + j + 1, n - j - 1);
    for (int64_t i = j + 1; i < n; ++i) by.v[j][i - j - 1] = v.numbers()[i];
    by.tau[j] = h.tau;
    e[j] = h.result;
    if (h.tau == 0) continue;
    // H a H = a - v w^T - w v^T with w = tau a v - (tau^2 / 2) (v^T a v) v.
    Row<T, P> w{};
    for (int64_t i = j + 1; i < n; ++i) w.add_times(v.numbers()[i], a.row[i]);
    w.scale(h.tau);
    w.add_times(T(-0.5) * h.tau * Row<T, P>::dot(w, v), v);
    for (int64_t i = j + 1; i < n; ++i) {
      a.row[i].add_times(-v.numbers()[i], w);
      a.row[i].add_times(-w.numbers()[i], v);
    }
  }
  for (int64_t j = 0; j < n; ++j) d[j] = a.row[j].numbers()[j];
  if (!q) return true;
  a.set_identity(n);
  by.multiply(a, n - 1, 1, n);
  a.write(q, n, n);
  return true;
}

template <int P, class T>
[[gnu::always_inline]] inline T sum_of_squares(const Matrix<T, P>& a, int64_t rows) {
  T sum = 0;
  for (int64_t r = 0; r < rows; ++r) sum += Row<T, P>::dot(a.row[r], a.row[r]);
  return sum;
}

template <int P, class T>
bool least_squares(const T* from, int64_t m, int64_t n, T* right, int64_t count, T rcond) {
  Matrix<T, P> a, b, inverse;
  if (!a.read_turned(from, n, m) || !b.read_turned(right, count, m)) return false;
  for (int64_t j = 0; j < n; ++j) {
    T v[P];
    for (int64_t i = j; i < m; ++i) v[i - j] = a.row[i].numbers()[j];
    const Reflection<T> h = reflection(v, m - j);
    if (h.result == 0) return false;
    if (h.tau != 0) {
      reflect<T, P>(a.row + j, v, m - j, h.tau);
      reflect<T, P>(b.row + j, v, m - j, h.tau);
    }
    a.row[j].numbers()[j] = h.result;
    for (int64_t i = j + 1; i < m; ++i) a.row[i].numbers()[j] = 0;
  }
  inverse.set_identity(n);
  back_substitute<P>(a, n, inverse);
  const T condition = root(sum_of_squares<P>(a, n)) * root(sum_of_squares<P>(inverse, n));
  if (!(condition * rcond < 1)) return false;
  back_substitute<P>(a, n, b);
  b.write(right, m, count);
  return true;
}

// Calls f.operator()<P>() with the smallest padded size.
template <class F>
bool padded(int64_t size, const F& f) {
  if (size <= 4) return f.template operator()<4>();
  if (size <= 8) return f.template operator()<8>();
  if (size <= 16) return f.template operator()<16>();
  return f.template operator()<32>();
}

template <class T>
SmallMatrixTable<T> table() {
  return {[](const T* a, int64_t m, int64_t n, int64_t k, T* q, T* r) {
            return padded(m > n ? m : n, [&]<int P>() { return qr<P>(a, m, n, k, q, r); });
          },
          [](const T* a, int64_t n, T* inverse, int32_t* info) {
            return padded(n, [&]<int P>() { return invert<P>(a, n, inverse, info); });
          },
          [](const T* a, int64_t m, int64_t n, T* d, T* e) {
            return padded(m > n ? m : n, [&]<int P>() { return bidiagonal<P>(a, m, n, d, e); });
          },
          [](const T* a, int64_t n, T* d, T* e, T* q) {
            return padded(n, [&]<int P>() { return tridiagonal<P>(a, n, d, e, q); });
          },
          [](const T* a, int64_t m, int64_t n, T* b, int64_t count, T rcond) {
            return padded(m > count ? m : count,
                          [&]<int P>() { return least_squares<P>(a, m, n, b, count, rcond); });
          }};
}

}  // namespace

const SmallMatrixLoops& small_matrix_loops() {
  static const SmallMatrixLoops loops{table<float>(), table<double>()};
  return loops;
}

}  // namespace uh::UH_ISA
