// nll_loss: the score of each row's target class, weighted.
#include "backend/cpu/copy/elements.h"
#include "ops/cross_entropy/scores.h"
#include "base/parallel.h"
#include "generated/kernels/cross_entropy.h"
#include "ops/loss/reduction.h"

namespace uh::kernels {
namespace {

struct Sums {
  double loss = 0, weight = 0;
};

template <class T>
T rounded(double value) {
  if constexpr (std::is_same_v<T, double>)
    return value;
  else
    return T(static_cast<float>(value));
}

// Returns loss and weight of positions [lo, hi); stores single losses in `each` unless it is null.
template <class T>
Sums walk(const Scores& s, const T* score, const int64_t* target, const T* weight, int64_t ignored,
          T* each, int64_t lo, int64_t hi) {
  Sums sums;
  int64_t w = lo % s.w, h = lo / s.w % s.h, n = lo / s.w / s.h;
  for (int64_t i = lo; i < hi; ++i) {
    const int64_t t = target[i];
    double loss = 0;
    if (t != ignored) {
      if (t < 0 || t >= s.classes) [[unlikely]]
        fail(ErrorKind::kIndex, "nll_loss: Target ", t, " is out of bounds for ", s.classes,
             " classes");
      const T at = score[n * s.by_n + h * s.by_h + w * s.by_w + t * s.by_class];
      const double own = weight ? static_cast<double>(weight[t]) : 1.0;
      loss = -static_cast<double>(at) * own;
      sums.loss += loss;
      sums.weight += own;
    }
    if (each) each[i] = rounded<T>(loss);
    if (++w == s.w) {
      w = 0;
      if (++h == s.h) h = 0, ++n;
    }
  }
  return sums;
}

// Parts of fixed size are added in order, so that the result does not depend on the threads.
template <class T>
Sums walk_all(const Scores& s, const T* score, const int64_t* target, const T* weight,
              int64_t ignored, T* each) {
  constexpr int64_t kPart = 16384;
  const int64_t positions = s.positions();
  std::vector<Sums> parts(static_cast<size_t>((positions + kPart - 1) / kPart));
  parallel_for(0, static_cast<int64_t>(parts.size()), 1, [&](int64_t lo, int64_t hi) {
    for (int64_t part = lo; part < hi; ++part)
      parts[static_cast<size_t>(part)] = walk(s, score, target, weight, ignored, each, part * kPart,
                                              std::min(positions, (part + 1) * kPart));
  });
  Sums all;
  for (const Sums& part : parts) all.loss += part.loss, all.weight += part.weight;
  return all;
}

// Stores a number in a 0-d tensor.
void set_number(const Tensor& out, double value) {
  fill_elements(out, element_bytes(value, out.dtype()));
}

void nll(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
         int64_t ignore_index, const Scores& s, const Tensor& out, const Tensor& total_weight) {
  const bool unreduced = keeps_losses(self, reduction);
  const Tensor numbers = as_contiguous(target, DType::kInt64);
  const Tensor own = weight ? as_contiguous(weight) : weight;
  Sums sums;
  visit(self.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!std::is_integral_v<T>)
      sums = walk_all(s, self.data_as<T>(), numbers.data_as<int64_t>(),
                      own ? own.data_as<T>() : nullptr, ignore_index,
                      unreduced ? out.data_as<T>() : nullptr);
  });
  if (!unreduced) set_number(out, reduction == kMeanLoss ? sums.loss / sums.weight : sums.loss);
  set_number(total_weight, unreduced ? 0 : sums.weight);
}

}  // namespace

void nll_loss_forward(const Tensor& self, const Tensor& target, const Tensor& weight,
                      int64_t reduction, int64_t ignore_index, const Tensor& output,
                      const Tensor& total_weight) {
  nll(self, target, weight, reduction, ignore_index, read_rows(self), output, total_weight);
}

void nll_loss2d_forward(const Tensor& self, const Tensor& target, const Tensor& weight,
                        int64_t reduction, int64_t ignore_index, const Tensor& output,
                        const Tensor& total_weight) {
  nll(self, target, weight, reduction, ignore_index, read_pictures(self), output, total_weight);
}

}  // namespace uh::kernels
