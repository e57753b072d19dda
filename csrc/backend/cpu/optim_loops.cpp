#ifdef __OPTIMIZE__
#pragma GCC optimize("O3")
#endif

#include "backend/cpu/optim_loops.h"

#include <cmath>
#include <type_traits>

#include "backend/cpu/loops.h"

namespace uh::UH_ISA {
namespace {

template <class T>
struct Run {
  T* at;
  explicit Run(void* p) : at(static_cast<T*>(p)) {}
  compute_t<T> operator[](int64_t i) const { return static_cast<compute_t<T>>(at[i]); }
  void set(int64_t i, compute_t<T> value) const { at[i] = static_cast<T>(value); }
};

template <class T>
struct Gradient {
  const T* at;
  compute_t<T> sign, decay;
  Gradient(const void* grad, double sign_, double decay_)
      : at(static_cast<const T*>(grad)),
        sign(static_cast<compute_t<T>>(sign_)),
        decay(static_cast<compute_t<T>>(decay_)) {}
  // Without decay no term is added: 0 * infinity would be NaN.
  template <bool kDecay>
  compute_t<T> of(int64_t i, compute_t<T> p) const {
    const compute_t<T> g = sign * static_cast<compute_t<T>>(at[i]);
    return kDecay ? g + decay * p : g;
  }
};

template <bool kDecay, class T>
void plain(Run<T> p, Gradient<T> grad, int64_t n, const SgdStep& step) {
  const auto lr = static_cast<compute_t<T>>(step.lr);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const auto x = p[i];
    p.set(i, x - lr * grad.template of<kDecay>(i, x));
  }
}

template <bool kDecay, bool kNesterov, class T>
void with_momentum(Run<T> p, Gradient<T> grad, Run<T> buffer, int64_t n, const SgdStep& step) {
  using C = compute_t<T>;
  const C lr = static_cast<C>(step.lr), momentum = static_cast<C>(step.momentum);
  const C keep = static_cast<C>(1 - step.dampening);
  const bool first = step.first;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const C x = p[i], g = grad.template of<kDecay>(i, x);
    const C b = first ? g : momentum * buffer[i] + keep * g;
    buffer.set(i, b);
    p.set(i, x - lr * (kNesterov ? g + momentum * b : b));
  }
}

template <class T>
void sgd(void* p, const void* grad, void* buffer, int64_t n, const SgdStep& step) {
  const Gradient<T> g(grad, step.sign, step.decay);
  const Run<T> x(p), b(buffer);
  const bool decay = step.decay != 0;
  if (!buffer) return decay ? plain<true>(x, g, n, step) : plain<false>(x, g, n, step);
  if (step.nesterov)
    return decay ? with_momentum<true, true>(x, g, b, n, step)
                 : with_momentum<false, true>(x, g, b, n, step);
  decay ? with_momentum<true, false>(x, g, b, n, step)
        : with_momentum<false, false>(x, g, b, n, step);
}

template <bool kDecay, bool kHasLargest, class T>
void adam_run(Run<T> p, Gradient<T> grad, Run<T> first, Run<T> second, Run<T> largest, int64_t n,
              const AdamStep& step) {
  using C = compute_t<T>;
  const C rate1 = static_cast<C>(step.rate1), rate2 = static_cast<C>(step.rate2);
  const C beta2 = static_cast<C>(step.beta2), shrink = static_cast<C>(step.shrink);
  const C step_size = static_cast<C>(step.step_size), scale = static_cast<C>(step.scale);
  const C eps = static_cast<C>(step.eps);
  // From the nearer end, like lerp, so that a rate of 1 yields the gradient itself.
  const bool near = step.rate1 < 0.5;
  const C far = C(1) - rate1;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const C x = p[i], g = grad.template of<kDecay>(i, x);
    const C m0 = first[i], between = g - m0;
    const C m = near ? m0 + rate1 * between : g - between * far;
    const C v = beta2 * second[i] + rate2 * g * g;
    first.set(i, m);
    second.set(i, v);
    C spread = v;
    if constexpr (kHasLargest) {
      const C old = largest[i];
      spread = old > v || old != old ? old : v;
      largest.set(i, spread);
    }
    const C denominator = std::sqrt(spread) * scale + eps;
    p.set(i, shrink * x - step_size * m / denominator);
  }
}

template <class T>
void adam(void* p, const void* grad, void* m, void* v, void* largest, int64_t n,
          const AdamStep& step) {
  const Gradient<T> g(grad, step.sign, step.decay);
  const Run<T> x(p), first(m), second(v), max_second(largest);
  if (step.decay != 0)
    return largest ? adam_run<true, true>(x, g, first, second, max_second, n, step)
                   : adam_run<true, false>(x, g, first, second, max_second, n, step);
  largest ? adam_run<false, true>(x, g, first, second, max_second, n, step)
          : adam_run<false, false>(x, g, first, second, max_second, n, step);
}

template <bool kDecay, class T>
void adagrad_run(Run<T> p, Gradient<T> grad, Run<T> sum, int64_t n, const AdagradStep& step) {
  using C = compute_t<T>;
  const C rate = static_cast<C>(step.rate), eps = static_cast<C>(step.eps);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const C x = p[i], g = grad.template of<kDecay>(i, x);
    const C s = sum[i] + g * g;
    sum.set(i, s);
    p.set(i, x - rate * g / (std::sqrt(s) + eps));
  }
}

template <class T>
void adagrad(void* p, const void* grad, void* sum, int64_t n, const AdagradStep& step) {
  const Gradient<T> g(grad, step.sign, step.decay);
  const Run<T> x(p), s(sum);
  step.decay != 0 ? adagrad_run<true>(x, g, s, n, step) : adagrad_run<false>(x, g, s, n, step);
}

OptimTable make() {
  OptimTable table{};
  const auto enter = [&]<class T>(DType dtype, T) {
    table.of[static_cast<int>(dtype)] = {sgd<T>, adam<T>, adagrad<T>};
  };
  enter(DType::kFloat16, Half());
  enter(DType::kBFloat16, BFloat16());
  enter(DType::kFloat32, float());
  enter(DType::kFloat64, double());
  return table;
}

}  // namespace

const OptimTable& optim_loops() {
  static const OptimTable table = make();
  return table;
}

}  // namespace uh::UH_ISA
