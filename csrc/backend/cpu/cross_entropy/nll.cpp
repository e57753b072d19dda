// nll_loss: one score of each row, the target class's, with its weight.
#include "backend/cpu/copy/elements.h"
#include "backend/cpu/cross_entropy/scores.h"
#include "base/parallel.h"
#include "generated/kernels/cross_entropy.h"
#include "generated/ops/cross_entropy.h"
#include "generated/ops/view.h"
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

// Loss and weight of the positions [lo, hi); single losses go to `each` where it is given.
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

// Parts of fixed size meet in order, so that the number of threads changes no result.
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

// One number into a tensor without dimensions.
void set_number(const Tensor& out, double value) {
  fill_elements(out, element_bytes(value, out.dtype()));
  record_write(out);
}

std::tuple<Tensor, Tensor> nll(const Tensor& self, const Tensor& target, const Tensor& weight,
                               int64_t reduction, int64_t ignore_index, const Scores& s,
                               const Dims& kept_sizes) {
  check(
      !weight || (weight.ndim() == 1 && weight.numel() == s.classes),
      "nll_loss: weight tensor should be defined either for all ", s.classes,
      " classes or no classes but got weight tensor of shape: ", weight ? weight.sizes() : Dims{});
  check_kind(is_floating(self.dtype()), ErrorKind::kNotImplemented,
             "\"nll_loss_out_frame\" not implemented for '", info(self.dtype()).title, "'");
  check(target.dtype() == DType::kInt64 || target.dtype() == DType::kUInt8,
        "nll_loss: expected scalar type Long but found ", info(target.dtype()).title);
  check(!weight || weight.dtype() == self.dtype(), "nll_loss: expected scalar type ",
        info(self.dtype()).title, " but found ",
        info(weight ? weight.dtype() : self.dtype()).title);
  const bool reduces = reduction == kMeanLoss || reduction == kSumLoss;
  const bool unreduced = !reduces && self.ndim() > 1;
  Tensor out = empty(unreduced ? kept_sizes : Dims{}, self.dtype(), self.device());
  Tensor total_weight = empty({}, self.dtype(), self.device());
  if (out.is_meta()) return {out, total_weight};
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
  if (unreduced)
    record_write(out);
  else
    set_number(out, reduction == kMeanLoss ? sums.loss / sums.weight : sums.loss);
  set_number(total_weight, unreduced ? 0 : sums.weight);
  return {out, total_weight};
}

}  // namespace

std::tuple<Tensor, Tensor> nll_loss_forward(KeySet, const Tensor& self, const Tensor& target,
                                            const Tensor& weight, int64_t reduction,
                                            int64_t ignore_index) {
  check(self.ndim() == 1 || self.ndim() == 2, "nll_loss: input tensor should be 1D or 2D, got ",
        self.ndim(), "D");
  check(target.ndim() <= 1,
        "nll_loss: 0D or 1D target tensor expected, multi-target not supported; got ",
        target.ndim(), "D");
  const int64_t rows = self.ndim() == 1 ? 1 : self.size(0);
  if (self.ndim() == 1 && target.ndim() == 1)
    check_kind(target.size(0) == 1, ErrorKind::kValue,
               "nll_loss: for 1D input, 1D target must have size 1, but got target size: ",
               target.size(0));
  check(target.numel() == rows && (self.ndim() == 1 || target.ndim() == 1),
        "nll_loss: size mismatch (got input: ", self.sizes(), ", target: ", target.sizes(), ")");
  return nll(self, target, weight, reduction, ignore_index, read_rows(self), {rows});
}

std::tuple<Tensor, Tensor> nll_loss2d_forward(KeySet, const Tensor& self, const Tensor& target,
                                              const Tensor& weight, int64_t reduction,
                                              int64_t ignore_index) {
  check(target.ndim() == 3,
        "nll_loss2d: only batches of spatial targets supported (3D tensors) but got targets of "
        "dimension: ",
        target.ndim());
  check(self.ndim() == 4,
        "nll_loss2d: only batches of spatial inputs supported (4D tensors), but got input of "
        "dimension: ",
        self.ndim());
  const Dims expected{self.size(0), self.size(2), self.size(3)};
  check(target.sizes() == expected, "nll_loss2d: size mismatch (got input: ", self.sizes(),
        ", target: ", target.sizes(), ")");
  return nll(self, target, weight, reduction, ignore_index, read_pictures(self), expected);
}

Tensor nll_loss(KeySet, const Tensor& self, const Tensor& target, const Tensor& weight,
                int64_t reduction, int64_t ignore_index) {
  return std::get<0>(ops::nll_loss_forward(self, target, weight, reduction, ignore_index));
}

Tensor nll_loss2d(KeySet, const Tensor& self, const Tensor& target, const Tensor& weight,
                  int64_t reduction, int64_t ignore_index) {
  return std::get<0>(ops::nll_loss2d_forward(self, target, weight, reduction, ignore_index));
}

Tensor nll_loss_nd(KeySet, const Tensor& self, const Tensor& target, const Tensor& weight,
                   int64_t reduction, int64_t ignore_index) {
  const int64_t rank = self.ndim();
  check_kind(rank > 0, ErrorKind::kValue, "nll_loss: expected 1 or more dimensions (got 0)");
  if (rank > 1) {
    check_kind(target.ndim() > 0, ErrorKind::kIndex,
               "nll_loss: the target of a batch has no dimensions; the input has sizes ",
               self.sizes());
    check_kind(self.size(0) == target.size(0), ErrorKind::kValue,
               "nll_loss: expected input batch_size (", self.size(0),
               ") to match target batch_size (", target.size(0), ")");
  }
  if (rank <= 2) return ops::nll_loss(self, target, weight, reduction, ignore_index);
  if (rank == 4) return ops::nll_loss2d(self, target, weight, reduction, ignore_index);
  Dims expected{self.size(0)};
  for (int64_t d = 2; d < rank; ++d) expected.push_back(self.size(d));
  check(target.sizes() == expected, "nll_loss: expected target size ", expected, ", got ",
        target.sizes());
  int64_t remainder = 1;
  for (int64_t d = 2; d < rank; ++d) remainder *= self.size(d);
  const Tensor loss = ops::nll_loss2d(
      ops::reshape(self, {self.size(0), self.size(1), 1, remainder}),
      ops::reshape(target, {self.size(0), 1, remainder}), weight, reduction, ignore_index);
  return loss.ndim() == 0 ? loss : ops::reshape(loss, expected);
}

}  // namespace uh::kernels
