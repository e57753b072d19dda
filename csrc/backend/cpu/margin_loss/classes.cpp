// multi_margin_loss and multilabel_margin_loss: each class of a row against its target classes.
#include "backend/cpu/copy/elements.h"
#include "base/parallel.h"
#include "generated/kernels/margin_loss.h"
#include "ops/loss/reduction.h"
#include "ops/operand_checks.h"

namespace uh::kernels {
namespace {

// Scores as rows of classes; a single row without a batch.
struct Rows {
  int64_t rows = 1, classes = 1;

  Rows(const Tensor& self, const char* op) {
    const int64_t n = self.ndim();
    check(n <= 2 && (n == 0 || self.size(n - 1) != 0), op,
          ": expected non-empty vector or matrix with optional 0-dim batch size, but got: ",
          self.sizes());
    if (n == 2) rows = self.size(0);
    if (n > 0) classes = self.size(n - 1);
  }
  int64_t grain() const { return std::max<int64_t>(1, 16384 / classes); }
};

template <class F>
void visit_scores(const Tensor& self, const char* op, F&& f) {
  if (self.dtype() == DType::kFloat32) return f(float{});
  if (self.dtype() == DType::kFloat64) return f(double{});
  fail(ErrorKind::kNotImplemented, "\"", op, "\" not implemented for '", info(self.dtype()).title,
       "'");
}

// Stores row losses, computed in double, as the result: all of them, or their reduction.
void finish(const Tensor& out, const std::vector<double>& losses, int64_t reduction) {
  Tensor wide = empty(Dims{static_cast<int64_t>(losses.size())}, DType::kFloat64);
  std::copy(losses.begin(), losses.end(), wide.data_as<double>());
  if (out.ndim() == 0) {
    double sum = 0;
    for (const double loss : losses) sum += loss;
    if (reduction == kMeanLoss) sum /= static_cast<double>(losses.size());
    fill_elements(out, element_bytes(sum, out.dtype()));
  } else {
    copy_elements(out, wide);
  }
  record_write(out);
}

// Returns a 0-d tensor without a batch or with a reduction, else one element per row.
Tensor result(const Tensor& self, bool batched, int64_t rows, int64_t reduction) {
  const bool unreduced = batched && reduction != kMeanLoss && reduction != kSumLoss;
  return empty(unreduced ? Dims{rows} : Dims{}, self.dtype(), self.device());
}

const int64_t* class_numbers(const Tensor& retained, const char* op, int64_t min_value,
                             int64_t classes) {
  const auto* numbers = retained.data_as<int64_t>();
  for (int64_t i = 0; i < retained.numel(); ++i)
    check(numbers[i] >= min_value && numbers[i] < classes, op,
          ": target out of range: ", numbers[i], " is not below ", classes, " or less than ",
          min_value);
  return numbers;
}

}  // namespace

Tensor multi_margin_loss(KeySet, const Tensor& self, const Tensor& target, const Scalar& p,
                         const Scalar& margin, const Tensor& weight, int64_t reduction) {
  const char* op = "multi_margin_loss";
  const Rows shape(self, op);
  const double power = p.to_double(), m = margin.to_double();
  check(power == 1 || power == 2, op, ": only p == 1 and p == 2 supported, got ", p);
  check(target.ndim() <= 1 && target.numel() == shape.rows, op,
        ": inconsistent target size, expected ", shape.rows, " but got ", target.sizes());
  check(!weight || (weight.ndim() <= 1 && weight.numel() == shape.classes), op,
        ": inconsistent weight size, expected ", shape.classes, " but got ",
        weight ? weight.sizes() : Dims{});
  check(target.dtype() == DType::kInt64, op, ": expected scalar type Long but found ",
        info(target.dtype()).title);
  check(!weight || weight.dtype() == self.dtype(), op, ": expected scalar type ",
        info(self.dtype()).title, " but found ",
        info(weight ? weight.dtype() : DType::kInt64).title);
  Tensor out = result(self, target.ndim() == 1, shape.rows, reduction);
  visit_scores(self, op, [&](auto zero) {
    using T = decltype(zero);
    if (out.is_meta()) return;
    const Tensor x = as_contiguous(self), numbers = as_contiguous(target);
    const Tensor w = weight ? as_contiguous(weight) : weight;
    const int64_t* t = class_numbers(numbers, op, 0, shape.classes);
    std::vector<double> losses(static_cast<size_t>(shape.rows));
    parallel_for(0, shape.rows, shape.grain(), [&](int64_t lo, int64_t hi) {
      for (int64_t r = lo; r < hi; ++r) {
        const T* row = x.data_as<T>() + r * shape.classes;
        double sum = 0;
        for (int64_t c = 0; c < shape.classes; ++c) {
          const double lacking = m - static_cast<double>(row[t[r]]) + static_cast<double>(row[c]);
          if (c != t[r] && lacking > 0) sum += power == 1 ? lacking : lacking * lacking;
        }
        if (w) sum *= static_cast<double>(w.data_as<T>()[t[r]]);
        losses[static_cast<size_t>(r)] = sum / static_cast<double>(shape.classes);
      }
    });
    finish(out, losses, reduction);
  });
  return out;
}

std::tuple<Tensor, Tensor> multilabel_margin_loss_forward(KeySet, const Tensor& self,
                                                          const Tensor& target, int64_t reduction) {
  const char* op = "multilabel_margin_loss";
  const Rows shape(self, op);
  const bool fits = self.ndim() <= 1 ? target.ndim() <= 1 && target.numel() == shape.classes
                                     : target.ndim() == 2 && target.size(0) == shape.rows &&
                                           target.size(1) == shape.classes;
  check(fits, op, ": inconsistent target size: ", target.sizes(),
        " for input of size: ", self.sizes());
  check(target.dtype() == DType::kInt64, op, ": expected scalar type Long but found ",
        info(target.dtype()).title);
  Tensor out = result(self, target.ndim() > 1, shape.rows, reduction);
  Tensor is_target = empty(target.sizes(), self.dtype(), self.device());
  visit_scores(self, op, [&](auto zero) {
    using T = decltype(zero);
    if (out.is_meta()) return;
    const Tensor x = as_contiguous(self), numbers = as_contiguous(target);
    const int64_t* t = class_numbers(numbers, op, -1, shape.classes);
    fill_elements(is_target, ElementBytes{});
    std::vector<double> losses(static_cast<size_t>(shape.rows));
    parallel_for(0, shape.rows, shape.grain(), [&](int64_t lo, int64_t hi) {
      for (int64_t r = lo; r < hi; ++r) {
        const T* row = x.data_as<T>() + r * shape.classes;
        const int64_t* first = t + r * shape.classes;
        const int64_t* last = std::find(first, first + shape.classes, -1);
        T* selected = is_target.data_as<T>() + r * shape.classes;
        for (const int64_t* c = first; c < last; ++c) selected[*c] = 1;
        double sum = 0;
        for (const int64_t* c = first; c < last; ++c) {
          for (int64_t other = 0; other < shape.classes; ++other) {
            const double lacking =
                1 - static_cast<double>(row[*c]) + static_cast<double>(row[other]);
            if (selected[other] == 0 && lacking > 0) sum += lacking;
          }
        }
        losses[static_cast<size_t>(r)] = sum / static_cast<double>(shape.classes);
      }
    });
    finish(out, losses, reduction);
    record_write(is_target);
  });
  return {out, is_target};
}

// Each pair of a target and another class within the margin adds to both gradients.
Tensor multilabel_margin_loss_backward(KeySet, const Tensor& grad_output, const Tensor& self,
                                       const Tensor& target, int64_t reduction,
                                       const Tensor& is_target) {
  const char* op = "multilabel_margin_loss_backward";
  const Rows shape(self, op);
  check_together(op, self, {&grad_output, &is_target});
  check_together(op, self, {&target}, true);
  check(target.dtype() == DType::kInt64 && target.numel() == self.numel() &&
            is_target.numel() == self.numel() &&
            (grad_output.numel() == 1 || grad_output.numel() == shape.rows),
        op, ": a gradient of sizes ", grad_output.sizes(), ", an input of ", self.sizes(),
        " and a target of ", target.sizes(), " do not belong together");
  Tensor out = empty(self.sizes(), self.dtype(), self.device());
  visit_scores(self, op, [&](auto zero) {
    using T = decltype(zero);
    if (out.is_meta()) return;
    const Tensor x = as_contiguous(self), numbers = as_contiguous(target);
    const Tensor marks = as_contiguous(is_target), grads = as_contiguous(grad_output);
    const int64_t* t = class_numbers(numbers, op, -1, shape.classes);
    const int64_t count = reduction == kMeanLoss ? shape.classes * shape.rows : shape.classes;
    fill_elements(out, ElementBytes{});
    parallel_for(0, shape.rows, shape.grain(), [&](int64_t lo, int64_t hi) {
      for (int64_t r = lo; r < hi; ++r) {
        const T* row = x.data_as<T>() + r * shape.classes;
        const T* selected = marks.data_as<T>() + r * shape.classes;
        const int64_t* first = t + r * shape.classes;
        const int64_t* last = std::find(first, first + shape.classes, -1);
        const T pulled = grads.data_as<T>()[grads.numel() == 1 ? 0 : r] / static_cast<T>(count);
        T* result = out.data_as<T>() + r * shape.classes;
        for (const int64_t* c = first; c < last; ++c) {
          for (int64_t other = 0; other < shape.classes; ++other) {
            if (selected[other] != 0 || 1 - row[*c] + row[other] <= 0) continue;
            result[other] += pulled;
            result[*c] -= pulled;
          }
        }
      }
    });
    record_write(out);
  });
  return out;
}

}  // namespace uh::kernels
