// ctc_loss: the probability of all alignments, by the forward recursion over the targets with
// blanks between them.
//
// alpha[t][s] is the log of the total probability of the paths that are in state s after t + 1
// steps.
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
double forward(const States& states, const T* score, int64_t by_step, int64_t by_class,
               int64_t steps, T* alpha, int64_t width) {
  const int64_t count = states.count();
  if (steps == 0) return count == 1 ? 0 : -kNever;
  PaddedLogs before(count), now(count), own(count);
  double *from = before.data(), *to = now.data();
  for (int64_t t = 0; t < steps; ++t, std::swap(from, to)) {
    states.read(own.data(), score + t * by_step, by_class);
    if (t > 0)
      ctc_loops().step(to, from, own.data(), states.skips_to.data(), -1, padded(count));
    else
      std::copy_n(own.data(), std::min<int64_t>(count, 2), to);
    for (int64_t s = 0; s < count; ++s) alpha[t * width + s] = static_cast<T>(to[s]);
  }
  return -log_add(from[count - 1], from[count - 2]);  // the last two states
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
        const States states(number + laid.starts[i], laid.step, target_lengths[i], blank);
        const double loss = forward(states, log_probs.data_as<T>() + b * log_probs.stride(1),
                                    log_probs.stride(0), log_probs.stride(2), input_lengths[i],
                                    alpha.data_as<T>() + b * steps * width, width);
        out.data_as<T>()[b] = static_cast<T>(loss);
      }
    });
  };
  dtype == DType::kFloat32 ? run(float{}) : run(double{});
}

}  // namespace uh::kernels
