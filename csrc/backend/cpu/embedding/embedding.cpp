// The operators of embedding.yaml except embedding_bag.
#include <cmath>

#include "backend/cpu/copy/elements.h"
#include "backend/cpu/embedding/rows.h"
#include "generated/kernels/embedding.h"
#include "ops/embedding/row_indices.h"

namespace uh {

Tensor row_numbers(const Tensor& indices, std::string_view op) {
  check_row_indices(indices, op);
  return as_contiguous(indices, DType::kInt64);
}

void check_rows(const Tensor& numbers, const Tensor& weight, std::string_view op) {
  const auto* index = numbers.data_as<int64_t>();
  const int64_t n = numbers.numel(), rows = weight.size(0);
  const int64_t bad = index_loops().outside(index, n, 0, rows);
  check_kind(bad == n, ErrorKind::kIndex, op,
             ": index out of range in self: ", bad < n ? index[bad] : 0,
             " is not a row of a table of ", rows);
}

}  // namespace uh

namespace uh::kernels {
namespace {

double norm_of(const double* x, int64_t n, double p) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double size = std::fabs(x[i]);
    if (std::isinf(p))
      sum = p > 0 ? std::max(sum, size) : i == 0 ? size : std::min(sum, size);
    else if (p == 0)
      sum += size != 0;
    else
      sum += p == 2 ? size * size : p == 1 ? size : std::pow(size, p);
  }
  if (std::isinf(p) || p == 0) return sum;
  return p == 2 ? std::sqrt(sum) : std::pow(sum, 1 / p);
}

}  // namespace

void embedding(const Tensor& weight, const Tensor& indices, int64_t, bool, bool,
               const Tensor& result) {
  if (indices.numel() == 0) return;
  const Tensor numbers = row_numbers(indices, "embedding");
  const int64_t n = indices.numel(), width = weight.size(1);
  if (width == 0) return check_rows(numbers, weight, "embedding");
  const Tensor flat = alias(numbers, Layout{Dims{n}, Dims{1}, numbers.offset()});
  gather_into(result.data(), weight, walk_slices(weight, 0, flat, Dims{width, 1}), "embedding",
              ErrorKind::kIndex);
}

void embedding_renorm(const Tensor& self, const Tensor& indices, double max_norm,
                      double norm_type) {
  const Tensor numbers = row_numbers(indices, "embedding_renorm_");
  check_rows(numbers, self, "embedding_renorm_");
  const int64_t width = self.size(1), item = itemsize(self.dtype());
  std::vector<double> row(static_cast<size_t>(width));
  std::vector<bool> done(static_cast<size_t>(self.size(0)));
  for (int64_t i = 0; i < numbers.numel(); ++i) {
    const int64_t r = numbers.data_as<int64_t>()[i];
    if (done[static_cast<size_t>(r)]) continue;
    done[static_cast<size_t>(r)] = true;
    std::byte* start = self.data() + r * self.stride(0) * item;
    const Strided own(start, self.dtype(), Dims{width}, Dims{self.stride(1)});
    const Strided wide(reinterpret_cast<std::byte*>(row.data()), DType::kFloat64, Dims{width},
                       Dims{1});
    copy_elements(wide, own);
    const double norm = norm_of(row.data(), width, norm_type);
    if (norm <= max_norm) continue;
    for (double& x : row) x *= max_norm / (norm + 1e-7);
    copy_elements(own, wide);
  }
}

Tensor one_hot(KeySet, const Tensor& self, int64_t num_classes) {
  check(self.dtype() == DType::kInt64,
        "one_hot: is only applicable to index tensor of type LongTensor, got ",
        info(self.dtype()).title);
  check(!self.is_meta() || num_classes > 0,
        "one_hot: the number of classes of a meta tensor must be given");
  const Tensor numbers = self.is_meta() ? self : as_contiguous(self);
  const int64_t n = self.numel();
  const int64_t* number = self.is_meta() ? nullptr : numbers.data_as<int64_t>();
  int64_t classes = num_classes;
  if (n == 0) {
    check(num_classes > 0, "one_hot: Can not infer total number of classes from empty tensor.");
  } else if (number) {
    int64_t limit = 0;
    for (int64_t i = 0; i < n; ++i) {
      check(number[i] >= 0, "one_hot: Class values must be non-negative, got ", number[i]);
      limit = std::max(limit, number[i]);
    }
    check(num_classes == -1 || limit < num_classes,
          "one_hot: Class values must be smaller than num_classes: ", limit, " >= ", num_classes);
    check(limit < INT64_MAX, "one_hot: too many classes: ", limit);
    if (num_classes == -1) classes = limit + 1;
  }
  Dims sizes = self.sizes();
  sizes.push_back(classes);
  Tensor out = empty(sizes, DType::kInt64, self.device());
  if (out.is_meta()) return out;
  fill_elements(out, ElementBytes{});
  for (int64_t i = 0; i < n; ++i) out.data_as<int64_t>()[i * classes + number[i]] = 1;
  record_write(out);
  return out;
}

}  // namespace uh::kernels
