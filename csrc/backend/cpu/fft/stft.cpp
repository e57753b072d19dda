// Short-time Fourier transforms: transforms of a signal's windows; and the inverse, from their sum.
#include "backend/cpu/copy/elements.h"
#include "generated/kernels/fft.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/complex.h"
#include "generated/ops/creation.h"
#include "generated/ops/fft.h"
#include "generated/ops/padding.h"
#include "generated/ops/reduce.h"
#include "generated/ops/view.h"
#include "generated/ops/view_backward.h"

namespace uh::kernels {
namespace {

using MaybeInt = std::optional<int64_t>;
using MaybeBool = std::optional<bool>;

// The arguments of both directions, and the window zero-padded to n_fft values.
struct Frames {
  int64_t n_fft, hop, win;
  Tensor window;

  Frames(int64_t points, MaybeInt hop_length, MaybeInt win_length, const Tensor& input)
      : n_fft(points),
        hop(hop_length.value_or(points / 4)),
        win(win_length.value_or(points)),
        window(input) {}

  int64_t before() const { return (n_fft - win) / 2; }
  void widen(DType dtype, Device device) {
    if (!window && win == n_fft) return;
    if (!window) window = ops::ones({win}, dtype, device);
    if (win < n_fft) window = ops::constant_pad_nd(window, {before(), n_fft - win - before()});
  }
  Tensor windowed(const Tensor& frames) const { return window ? ops::mul(frames, window) : frames; }
};

bool is_complex_tensor(const Tensor& t) { return t && is_complex(t.dtype()); }

void check_window(const Frames& f, std::string_view op) {
  check(f.win > 0 && f.win <= f.n_fft, op,
        ": expected 0 < win_length <= n_fft, but got win_length=", f.win, ", n_fft=", f.n_fft);
  check(!f.window || (f.window.ndim() == 1 && f.window.size(0) == f.win), op,
        ": expected a 1D window tensor of size equal to win_length=", f.win,
        ", but got window with size ", f.window ? f.window.sizes() : Dims{});
}

// Returns the sum of the squared windows, by which the inverse divides the sum of all windows.
Tensor envelope(const Frames& f, int64_t count, int64_t length, DType dtype, Device device) {
  Frames own = f;
  if (!own.window) own.window = ops::ones({f.n_fft}, dtype, device);
  const Tensor squared = ops::mul(own.window, own.window);
  const Tensor frames = ops::expand(ops::unsqueeze(squared, 0), {1, count, f.n_fft});
  return ops::unfold_backward(frames, {1, length}, 1, f.n_fft, f.hop);
}

bool vanishes(const Tensor& t) {
  if (t.is_meta() || t.numel() == 0) return false;
  return *as_contiguous(ops::min(ops::abs(t)), DType::kFloat64).data_as<double>() < 1e-11;
}

}  // namespace

Tensor stft(KeySet, const Tensor& self, int64_t n_fft, MaybeInt hop_length, MaybeInt win_length,
            const Tensor& window, bool center, const std::string& pad_mode, bool normalized,
            MaybeBool onesided, MaybeBool return_complex, MaybeBool align_to_window) {
  Frames f(n_fft, hop_length, win_length, window);
  const bool two_sided = is_complex(self.dtype()) || is_complex_tensor(window);
  check(two_sided || return_complex,
        "stft requires the return_complex parameter be given for real inputs, and will further "
        "require that return_complex=True in a future PyTorch release.");
  check(is_inexact(self.dtype()),
        "stft: expected a tensor of floating point or complex values, got ",
        info(self.dtype()).title);
  check(self.ndim() == 1 || self.ndim() == 2, "stft: expected a 1D or 2D tensor, got ",
        self.sizes());
  check(!center || !align_to_window, "stft align_to_window should only be set when center = false");
  Tensor signal = self.ndim() == 1 ? ops::unsqueeze(self, 0) : self;
  if (center) {
    const Dims ends{n_fft / 2, n_fft / 2};
    signal = ops::squeeze(ops::pad(ops::unsqueeze(signal, 0), ends, pad_mode), Dims{0});
  }
  check_window(f, "stft");
  if (align_to_window.value_or(false))
    signal = ops::constant_pad_nd(signal, {f.before(), n_fft - f.win - f.before()});
  const int64_t length = signal.size(1);
  check(n_fft > 0 && n_fft <= length, "stft: expected 0 < n_fft <= ", length,
        ", but got n_fft=", n_fft);
  check(f.hop > 0, "stft: expected hop_length > 0, but got hop_length=", f.hop);
  check(!two_sided || !onesided.value_or(false),
        "stft: Cannot have onesided output if window or input is complex");
  f.widen(self.dtype(), self.device());
  const Tensor frames = f.windowed(ops::unfold(signal, 1, n_fft, f.hop));
  const int64_t by = normalized ? 1 : 0;
  const Tensor result = two_sided ? ops::_fft_c2c(frames, {2}, by, true)
                                  : ops::_fft_r2c(frames, {2}, by, onesided.value_or(true));
  Tensor out = ops::transpose(result, 1, 2);
  if (self.ndim() == 1) out = ops::squeeze(out, Dims{0});
  return return_complex.value_or(true) ? out : ops::view_as_real(out);
}

Tensor istft(KeySet, const Tensor& self, int64_t n_fft, MaybeInt hop_length, MaybeInt win_length,
             const Tensor& window, bool center, bool normalized, MaybeBool onesided,
             MaybeInt length, bool return_complex) {
  Frames f(n_fft, hop_length, win_length, window);
  check(is_complex(self.dtype()),
        "istft requires a complex-valued input tensor matching the output from stft with "
        "return_complex=True.");
  check(self.numel() > 0, "istft: input tensor cannot be empty.");
  check(self.ndim() == 2 || self.ndim() == 3,
        "istft: expected a tensor with 2 or 3 dimensions, got ", self.sizes());
  Tensor spectra = self.ndim() == 2 ? ops::unsqueeze(self, 0) : self;
  const int64_t points = spectra.size(1), count = spectra.size(2), half = n_fft / 2 + 1;
  const bool one_side = onesided.value_or(points != n_fft);
  check(points == (one_side ? half : n_fft),
        "istft: expected the frequency dimension (2nd to the last) of the input tensor to match ",
        one_side ? "n_fft / 2 + 1 when onesided=True" : "n_fft when onesided=False", ", but got ",
        points, " and n_fft=", n_fft);
  check(f.hop > 0 && f.hop <= f.win, "istft: expected 0 < hop_length <= win_length, but got ",
        "hop_length=", f.hop, ", win_length=", f.win);
  check_window(f, "istft");
  check(return_complex || !is_complex_tensor(window),
        "istft: Complex windows are incompatible with return_complex=False");
  check(!return_complex || !one_side,
        "istft: Cannot have onesided output if window or input is complex");
  f.widen(to_real(self.dtype()), self.device());
  spectra = ops::transpose(spectra, 1, 2);  // signals, windows, frequencies
  const int64_t by = normalized ? 1 : 2;
  Tensor frames;
  if (return_complex) {
    frames = ops::_fft_c2c(spectra, {2}, by, false);
  } else {
    if (!one_side) spectra = ops::narrow(spectra, 2, 0, half);
    frames = ops::_fft_c2r(spectra, {2}, by, n_fft);
  }
  const int64_t all = n_fft + f.hop * (count - 1), first = center ? n_fft / 2 : 0;
  const int64_t end = length ? first + *length : center ? all - n_fft / 2 : all;
  const int64_t available = std::max<int64_t>(0, std::min(end, all) - first);
  frames = f.windowed(frames);
  Tensor sum = ops::unfold_backward(frames, {frames.size(0), all}, 1, n_fft, f.hop);
  Tensor weight = envelope(f, count, all, to_real(self.dtype()), self.device());
  sum = ops::narrow(sum, 1, std::min(first, all), available);
  weight = ops::narrow(weight, 1, std::min(first, all), available);
  check(!vanishes(weight), "istft: window overlap add min: 1, the windows leave values out");
  Tensor out = ops::div(sum, weight);
  if (end > first + available) out = ops::constant_pad_nd(out, {0, end - first - available});
  return self.ndim() == 2 ? ops::squeeze(out, Dims{0}) : out;
}

}  // namespace uh::kernels
