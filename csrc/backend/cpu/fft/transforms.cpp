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
// the input of `transform`, write(at, step, re, im) stores its output. Both may use `spare`, which
// has room for length + 1 complex numbers.
template <class R, class From, class To, class Read, class Write>
void each_line(const From* from, const Lines& source, To* to, const Lines& target, int64_t length,
               const Transform<R>& transform, bool forward, const Read& read, const Write& write) {
  const int64_t grain = std::max<int64_t>(1, 4096 / length);
  parallel_for(0, source.count, grain, [&](int64_t lo, int64_t hi) {
    const bool apart = source.step != 1 || target.step != 1;
    const int64_t together = apart && length <= 4096 ? kTogether : 1;
    std::vector<R> room(static_cast<size_t>(2 * length * (together + 1) + 2));
    R* const spare = room.data() + 2 * length * together;
    for (int64_t first = lo; first < hi; first += together) {
      const int64_t count = std::min(together, hi - first);
      const From* at[kTogether];
      To* target_at[kTogether];
      for (int64_t i = 0; i < count; ++i) {
        at[i] = from + source.start(first + i);
        target_at[i] = to + target.start(first + i);
      }
      read(at, source.step, room.data(), count, spare);
      for (int64_t i = 0; i < count; ++i) {
        R *re = room.data() + 2 * length * i, *im = re + length;
        if (!forward) std::swap(re, im);
        transform.run(re, im, spare);
      }
      write(target_at, target.step, room.data(), count, spare);
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
  const auto read = [&](const C* const* at, int64_t step, R* room, int64_t count, R*) {
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
  const auto write = [&](C* const* at, int64_t step, const R* room, int64_t count, R*) {
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

// Transforms real lines to their spectra, or the first half of them as `out` has room for. Those of
// even length n are n / 2 complex numbers: see RealLine.
template <class R>
void real_to_complex(const Tensor& self, const Tensor& out, int64_t dim, R scale) {
  using C = Complex<R>;
  const int64_t n = self.size(dim), half = n / 2;
  const bool even = n % 2 == 0, mirrored = out.size(dim) == n;
  const int64_t length = even ? half : n;
  const auto transform = Transform<R>::of(length);
  const FftTable<R>& loops = fft_loops().of<R>();
  const RealLine<R> real = even ? transform->real_line() : RealLine<R>{};
  const auto mirror = [&](C* line, int64_t step) {
    if (!mirrored) return;
    if (step == 1) return loops.mirror(&line->re, half, n);
    for (int64_t k = half + 1; k < n; ++k) line[k * step] = conj(line[(n - k) * step]);
  };
  const auto read = [&](const R* const* at, int64_t step, R* room, int64_t count, R*) {
    if (even && step == 1) {
      for (int64_t i = 0; i < count; ++i, room += 2 * length)
        loops.split(room, room + length, at[i], length);
      return;
    }
    if (step == 1) {
      for (int64_t i = 0; i < count; ++i, room += 2 * length)
        std::fill_n(std::copy_n(at[i], length, room), length, R(0));
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
  const auto write = [&](C* const* to, int64_t step, const R* room, int64_t count, R* spare) {
    for (int64_t i = 0; i < count; ++i) {
      const R *re = room + 2 * length * i, *im = re + length;
      C* const line = to[i];
      if (!even) {
        if (step == 1)
          loops.join(&line->re, re, im, half + 1, scale);
        else
          for (int64_t k = 0; k <= half; ++k) line[k * step] = C(re[k] * scale, im[k] * scale);
        mirror(line, step);
        continue;
      }
      loops.to_spectrum(real, step == 1 ? &line->re : spare, re, im, scale);
      for (int64_t k = 0; step != 1 && k <= half; ++k)
        line[k * step] = C(spare[2 * k], spare[2 * k + 1]);
      mirror(line, step);
    }
  };
  each_line<R, R, C>(self.data_as<R>(), Lines(self.sizes(), self.strides(), dim), out.data_as<C>(),
                     Lines(out.sizes(), out.strides(), dim), length, *transform, true, read, write);
}

// The inverse, from the first half.
template <class R>
void complex_to_real(const Tensor& self, const Tensor& out, int64_t dim, R scale) {
  using C = Complex<R>;
  const int64_t n = out.size(dim), half = n / 2;
  const bool even = n % 2 == 0;
  const int64_t length = even ? half : n;
  const auto transform = Transform<R>::of(length);
  const FftTable<R>& loops = fft_loops().of<R>();
  const RealLine<R> real = even ? transform->real_line() : RealLine<R>{};
  const auto read = [&](const C* const* at, int64_t step, R* room, int64_t count, R* spare) {
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
      R *const spectrum_re = spare, *const spectrum_im = spare + half + 1;
      if (step == 1) {
        loops.split(spectrum_re, spectrum_im, &line->re, half + 1);
      } else {
        for (int64_t k = 0; k <= half; ++k) {
          spectrum_re[k] = line[k * step].re;
          spectrum_im[k] = line[k * step].im;
        }
      }
      loops.from_spectrum(real, re, im, spectrum_re, spectrum_im);
    }
  };
  const auto write = [&](R* const* to, int64_t step, const R* room, int64_t count, R*) {
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
  const bool by_columns = !onesided && !dims.empty() && self.stride(dims.back()) != 1;
  if (dims.empty() || by_columns) {
    copy_elements(out, self);
    transform_dims(out, out, dims, true, scale);
  } else {  // the last dimension first: of one-sided results, only half of it remains for the
            // others
    if (self.dtype() == DType::kFloat32)
      real_to_complex<float>(self, out, dims.back(), static_cast<float>(scale));
    else
      real_to_complex<double>(self, out, dims.back(), scale);
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
    complex_to_real<float>(input, out, last, static_cast<float>(scale));
  else
    complex_to_real<double>(input, out, last, scale);
}

}  // namespace uh::kernels
