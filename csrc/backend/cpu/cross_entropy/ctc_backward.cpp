// The gradient of ctc_loss. beta[t][s] is the log of the probability of all continuations from
// state s at step t, its own score included; so exp(alpha + beta - score + loss) is the share of
// the alignments that pass through it.
#include "backend/cpu/copy/elements.h"
#include "backend/cpu/cross_entropy/alignments.h"
#include "base/parallel.h"
#include "generated/kernels/cross_entropy.h"
#include "ops/cross_entropy/targets.h"

namespace uh::kernels {
namespace {

// Computes one sequence's gradient; `score` and `out` are (steps, ...) with separate strides.
template <class T>
void backward(const States& states, int64_t classes, const T* score, int64_t by_step,
              int64_t by_class, int64_t steps, const T* alpha, int64_t width, double loss,
              double grad, T* out, int64_t out_step) {
  const int64_t count = states.count();
  PaddedLogs after(count), now(count), own(count), through(count), scores(classes);
  std::vector<double> probabilities(static_cast<size_t>(padded(classes))),
      shares(probabilities.size());
  double *from = after.data(), *beta = now.data();
  for (int64_t t = steps - 1; t >= 0; --t, std::swap(from, beta)) {
    states.read(own.data(), score + t * by_step, by_class);
    if (t < steps - 1)
      ctc_loops().step(beta, from, own.data(), states.skips_from.data(), 1, padded(count));
    else  // paths end in one of the last two states
      for (int64_t s = std::max<int64_t>(count - 2, 0); s < count; ++s) beta[s] = own.data()[s];
    double* const share = through.data();
    for (int64_t s = 0; s < count; ++s)
      share[s] = static_cast<double>(alpha[t * width + s]) + beta[s] + loss - own.data()[s];
    ctc_loops().exponentials(share, share, padded(count));
    for (int64_t c = 0; c < classes; ++c) {
      scores.data()[c] = static_cast<double>(score[t * by_step + c * by_class]);
      // 0, but NaN if the class or the whole target has probability 0
      shares[static_cast<size_t>(c)] = 0 * (loss - scores.data()[c]);
    }
    for (int64_t s = 0; s < count; ++s)
      shares[static_cast<size_t>(states.labels[static_cast<size_t>(s)])] += share[s];
    ctc_loops().exponentials(probabilities.data(), scores.data(), padded(classes));
    for (int64_t c = 0; c < classes; ++c) {
      const auto i = static_cast<size_t>(c);
      out[t * out_step + c] = static_cast<T>((probabilities[i] - shares[i]) * grad);
    }
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
        const States states(numbers.data_as<int64_t>() + laid.starts[i], laid.step,
                            target_lengths[i], blank);
        backward(states, classes, log_probs.data_as<T>() + b * log_probs.stride(1),
                 log_probs.stride(0), log_probs.stride(2), input_lengths[i],
                 sums.data_as<T>() + b * steps * width, width, loss,
                 static_cast<double>(grads.data_as<T>()[b]), out.data_as<T>() + b * classes,
                 batch * classes);
      }
    });
  };
  out.dtype() == DType::kFloat32 ? run(float{}) : run(double{});
}

}  // namespace uh::kernels
