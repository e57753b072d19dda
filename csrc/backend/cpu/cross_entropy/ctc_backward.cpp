// The gradient of ctc_loss. beta[t][s] is the log of the probability of all continuations from
// label s at step t; alpha + beta, summed over a class's labels, is its share of the alignments.
#include "backend/cpu/copy/elements.h"
#include "backend/cpu/cross_entropy/alignments.h"
#include "base/parallel.h"
#include "generated/kernels/cross_entropy.h"
#include "ops/cross_entropy/targets.h"

namespace uh::kernels {
namespace {

struct Sequence {
  const int64_t* target;
  int64_t step, steps, length, blank, classes;

  int64_t states() const { return 2 * length + 1; }
  int64_t label(int64_t s) const { return s % 2 ? target[s / 2 * step] : blank; }
};

// Computes one sequence's gradient; `score` and `out` are (steps, ...) with separate strides.
template <class T>
void backward(const Sequence& q, const T* score, int64_t by_step, int64_t by_class, const T* alpha,
              int64_t width, double loss, double grad, T* out, int64_t out_step) {
  const int64_t states = q.states();
  std::vector<double> current(static_cast<size_t>(states + 2), kNever), next = current;
  std::vector<double> of_class(static_cast<size_t>(q.classes));
  for (int64_t t = q.steps - 1; t >= 0; --t) {
    std::fill(of_class.begin(), of_class.end(), kNever);
    for (int64_t s = states - 1; s >= 0; --s) {
      const auto i = static_cast<size_t>(s);
      double on = s >= states - 2 ? 0 : kNever;  // paths end at one of the last two labels
      if (t < q.steps - 1) {
        const bool skips =
            s + 2 < states && q.label(s + 2) != q.blank && q.label(s) != q.label(s + 2);
        on = log_add(next[i], next[i + 1], skips ? next[i + 2] : kNever);
      }
      current[i] = on + static_cast<double>(score[t * by_step + q.label(s) * by_class]);
      double& sum = of_class[static_cast<size_t>(q.label(s))];
      sum = log_add(sum, static_cast<double>(alpha[t * width + s]) + current[i], kNever);
    }
    for (int64_t c = 0; c < q.classes; ++c) {
      const auto own = static_cast<double>(score[t * by_step + c * by_class]);
      const double share = std::exp(of_class[static_cast<size_t>(c)] + loss - own);
      out[t * out_step + c] = static_cast<T>((std::exp(own) - share) * grad);
    }
    std::swap(current, next);
  }
}

}  // namespace

void ctc_loss_backward(const Tensor& grad, const Tensor& log_probs, const Tensor& targets,
                       const Dims& input_lengths, const Dims& target_lengths,
                       const Tensor& neg_log_likelihood, const Tensor& log_alpha, int64_t blank,
                       bool zero_infinity, const Tensor& out) {
  const int64_t batch = log_probs.size(1), classes = log_probs.size(2);
  fill_elements(out, ElementBytes{});
  const Tensor numbers = as_contiguous(targets, DType::kInt64);
  const Targets laid = lay_out(numbers, target_lengths, batch);
  for (size_t b = 0; b < laid.starts.size(); ++b) {
    for (int64_t i = 0; i < target_lengths[b]; ++i) {
      const int64_t t = numbers.data_as<int64_t>()[laid.starts[b] + i * laid.step];
      check(t >= 0 && t < classes, "_ctc_loss_backward: target ", t, " is not one of ", classes,
            " classes");
    }
  }
  const Tensor grads = as_contiguous(grad, out.dtype()), losses = as_contiguous(neg_log_likelihood),
               sums = as_contiguous(log_alpha);
  const int64_t steps = sums.size(1), width = sums.size(2);
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    parallel_for(0, batch, 1, [&](int64_t lo, int64_t hi) {
      for (int64_t b = lo; b < hi; ++b) {
        const auto i = static_cast<size_t>(b);
        const auto loss = static_cast<double>(losses.data_as<T>()[b]);
        if (zero_infinity && loss == -kNever) continue;
        const Sequence q{numbers.data_as<int64_t>() + laid.starts[i],
                         laid.step,
                         input_lengths[i],
                         target_lengths[i],
                         blank,
                         classes};
        backward(q, log_probs.data_as<T>() + b * log_probs.stride(1), log_probs.stride(0),
                 log_probs.stride(2), sums.data_as<T>() + b * steps * width, width, loss,
                 static_cast<double>(grads.data_as<T>()[b]), out.data_as<T>() + b * classes,
                 batch * classes);
      }
    });
  };
  out.dtype() == DType::kFloat32 ? run(float{}) : run(double{});
}

}  // namespace uh::kernels
