// The three transforms of which torch.fft is composed: complex to complex, real to complex, complex
// to real.
#include <algorithm>
#include <cmath>

#include "backend/cpu/copy/elements.h"
#include "backend/cpu/fft/transform.h"
#include "backend/cpu/fft_loops.h"
#include "base/parallel.h"
#include "generated/kernels/fft.h"
#include "generated/ops/fft.h"
#include "generated/ops/view.h"
#include "ops/fft/shapes.h"

namespace uh::kernels {
namespace {

double factor(const Dims& sizes, const Dims& dims, int64_t normalization) {
  double n = 1;
  for (int64_t d : dims) n *= static_cast<double>(sizes[static_cast<size_t>(d)]);
  return normalization == 0 ? 1 : normalization == 1 ? 1 / std::sqrt(n) : 1 / n;
}

// The start of each line of a tensor along one dimension.
struct Lines {
  int64_t count, step;
  Dims sizes, strides;

  Lines(const Dims& all_sizes, const Dims& all_strides, int64_t dim)
      : count(1), step(all_strides[static_cast<size_t>(dim)]) {
    for (size_t d = 0; d < all_sizes.size(); ++d) {
      if (static_cast<int64_t>(d) == dim) continue;
      sizes.push_back(all_sizes[d]);
      strides.push_back(all_strides[d]);
      count *= all_sizes[d];
    }
  }
  int64_t start(int64_t line) const {
    int64_t at = 0;
    for (size_t d = sizes.size(); d-- > 0; line /= sizes[d]) at += line % sizes[d] * strides[d];
    return at;
  }
};

constexpr int64_t kTogether = 8;  // lines processed together: neighbours share cache lines

// Transforms each line of `from` into the corresponding line of `to`: read(at, step, re, im) loads
// the input of `transform`, write(at, step, re, im) stores its output.
template <class R, class From, class To, class Read, class Write>
void each_line(const From* from, const Lines& source, To* to, const Lines& target, int64_t length,
               const Transform<R>& transform, bool forward, const Read& read, const Write& write) {
  const int64_t grain = std::max<int64_t>(1, 4096 / length);
  parallel_for(0, source.count, grain, [&](int64_t lo, int64_t hi) {
    const bool apart = source.step != 1 || target.step != 1;
    const int64_t together = apart && length <= 4096 ? kTogether : 1;
    std::vector<R> room(static_cast<size_t>(2 * length * (together + 1)));
    R* const spare = room.data() + 2 * length * together;
    for (int64_t first = lo; first < hi; first += together) {
      const int64_t count = std::min(together, hi - first);
      const From* at[kTogether];
      To* target_at[kTogether];
      for (int64_t i = 0; i < count; ++i) {
        at[i] = from + source.start(first + i);
        target_at[i] = to + target.start(first + i);
      }
      read(at, source.step, room.data(), count);
      for (int64_t i = 0; i < count; ++i) {
        R *re = room.data() + 2 * length * i, *im = re + length;
        if (!forward) std::swap(re, im);
        transform.run(re, im, spare);
      }
      write(target_at, target.step, room.data(), count);
    }
  });
}

// Returns a dimension other than `dim` along which the lines of both tensors are adjacent, or -1.
int64_t side_by_side(const Tensor& from, const Tensor& to, int64_t dim) {
  for (int64_t d = 0; d < to.ndim(); ++d)
    if (d != dim && to.size(d) >= kTogether && from.stride(d) == 1 && to.stride(d) == 1) return d;
  return -1;
}

// Transforms lines that are adjacent along `across` together, one per lane.
template <class R>
void transform_columns(const Tensor& from, const Tensor& to, int64_t dim, int64_t across,
                       bool forward, R scale, const Transform<R>& transform) {
  using C = Complex<R>;
  constexpr int64_t kMaxLines = 64 / static_cast<int64_t>(sizeof(R));
  const FftTable<R>& loops = fft_loops().of<R>();
  const int64_t n = to.size(dim), width = to.size(across);
  const int64_t blocks = (width + kMaxLines - 1) / kMaxLines;
  const auto without = [&](const Tensor& t) {  // the lines of the first column
    Dims sizes = t.sizes();
    sizes[static_cast<size_t>(across)] = 1;
    return Lines(sizes, t.strides(), dim);
  };
  const Lines source = without(from), target = without(to);
  parallel_for(
      0, source.count * blocks, std::max<int64_t>(1, 1024 / n), [&](int64_t lo, int64_t hi) {
        std::vector<R> room(static_cast<size_t>(4 * n * kMaxLines));
        for (int64_t i = lo; i < hi; ++i) {
          const int64_t first = i % blocks * kMaxLines, count = std::min(kMaxLines, width - first);
          R *const re = room.data(), *const im = re + n * count, *const spare = im + n * count;
          const C* at = from.data_as<C>() + source.start(i / blocks) + first;
          for (int64_t k = 0; k < n; ++k, at += source.step)
            loops.split(re + k * count, im + k * count, &at->re, count);
          transform.run(forward ? re : im, forward ? im : re, spare, count);
          C* target_at = to.data_as<C>() + target.start(i / blocks) + first;
          for (int64_t k = 0; k < n; ++k, target_at += target.step)
            loops.join(&target_at->re, re + k * count, im + k * count, count, scale);
        }
      });
}

// Transforms each line of `from` along `dim` into the same line of `to`, which may be `from`.
template <class R>
void transform_lines(const Tensor& from, const Tensor& to, int64_t dim, bool forward, R scale) {
  using C = Complex<R>;
  const int64_t n = to.size(dim);
  const auto transform = Transform<R>::of(n);
  const FftTable<R>& loops = fft_loops().of<R>();
  const int64_t across = transform->runs_together() ? side_by_side(from, to, dim) : -1;
  if (across >= 0) {
    transform_columns(from, to, dim, across, forward, scale, *transform);
    return;
  }
  const auto read = [&](const C* const* at, int64_t step, R* room, int64_t count) {
    if (step == 1 && n > 1) {
      for (int64_t i = 0; i < count; ++i, room += 2 * n) loops.split(room, room + n, &at[i]->re, n);
      return;
    }
    for (int64_t k = 0; k < n; ++k) {
      for (int64_t i = 0; i < count; ++i) {
        const C value = at[i][k * step];
        room[2 * n * i + k] = value.re;
        room[2 * n * i + n + k] = value.im;
      }
    }
  };
  const auto write = [&](C* const* at, int64_t step, const R* room, int64_t count) {
    if (step == 1 && n > 1) {
      for (int64_t i = 0; i < count; ++i, room += 2 * n)
        loops.join(&at[i]->re, room, room + n, n, scale);
      return;
    }
    for (int64_t k = 0; k < n; ++k)
      for (int64_t i = 0; i < count; ++i)
        at[i][k * step] = C(room[2 * n * i + k] * scale, room[2 * n * i + n + k] * scale);
  };
  each_line<R, C, C>(from.data_as<C>(), Lines(from.sizes(), from.strides(), dim), to.data_as<C>(),
                     Lines(to.sizes(), to.strides(), dim), n, *transform, forward, read, write);
}

// Transforms real lines to the first half of their spectra. An even length n is treated as n / 2
// complex numbers z = even + i odd, with transforms Z, E and O:
//   E[k] = (Z[k] + conj(Z[n/2 - k])) / 2,  O[k] = (Z[k] - conj(Z[n/2 - k])) / 2i,
//   out[k] = E[k] + exp(-2 pi i k / n) O[k].
template <class R>
void real_to_half(const Tensor& self, const Tensor& out, int64_t dim, R scale) {
  using C = Complex<R>;
  const int64_t n = self.size(dim), half = n / 2;
  const bool even = n % 2 == 0;
  const int64_t length = even ? half : n;
  const auto transform = Transform<R>::of(length);
  const FftTable<R>& loops = fft_loops().of<R>();
  std::vector<C> roots;
  for (int64_t k = 0; even && k <= half; ++k) roots.push_back(C(root_of_unity(k, n)));
  const auto read = [&](const R* const* at, int64_t step, R* room, int64_t count) {
    if (even && step == 1) {
      for (int64_t i = 0; i < count; ++i, room += 2 * length)
        loops.split(room, room + length, at[i], length);
      return;
    }
    for (int64_t k = 0; k < length; ++k) {
      for (int64_t i = 0; i < count; ++i) {
        R* const re = room + 2 * length * i;
        re[k] = even ? at[i][2 * k * step] : at[i][k * step];
        re[length + k] = even ? at[i][(2 * k + 1) * step] : R(0);
      }
    }
  };
  const auto write = [&](C* const* to, int64_t step, const R* room, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      const R *re = room + 2 * length * i, *im = re + length;
      C* const line = to[i];
      if (!even) {
        for (int64_t k = 0; k <= half; ++k) line[k * step] = C(re[k] * scale, im[k] * scale);
        continue;
      }
      const R by = scale / 2;
      line[0] = C((re[0] + im[0]) * scale, R(0));
      line[half * step] = C((re[0] - im[0]) * scale, R(0));
      for (int64_t k = 1; k < half; ++k) {
        const C z(re[k], im[k]), mirror(re[half - k], -im[half - k]);
        const C sum = z + mirror, turn = roots[static_cast<size_t>(k)] * (z - mirror);
        line[k * step] = C((sum.re + turn.im) * by, (sum.im - turn.re) * by);
      }
    }
  };
  each_line<R, R, C>(self.data_as<R>(), Lines(self.sizes(), self.strides(), dim), out.data_as<C>(),
                     Lines(out.sizes(), out.strides(), dim), length, *transform, true, read, write);
}

// The inverse of real_to_half.
template <class R>
void half_to_real(const Tensor& self, const Tensor& out, int64_t dim, R scale) {
  using C = Complex<R>;
  const int64_t n = out.size(dim), half = n / 2;
  const bool even = n % 2 == 0;
  const int64_t length = even ? half : n;
  const auto transform = Transform<R>::of(length);
  const FftTable<R>& loops = fft_loops().of<R>();
  std::vector<C> roots;
  for (int64_t k = 0; even && k <= half; ++k) roots.push_back(conj(C(root_of_unity(k, n))));
  const auto read = [&](const C* const* at, int64_t step, R* room, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      R *re = room + 2 * length * i, *im = re + length;
      const C* const line = at[i];
      if (!even) {  // mirrors the other half; ignores imaginary parts that must be 0
        re[0] = line[0].re;
        im[0] = 0;
        for (int64_t k = 1; k <= half; ++k) {
          const C value = line[k * step];
          re[k] = re[n - k] = value.re;
          im[k] = value.im;
          im[n - k] = -value.im;
        }
        continue;
      }
      const R first = line[0].re, last = line[half * step].re;
      re[0] = first + last;
      im[0] = first - last;
      for (int64_t k = 1; k < half; ++k) {
        const C value = line[k * step], mirror = conj(line[(half - k) * step]);
        const C sum = value + mirror, turn = roots[static_cast<size_t>(k)] * (value - mirror);
        re[k] = sum.re - turn.im;
        im[k] = sum.im + turn.re;
      }
    }
  };
  const auto write = [&](R* const* to, int64_t step, const R* room, int64_t count) {
    if (even && step == 1) {
      for (int64_t i = 0; i < count; ++i, room += 2 * length)
        loops.join(to[i], room, room + length, length, scale);
      return;
    }
    for (int64_t k = 0; k < length; ++k) {
      for (int64_t i = 0; i < count; ++i) {
        const R* const re = room + 2 * length * i;
        if (even) {
          to[i][2 * k * step] = re[k] * scale;
          to[i][(2 * k + 1) * step] = re[length + k] * scale;
        } else {
          to[i][k * step] = re[k] * scale;
        }
      }
    }
  };
  each_line<R, C, R>(self.data_as<C>(), Lines(self.sizes(), self.strides(), dim), out.data_as<R>(),
                     Lines(out.sizes(), out.strides(), dim), length, *transform, false, read,
                     write);
}

