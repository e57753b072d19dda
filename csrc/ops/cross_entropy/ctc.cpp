// The shape rules and composites of ctc_loss.
#include <algorithm>

#include "base/error.h"
#include "generated/kernels/cross_entropy.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/comparison.h"
#include "generated/ops/copy.h"
#include "generated/ops/cross_entropy.h"
#include "generated/ops/view.h"
#include "memory/device_registry.h"
#include "ops/copy/any_device.h"
#include "ops/copy/device_copy.h"
#include "ops/cross_entropy/shapes.h"
#include "ops/cross_entropy/targets.h"
#include "ops/loss/reduction.h"
#include "ops/operand_checks.h"

namespace uh::shapes {

std::tuple<Tensor, Tensor> ctc_loss(const Tensor& log_probs, const Tensor& targets,
                                    const Dims& input_lengths, const Dims& target_lengths,
                                    int64_t blank) {
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
  const int64_t states = 2 * lay_out(targets, target_lengths, batch).longest + 1;
  return {empty(Dims{batch}, dtype, log_probs.device()),
          empty(Dims{batch, steps, states}, dtype, log_probs.device())};
}

Tensor ctc_loss_backward(const Tensor& grad, const Tensor& log_probs, const Tensor& targets,
                         const Dims& input_lengths, const Dims& target_lengths,
                         const Tensor& neg_log_likelihood, const Tensor& log_alpha,
                         int64_t blank) {
  const std::string_view op = "_ctc_loss_backward";
  check(log_probs.ndim() == 3 && log_alpha.ndim() == 3, op, ": expected three dimensions, got ",
        log_probs.sizes(), " and ", log_alpha.sizes());
  check(log_probs.dtype() == DType::kFloat32 || log_probs.dtype() == DType::kFloat64, op,
        ": expected log_probs of dtype float32 or float64, got ", info(log_probs.dtype()).name);
  check_together(op, log_probs, {&grad, &neg_log_likelihood, &log_alpha});
  check_together(op, log_probs, {&targets}, true);
  const int64_t batch = log_probs.size(1), classes = log_probs.size(2);
  check(input_lengths.ndim() == batch && target_lengths.ndim() == batch && grad.numel() == batch &&
            neg_log_likelihood.numel() == batch && log_alpha.size(0) == batch &&
            log_alpha.size(1) == log_probs.size(0) && blank >= 0 && blank < classes,
        op, ": log_probs of sizes ", log_probs.sizes(), ", log_alpha of ", log_alpha.sizes(),
        ", lengths of ", input_lengths, " and ", target_lengths, " do not belong together");
  check(std::all_of(input_lengths.begin(), input_lengths.end(),
                    [&](int64_t n) { return n >= 0 && n <= log_probs.size(0); }),
        op, ": input_lengths ", input_lengths, " are not those of ", log_probs.size(0), " steps");
  const int64_t longest = lay_out(targets, target_lengths, batch).longest;
  check(log_alpha.size(2) == 2 * longest + 1, op, ": log_alpha has sizes ", log_alpha.sizes(),
        " for targets of length ", longest);
  return empty(log_probs.sizes(), log_probs.dtype(), log_probs.device());
}

}  // namespace uh::shapes

namespace uh::kernels {
namespace {

Dims as_lengths(const Tensor& lengths) {
  check(is_integral(lengths.dtype()), "ctc_loss: lengths must be integral, got ",
        info(lengths.dtype()).title);
  check(!lengths.is_meta(), "ctc_loss: the lengths of a meta tensor are not known");
  const Tensor dense = empty(lengths.sizes(), DType::kInt64);
  write_elements(dense, is_host(lengths.device()) ? lengths : copy_to_host(lengths));
  return Dims(IntSpan(dense.data_as<int64_t>(), static_cast<size_t>(dense.numel())));
}

}  // namespace

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
