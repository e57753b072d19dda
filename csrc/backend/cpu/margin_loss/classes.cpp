// The kernels of margin_loss.yaml: each class of a row against its target classes.
#include "backend/cpu/copy/elements.h"
#include "base/parallel.h"
#include "generated/kernels/margin_loss.h"
#include "ops/loss/reduction.h"
#include "ops/margin_loss/shapes.h"

namespace uh::kernels {
namespace {

int64_t grain(const ScoreRows& shape) { return std::max<int64_t>(1, 16384 / shape.classes); }

template <class F>
void visit_scores(const Tensor& self, const F& f) {
  if (self.numel() == 0) return;
  self.dtype() == DType::kFloat32 ? f(float{}) : f(double{});
}

// Stores row losses, computed in double, as the result: all of them, or their reduction.
void finish(const Tensor& out, const std::vector<double>& losses, int64_t reduction) {
  Tensor wide = empty(Dims{static_cast<int64_t>(losses.size())}, DType::kFloat64);
  std::copy(losses.begin(), losses.end(), wide.data_as<double>());
  if (out.ndim() == 0) {
    double sum = 0;
    for (const double loss : losses) sum += loss;
    if (reduction == kMeanLoss && !losses.empty()) sum /= static_cast<double>(losses.size());
    fill_elements(out, element_bytes(sum, out.dtype()));
  } else {
    copy_elements(out, wide);
  }
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

// Returns the sum of max(0, shift + x) over n scores x, or of its squares. The
// partial sums do not wait for each other, and nothing branches on a score.
template <class T>
double lacking_before(const T* x, int64_t n, double shift, double power) {
  constexpr int64_t kSums = 8;
  const auto term = [=](T score) {
    const double lacking = shift + static_cast<double>(score), retained = lacking > 0 ? lacking : 0;
    return power == 1 ? retained : retained * retained;
  };
  double sums[kSums] = {};
  int64_t c = 0;
  for (; c + kSums <= n; c += kSums)
    for (int64_t k = 0; k < kSums; ++k) sums[k] += term(x[c + k]);
  for (; c < n; ++c) sums[c % kSums] += term(x[c]);
  double sum = 0;
  for (const double partial : sums) sum += partial;
  return sum;
}

}  // namespace

void multi_margin_loss(const Tensor& self, const Tensor& target, const Scalar& p,
                       const Scalar& margin, const Tensor& weight, int64_t reduction,
                       const Tensor& out) {
  const char* op = "multi_margin_loss";
  const ScoreRows shape(self, op);
  const double power = p.to_double(), m = margin.to_double();
  if (shape.rows == 0) return finish(out, {}, reduction);
  visit_scores(self, [&](auto zero) {
    using T = decltype(zero);
    const Tensor x = as_contiguous(self), numbers = as_contiguous(target);
    const Tensor w = weight ? as_contiguous(weight) : weight;
    const int64_t* t = class_numbers(numbers, op, 0, shape.classes);
    std::vector<double> losses(static_cast<size_t>(shape.rows));
    parallel_for(0, shape.rows, grain(shape), [&](int64_t lo, int64_t hi) {
      for (int64_t r = lo; r < hi; ++r) {
        const T* row = x.data_as<T>() + r * shape.classes;
        const double shift = m - static_cast<double>(row[t[r]]);
        double sum = lacking_before(row, t[r], shift, power) +
                     lacking_before(row + t[r] + 1, shape.classes - t[r] - 1, shift, power);
        if (w) sum *= static_cast<double>(w.data_as<T>()[t[r]]);
        losses[static_cast<size_t>(r)] = sum / static_cast<double>(shape.classes);
      }
    });
    finish(out, losses, reduction);
  });
}

void multilabel_margin_loss_forward(const Tensor& self, const Tensor& target, int64_t reduction,
                                    const Tensor& out, const Tensor& is_target) {
  const char* op = "multilabel_margin_loss";
  const ScoreRows shape(self, op);
  if (shape.rows == 0) return finish(out, {}, reduction);
  visit_scores(self, [&](auto zero) {
    using T = decltype(zero);
    const Tensor x = as_contiguous(self), numbers = as_contiguous(target);
    const int64_t* t = class_numbers(numbers, op, -1, shape.classes);
    fill_elements(is_target, ElementBytes{});
    std::vector<double> losses(static_cast<size_t>(shape.rows));
    parallel_for(0, shape.rows, grain(shape), [&](int64_t lo, int64_t hi) {
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
  });
}

// Each pair of a target and another class within the margin adds to both gradients.
void multilabel_margin_loss_backward(const Tensor& grad_output, const Tensor& self,
                                     const Tensor& target, int64_t reduction,
                                     const Tensor& is_target, const Tensor& out) {
  const char* op = "multilabel_margin_loss_backward";
  const ScoreRows shape(self, op);
  visit_scores(self, [&](auto zero) {
    using T = decltype(zero);
    const Tensor x = as_contiguous(self), numbers = as_contiguous(target);
    const Tensor marks = as_contiguous(is_target), grads = as_contiguous(grad_output);
    const int64_t* t = class_numbers(numbers, op, -1, shape.classes);
    const int64_t count = reduction == kMeanLoss ? shape.classes * shape.rows : shape.classes;
    fill_elements(out, ElementBytes{});
    parallel_for(0, shape.rows, grain(shape), [&](int64_t lo, int64_t hi) {
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
  });
}

}  // namespace uh::kernels
