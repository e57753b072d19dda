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
#include "generated/ops/arithmetic.h"
#include "generated/ops/comparison.h"
#include "generated/ops/copy.h"
#include "generated/ops/cross_entropy.h"
#include "generated/ops/view.h"
#include "memory/device_registry.h"
#include "ops/copy/device_copy.h"
#include "ops/loss/reduction.h"

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

Dims as_lengths(const Tensor& lengths) {
  check(is_integral(lengths.dtype()), "ctc_loss: lengths must be integral, got ",
        info(lengths.dtype()).title);
  check(!lengths.is_meta(), "ctc_loss: the lengths of a meta tensor are not known");
  const Tensor retained =
      as_contiguous(is_host(lengths.device()) ? lengths : copy_to_host(lengths), DType::kInt64);
  return Dims(IntSpan(retained.data_as<int64_t>(), static_cast<size_t>(retained.numel())));
}

}  // namespace

std::tuple<Tensor, Tensor> ctc_loss_forward(KeySet, const Tensor& log_probs, const Tensor& targets,
                                            const Dims& input_lengths, const Dims& target_lengths,
                                            int64_t blank, bool) {
  check(log_probs.ndim() == 3, "ctc_loss: log_probs must have 3 dimensions, got ",
        log_probs.sizes());
  check(log_probs.numel() > 0, "ctc_loss: log_probs tensor must not be empty");
  const DType dtype = log_probs.dtype();
  check_kind(dtype == DType::kFloat32 || dtype == DType::kFloat64, ErrorKind::kNotImplemented,
             "\"ctc_loss_cpu\" not implemented for '", info(dtype).title, "'");
  check(targets.dtype() == DType::kInt64 || targets.dtype() == DType::kInt32,
        "ctc_loss: expected targets of type Long or Int, got ", info(targets.dtype()).title);
  const int64_t steps = log_probs.size(0), batch = log_probs.size(1), classes = log_probs.size(2);
  check(blank >= 0 && blank < classes, "ctc_loss: blank must be in label range, got ", blank,
        " of ", classes, " classes");
  check(input_lengths.ndim() == batch, "ctc_loss: input_lengths must be of size batch_size ", batch,
        ", got ", input_lengths.ndim());
  check(target_lengths.ndim() == batch, "ctc_loss: target_lengths must be of size batch_size ",
        batch, ", got ", target_lengths.ndim());
  check(targets.ndim() == 1 || targets.ndim() == 2, "ctc_loss: targets must be 1-d or 2-d, got ",
        targets.sizes());
  for (size_t b = 0; b < input_lengths.size(); ++b)
    check(input_lengths[b] >= 0 && input_lengths[b] <= steps,
          "ctc_loss: expected input_lengths to have value at most ", steps, ", but got value ",
          input_lengths[b], " at batch ", b);
  const Tensor numbers = targets.is_meta() ? targets : as_contiguous(targets, DType::kInt64);
  const Targets laid = lay_out(numbers, target_lengths, batch);
  const int64_t width = 2 * laid.longest + 1;
  Tensor out = empty(Dims{batch}, dtype, log_probs.device());
  Tensor alpha = empty(Dims{batch, steps, width}, dtype, log_probs.device());
  if (out.is_meta()) return {out, alpha};
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
  record_write(out);
  record_write(alpha);
  return {out, alpha};
}

Tensor ctc_loss(KeySet, const Tensor& log_probs, const Tensor& targets, const Dims& input_lengths,
                const Dims& target_lengths, int64_t blank, int64_t reduction, bool zero_infinity) {
  const bool batched = log_probs.ndim() == 3;
  const Tensor scores = batched ? log_probs : ops::unsqueeze(log_probs, 1);
  const Tensor labels = batched || targets.ndim() != 1 ? targets : ops::unsqueeze(targets, 0);
  Tensor loss = std::get<0>(
      ops::_ctc_loss(scores, labels, input_lengths, target_lengths, blank, zero_infinity));
  if (zero_infinity) loss = ops::where(ops::isinf(loss), Scalar(0), loss);
  if (reduction == kMeanLoss) {
    Tensor lengths = empty(Dims{target_lengths.ndim()}, DType::kInt64);
    for (size_t b = 0; b < target_lengths.size(); ++b)
      lengths.data_as<int64_t>()[b] = std::max<int64_t>(target_lengths[b], 1);
    const Tensor divisor =
        ops::_to_copy(lengths, DType::kUndefined, loss.device(), MemoryFormat::kUndefined);
    return reduced_loss(ops::div(loss, divisor), kMeanLoss);
  }
  if (reduction == kSumLoss) return reduced_loss(loss, kSumLoss);
  return batched ? loss : ops::squeeze(loss, Dims{0});
}

Tensor ctc_loss_tensors(KeySet keys, const Tensor& log_probs, const Tensor& targets,
                        const Tensor& input_lengths, const Tensor& target_lengths, int64_t blank,
                        int64_t reduction, bool zero_infinity) {
  return ctc_loss(keys, log_probs, targets, as_lengths(input_lengths), as_lengths(target_lengths),
                  blank, reduction, zero_infinity);
}

}  // namespace uh::kernels
