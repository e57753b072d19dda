// The operators of random.yaml.
#include <cmath>
#include <cstring>

#include "backend/cpu/copy/elements.h"
#include "backend/cpu/random_loops.h"
#include "base/parallel.h"
#include "generated/kernels/random.h"
#include "ops/random/generator.h"
#include "ops/random/real_parts.h"
#include "ops/random/shuffle.h"

namespace uh::kernels {
namespace {

constexpr int64_t kRandomGrain = 256;  // groups of 64 words

// Fills n contiguous elements: loop(out, seed, counter, groups) fills `per_group` at a time.
template <class T, class Loop>
void draw(T* out, int64_t n, int64_t per_group, const Loop& loop) {
  const int64_t groups = (n + per_group - 1) / per_group;
  const random::State start =
      random::reserve(static_cast<uint64_t>(groups * RandomLoops::kCounters));
  parallel_for(0, groups, kRandomGrain, [&](int64_t lo, int64_t hi) {
    const uint64_t counter = start.offset + static_cast<uint64_t>(lo * RandomLoops::kCounters);
    const int64_t full_groups = std::min(hi, n / per_group);
    if (full_groups > lo) loop(out + lo * per_group, start.seed, counter, full_groups - lo);
    if (hi <= full_groups) return;
    T last[RandomLoops::kWords];
    loop(last, start.seed,
         start.offset + static_cast<uint64_t>(full_groups * RandomLoops::kCounters), int64_t{1});
    std::memcpy(out + full_groups * per_group, last,
                static_cast<size_t>(n - full_groups * per_group) * sizeof(T));
  });
}

// Draws contiguous T into `self` of any layout and dtype, in place if it is contiguous T.
template <class T, class Loop>
void draw_into(const Tensor& self, int64_t per_group, const Loop& loop) {
  const bool direct = self.is_contiguous() && self.dtype() == dtype_of<T>::value;
  const Tensor target = direct ? self : empty(self.sizes(), dtype_of<T>::value);
  draw(target.data_as<T>(), target.numel(), per_group, loop);
  if (!direct) copy_elements(self, target);
}

void draw_uniform(const Tensor& self, double lo, double hi) {
  if (is_complex(self.dtype())) return draw_uniform(real_parts(self), lo, hi);
  const RandomLoops& loops = random_loops();
  if (self.dtype() == DType::kFloat64) {
    return draw_into<double>(self, RandomLoops::kWords / 2,
                             [&](double* out, uint64_t seed, uint64_t counter, int64_t groups) {
                               loops.uniform_double(out, seed, counter, groups, lo, hi - lo);
                             });
  }
  draw_into<float>(self, RandomLoops::kWords,
                   [&](float* out, uint64_t seed, uint64_t counter, int64_t groups) {
                     loops.uniform_float(out, seed, counter, groups, static_cast<float>(lo),
                                         static_cast<float>(hi - lo));
                   });
}

// The variance of a complex draw is the sum over both parts; both have the mean.
void draw_normal(const Tensor& self, double mean, double std) {
  if (is_complex(self.dtype())) return draw_normal(real_parts(self), mean, std * std::sqrt(0.5));
  const RandomLoops& loops = random_loops();
  if (self.dtype() == DType::kFloat64) {
    return draw_into<double>(self, RandomLoops::kWords / 2,
                             [&](double* out, uint64_t seed, uint64_t counter, int64_t groups) {
                               loops.normal_double(out, seed, counter, groups, mean, std);
                             });
  }
  draw_into<float>(self, RandomLoops::kWords,
                   [&](float* out, uint64_t seed, uint64_t counter, int64_t groups) {
                     loops.normal_float(out, seed, counter, groups, static_cast<float>(mean),
                                        static_cast<float>(std));
                   });
}

// Integers in [low, low + range): the high half of word * range is uniform up to range / 2^32 or
// 2^64.
void draw_integers(const Tensor& self, int64_t low, uint64_t range) {
  const RandomLoops& loops = random_loops();
  const bool narrow = range <= uint64_t{1} << 32;
  const int64_t per_group = narrow ? RandomLoops::kWords : RandomLoops::kWords / 2;
  draw_into<int64_t>(
      self, per_group, [&](int64_t* out, uint64_t seed, uint64_t counter, int64_t groups) {
        uint32_t w[RandomLoops::kWords];
        for (int64_t g = 0; g < groups; ++g, out += per_group, counter += RandomLoops::kCounters) {
          loops.words(w, seed, counter, 1);
          for (int64_t i = 0; i < per_group; ++i) {
            const uint64_t draw =
                narrow ? (uint64_t{w[i]} * range) >> 32
                       : static_cast<uint64_t>(
                             ((static_cast<unsigned __int128>(w[i]) << 32 | w[i + per_group]) *
                              range) >>
                             64);
            out[i] = static_cast<int64_t>(static_cast<uint64_t>(low) + draw);
          }
        }
      });
}

void draw_between(const Tensor& self, int64_t low, int64_t high) {
  draw_integers(self, low, static_cast<uint64_t>(high) - static_cast<uint64_t>(low));
}

}  // namespace

void rand(const Dims&, DType, Device, const Tensor& result) { draw_uniform(result, 0, 1); }
void randn(const Dims&, DType, Device, const Tensor& result) { draw_normal(result, 0, 1); }

void rand_like(const Tensor&, DType, Device, MemoryFormat, const Tensor& result) {
  draw_uniform(result, 0, 1);
}
void randn_like(const Tensor&, DType, Device, MemoryFormat, const Tensor& result) {
  draw_normal(result, 0, 1);
}

void randint(int64_t low, int64_t high, const Dims&, DType, Device, const Tensor& result) {
  draw_between(result, low, high);
}
void randint_like(const Tensor&, int64_t low, int64_t high, DType, Device, MemoryFormat,
                  const Tensor& result) {
  draw_between(result, low, high);
}

void randperm(int64_t n, DType, Device, const Tensor& result) {
  const bool direct = result.dtype() == DType::kInt64;
  const Tensor order = direct ? result : empty(result.sizes(), DType::kInt64);
  const Tensor draws = empty(result.sizes(), DType::kInt64);
  draw_integers(draws, 0, uint64_t{1} << 63);
  shuffle(order.data_as<int64_t>(), draws.data_as<uint64_t>(), n);
  if (!direct) copy_elements(result, order);
}

void uniform(const Tensor& self, double from, double to) { draw_uniform(self, from, to); }
void normal(const Tensor& self, double mean, double std) { draw_normal(self, mean, std); }
void random(const Tensor& self, int64_t low, int64_t high) { draw_between(self, low, high); }

void bernoulli_inplace(const Tensor& self, double p) {
  const auto bound = static_cast<uint64_t>(p * 0x1p32);
  const RandomLoops& loops = random_loops();
  draw_into<uint8_t>(self, RandomLoops::kWords,
                     [&](uint8_t* out, uint64_t seed, uint64_t counter, int64_t groups) {
                       uint32_t w[RandomLoops::kWords];
                       for (int64_t g = 0; g < groups;
                            ++g, out += RandomLoops::kWords, counter += RandomLoops::kCounters) {
                         loops.words(w, seed, counter, 1);
                         for (int64_t i = 0; i < RandomLoops::kWords; ++i) out[i] = w[i] < bound;
                       }
                     });
}

}  // namespace uh::kernels
