// ctc_loss: the probability of all alignments, by the forward recursion over the targets with
// blanks between them.
//
// A sequence has 2 S + 1 labels: blank, target, blank, ..., blank. alpha[t][s] is the log of the
// total probability of the paths that are at label s after t + 1 steps.
#include <cmath>
#include <limits>

#include "backend/cpu/copy/elements.h"
#include "backend/cpu/cross_entropy/alignments.h"
#include "base/parallel.h"
#include "generated/kernels/cross_entropy.h"
#include "ops/cross_entropy/targets.h"

namespace uh::kernels {
namespace {

// Computes one sequence's alpha (steps x states) and returns its negative log-likelihood.
template <class T>
double forward(const T* score, int64_t by_step, int64_t by_class, const int64_t* target,
               int64_t target_step, int64_t steps, int64_t length, int64_t blank, T* alpha,
               int64_t width) {
  const int64_t states = 2 * length + 1;
  const auto label = [&](int64_t s) { return s % 2 ? target[s / 2 * target_step] : blank; };
  const auto at = [&](int64_t t, int64_t s) {
    return static_cast<double>(score[t * by_step + label(s) * by_class]);
  };
  if (steps == 0) return length == 0 ? 0 : -kNever;
  alpha[0] = static_cast<T>(at(0, 0));
  if (length > 0) alpha[1] = static_cast<T>(at(0, 1));
  for (int64_t t = 1; t < steps; ++t) {
    const T* before = alpha + (t - 1) * width;
    for (int64_t s = 0; s < states; ++s) {
      const double stay = static_cast<double>(before[s]);
      const double next = s > 0 ? static_cast<double>(before[s - 1]) : kNever;
      const bool skips = s > 1 && label(s) != blank && label(s) != label(s - 2);
      const double skip = skips ? static_cast<double>(before[s - 2]) : kNever;
      alpha[t * width + s] = static_cast<T>(log_add(stay, next, skip) + at(t, s));
    }
  }
  const T* last = alpha + (steps - 1) * width;
  const double one = static_cast<double>(last[states - 1]);
  return -log_add(one, length > 0 ? static_cast<double>(last[states - 2]) : kNever, kNever);
}

}  // namespace

void ctc_loss_forward(const Tensor& log_probs, const Tensor& targets, const Dims& input_lengths,
                      const Dims& target_lengths, int64_t blank, bool, const Tensor& out,
                      const Tensor& alpha) {
  const DType dtype = log_probs.dtype();
  const int64_t steps = log_probs.size(0), batch = log_probs.size(1), classes = log_probs.size(2);
  const int64_t width = alpha.size(2);
  const Tensor numbers = as_contiguous(targets, DType::kInt64);
  const Targets laid = lay_out(numbers, target_lengths, batch);
  const auto* number = numbers.data_as<int64_t>();
  for (size_t b = 0; b < laid.starts.size(); ++b) {
    for (int64_t i = 0; i < target_lengths[b]; ++i) {
      const int64_t t = number[laid.starts[b] + i * laid.step];
      check(t >= 0 && t < classes, "ctc_loss: target ", t, " is not one of ", classes, " classes");
    }
  }
  fill_elements(alpha, element_bytes(Scalar(kNever), dtype));
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    parallel_for(0, batch, 1, [&](int64_t lo, int64_t hi) {
      for (int64_t b = lo; b < hi; ++b) {
        const auto i = static_cast<size_t>(b);
        const double loss =
            forward(log_probs.data_as<T>() + b * log_probs.stride(1), log_probs.stride(0),
                    log_probs.stride(2), number + laid.starts[i], laid.step, input_lengths[i],
                    target_lengths[i], blank, alpha.data_as<T>() + b * steps * width, width);
        out.data_as<T>()[b] = static_cast<T>(loss);
      }
    });
  };
  dtype == DType::kFloat32 ? run(float{}) : run(double{});
}

}  // namespace uh::kernels
