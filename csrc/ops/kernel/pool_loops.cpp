#include "ops/kernel/pool_loops.h"

#include <type_traits>

namespace uh::UH_ISA {
namespace {

// A NaN is larger than everything, the last one of a window too.
template <class T>
inline bool is_larger(T x, T best) {
  return (x > best) | (x != x);
}
template <class T>
inline T larger(T best, T x) {
  return is_larger(x, best) ? x : best;
}

template <class T>
void max_row(T* __restrict best, const T* __restrict in, int64_t n) {
  for (int64_t x = 0; x < n; ++x) best[x] = larger(best[x], in[x]);
}

// Constant steps: the compiler then loads vectors and picks, where it could only gather.
template <class F>
inline void by_step(int64_t step, const F& f) {
  if (step == 1) return f(std::integral_constant<int64_t, 1>());
  if (step == 2) return f(std::integral_constant<int64_t, 2>());
  f(step);
}

template <class T>
void max_step(T* __restrict best, const T* __restrict in, int64_t step, int64_t n) {
  by_step(step, [&](auto s) {
    for (int64_t x = 0; x < n; ++x) best[x] = larger(best[x], in[x * s]);
  });
}

template <class T>
void max_index(T* __restrict best, int64_t* __restrict index, const T* __restrict in, int64_t step,
               int64_t n, int64_t base) {
  by_step(step, [&](auto s) {
    for (int64_t x = 0; x < n; ++x) {
      const T value = in[x * s];
      const bool take = (value > best[x]) | (value != value);
      best[x] = take ? value : best[x];
      index[x] = take ? base + x * s : index[x];
    }
  });
}

template <class T>
void max_window(T* __restrict best, int64_t* __restrict index, const T* __restrict in,
                const int64_t* __restrict offset, int64_t taps, int64_t step, int64_t n,
                int64_t base) {
  const auto run = [&](auto count) {
    for (int64_t x = 0; x < n; ++x, in += step, base += step) {
      T value = in[offset[0]];
      int64_t at = offset[0];
      for (int64_t k = 1; k < count; ++k) {
        const T other = in[offset[k]];
        const bool take = is_larger(other, value);
        value = take ? other : value;
        at = take ? offset[k] : at;
      }
      best[x] = value;
      index[x] = base + at;
    }
  };
  if (taps == 4) return run(std::integral_constant<int64_t, 4>());
  if (taps == 9) return run(std::integral_constant<int64_t, 9>());
  run(taps);
}

template <class T>
void add_step(T* __restrict sum, const T* __restrict in, int64_t step, int64_t n) {
  by_step(step, [&](auto s) {
    for (int64_t x = 0; x < n; ++x) sum[x] += in[x * s];
  });
}
void add_int(int64_t* sum, const int64_t* in, int64_t step, int64_t n) {
  for (int64_t x = 0; x < n; ++x)
    sum[x] =
        static_cast<int64_t>(static_cast<uint64_t>(sum[x]) + static_cast<uint64_t>(in[x * step]));
}

}  // namespace

const AllPoolLoops& pool_loops() {
  static const AllPoolLoops loops{
      {max_row<float>, max_step<float>, max_index<float>, max_window<float>, add_step<float>},
      {max_row<double>, max_step<double>, max_index<double>, max_window<double>, add_step<double>},
      {max_row<int64_t>, max_step<int64_t>, max_index<int64_t>, max_window<int64_t>, add_int}};
  return loops;
}

}  // namespace uh::UH_ISA