// Transforms all dims of complex `from` into `to`; the last one applies the factor.
void transform_dims(Tensor from, const Tensor& to, const Dims& dims, bool forward, double scale) {
  if (to.numel() == 0) return;
  if (dims.empty() && !from.is_same(to)) copy_elements(to, from);
  for (size_t i = 0; i < dims.size(); ++i, from = to) {
    const double by = i + 1 == dims.size() ? scale : 1;
    if (to.dtype() == DType::kComplex64)
      transform_lines<float>(from, to, dims[i], forward, static_cast<float>(by));
    else
      transform_lines<double>(from, to, dims[i], forward, by);
  }
}

}  // namespace

void fft_c2c(const Tensor& self, const Dims& dim, int64_t normalization, bool forward,
             const Tensor& out) {
  const Dims dims = fft_dims(self, dim, "_fft_c2c");
  transform_dims(self, out, dims, forward, factor(self.sizes(), dims, normalization));
}

void fft_r2c(const Tensor& self, const Dims& dim, int64_t normalization, bool onesided,
             const Tensor& out) {
  if (out.numel() == 0) return;
  const Dims dims = fft_dims(self, dim, "_fft_r2c");
  const double scale = factor(self.sizes(), dims, normalization);
  if (!onesided || dims.empty()) {
    copy_elements(out, self);
    transform_dims(out, out, dims, true, scale);
  } else {  // the last dimension first: only half of it remains for the others
    if (self.dtype() == DType::kFloat32)
      real_to_half<float>(self, out, dims.back(), static_cast<float>(scale));
    else
      real_to_half<double>(self, out, dims.back(), scale);
    transform_dims(out, out, Dims(IntSpan(dims.data(), dims.size() - 1)), true, 1);
  }
}

void fft_c2r(const Tensor& self, const Dims& dim, int64_t normalization, int64_t last_dim_size,
             const Tensor& out) {
  if (out.numel() == 0) return;
  const Dims dims = fft_dims(self, dim, "_fft_c2r");
  const int64_t last = dims.back();
  // Transforms the relevant half along the other dimensions, then the last one.
  Dims half = out.sizes();
  half[static_cast<size_t>(last)] = last_dim_size / 2 + 1;
  Tensor input = alias(self, {half, self.strides(), self.offset()});
  if (dims.size() > 1) {
    const Tensor own = empty_fft_result(self, half, dims, self.dtype(), true);
    transform_dims(input, own, Dims(IntSpan(dims.data(), dims.size() - 1)), false, 1);
    input = own;
  }
  const double scale = factor(out.sizes(), dims, normalization);
  if (self.dtype() == DType::kComplex64)
    half_to_real<float>(input, out, last, static_cast<float>(scale));
  else
    half_to_real<double>(input, out, last, scale);
}

}  // namespace uh::kernels
