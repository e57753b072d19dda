#include "backend/cpu/loss/pointwise_loss.h"

#include <array>
#include <cmath>
#include <vector>

#include "backend/cpu/copy/elements.h"
#include "backend/cpu/loop_plan.h"
#include "backend/cpu/pointwise.h"
#include "backend/cpu/reduce_loops.h"
#include "base/parallel.h"

namespace uh {
namespace {

constexpr int64_t kBlock = 4096;        // losses computed at a time: fit L1
constexpr int64_t kPart = 16 * kBlock;  // losses summed in order; so are the parts

// Returns true if the operands have one layout and need no conversion.
bool dense_alike(std::span<const Input> inputs) {
  const Tensor& first = inputs[0].tensor;
  const DType dtype = first.dtype();
  if (dtype != DType::kFloat32 && dtype != DType::kFloat64) return false;
  for (const Input& input : inputs) {
    const Tensor& t = input.tensor;
    if (t.is_meta() || t.dtype() != dtype || !t.is_contiguous() || t.sizes() != first.sizes())
      return false;
  }
  return true;
}

double total(const PointwiseOp& op, std::span<const Input> inputs, const Params& params) {
  const Tensor& first = inputs[0].tensor;
  const int64_t n = first.numel(), item = itemsize(first.dtype());
  const LoopFn loop = op.loops()[static_cast<size_t>(first.dtype())];
  const Fold& fold = fold_of(FoldOp::kSum, first.dtype());
  std::vector<double> parts(static_cast<size_t>((n + kPart - 1) / kPart));
  parallel_for(0, static_cast<int64_t>(parts.size()), 1, [&](int64_t lo, int64_t hi) {
    alignas(64) std::array<char, kBlock * sizeof(double)> losses;
    std::array<char*, 4> data{losses.data()};
    std::array<int64_t, 4> strides{item, item, item, item};
    for (int64_t part = lo; part < hi; ++part) {
      double& sum = parts[static_cast<size_t>(part)];
      const int64_t end = std::min(n, (part + 1) * kPart);
      for (int64_t at = part * kPart; at < end; at += kBlock) {
        const int64_t count = std::min(kBlock, end - at);
        for (size_t i = 0; i < inputs.size(); ++i)
          data[i + 1] = reinterpret_cast<char*>(inputs[i].tensor.data()) + at * item;
        loop(data.data(), strides.data(), count, params);
        fold.run(&sum, losses.data(), count);
      }
    }
  });
  double sum = 0;
  for (const double part : parts) sum += part;
  return sum;
}

}  // namespace

Tensor pointwise_loss(const PointwiseOp& op, std::span<const Input> inputs, const Params& params,
                      int64_t reduction) {
  const bool reduces = reduction == kMeanLoss || reduction == kSumLoss;
  if (!reduces || !dense_alike(inputs)) {
    const Tensor losses = run_pointwise(op, Form::kFunctional, inputs, params, Tensor());
    if (!reduces) return losses;
    return reduced_loss(losses, reduction);
  }
  const Tensor& first = inputs[0].tensor;
  if (events::on()) [[unlikely]] {
    Plan plan{.loop = "losses added up block by block", .sizes = {first.numel()}, .operands = {}};
    plan.operands.push_back({itemsize(first.dtype()), Dims{int64_t{0}}});
    for (size_t i = 0; i < inputs.size(); ++i)
      plan.operands.push_back({itemsize(first.dtype()), Dims{itemsize(first.dtype())}});
    record_plan(plan);
  }
  double sum = total(op, inputs, params);
  if (reduction == kMeanLoss) sum /= static_cast<double>(first.numel());
  Tensor out = empty({}, first.dtype());
  fill_elements(out, element_bytes(sum, out.dtype()));
  record_write(out);
  return out;
}

}  // namespace uh
