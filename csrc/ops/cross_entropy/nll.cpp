// The shape rules and composites of nll_loss.
#include "generated/kernels/cross_entropy.h"
#include "generated/ops/cross_entropy.h"
#include "generated/ops/view.h"
#include "ops/cross_entropy/scores.h"
#include "ops/cross_entropy/shapes.h"
#include "ops/loss/reduction.h"
#include "ops/operand_checks.h"

namespace uh::shapes {
namespace {

// `kept_sizes`: the sizes of a loss without reduction.
std::tuple<Tensor, Tensor> nll(const Tensor& self, const Tensor& target, const Tensor& weight,
                               int64_t reduction, int64_t classes, const Dims& kept_sizes) {
  check(!weight || (weight.ndim() == 1 && weight.numel() == classes),
        "nll_loss: weight tensor should be defined either for all ", classes,
        " classes or no classes but got weight tensor of shape: ",
        weight ? weight.sizes() : Dims{});
  check_kind(is_floating(self.dtype()), ErrorKind::kNotImplemented,
             "\"nll_loss_out_frame\" not implemented for '", info(self.dtype()).title, "'");
  check(target.dtype() == DType::kInt64 || target.dtype() == DType::kUInt8,
        "nll_loss: expected scalar type Long but found ", info(target.dtype()).title);
  check(!weight || weight.dtype() == self.dtype(), "nll_loss: expected scalar type ",
        info(self.dtype()).title, " but found ",
        info(weight ? weight.dtype() : self.dtype()).title);
  return {empty(keeps_losses(self, reduction) ? kept_sizes : Dims{}, self.dtype(), self.device()),
          empty({}, self.dtype(), self.device())};
}

}  // namespace

std::tuple<Tensor, Tensor> nll_loss(const Tensor& self, const Tensor& target, const Tensor& weight,
                                    int64_t reduction) {
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
  return nll(self, target, weight, reduction, self.size(self.ndim() - 1), {rows});
}

std::tuple<Tensor, Tensor> nll_loss2d(const Tensor& self, const Tensor& target,
                                      const Tensor& weight, int64_t reduction) {
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
  return nll(self, target, weight, reduction, self.size(1), expected);
}

Tensor nll_loss_backward(const Tensor& grad_output, const Tensor& self, const Tensor& target,
                         const Tensor& weight, const Tensor& total_weight, bool pictures) {
  const std::string_view op = pictures ? "nll_loss2d_backward" : "nll_loss_backward";
  check_together(op, self, {&grad_output, &target, &weight, &total_weight}, true);
  check_kind(is_floating(self.dtype()), ErrorKind::kNotImplemented, "\"", op,
             "\" not implemented for '", info(self.dtype()).title, "'");
  check(pictures ? self.ndim() == 4 : self.ndim() == 1 || self.ndim() == 2, op,
        ": scores of sizes ", self.sizes(), " have ", self.ndim(), " dimensions");
  check(is_integral(target.dtype()), op, ": expected a target of integers, got ",
        info(target.dtype()).name);
  const Scores s = pictures ? read_pictures(self) : read_rows(self);
  check(grad_output.numel() == 1 || grad_output.numel() == s.positions(),
        "nll_loss_backward: the gradient has sizes ", grad_output.sizes(), " for ", s.positions(),
        " targets");
  check(target.numel() == s.positions() && (!weight || weight.numel() == s.classes) &&
            total_weight.numel() == 1,
        op, ": scores of sizes ", self.sizes(), ", a target of ", target.sizes(),
        " and a weight of ", weight ? weight.sizes() : Dims(), " do not belong together");
  return empty(self.sizes(), self.dtype(), self.device());
}

}  // namespace uh::shapes

namespace uh::kernels {

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
    check_kind(target.ndim() > 0, ErrorKind::kValue,
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
