// Least squares by one of four LAPACK drivers.
#include "backend/cpu/copy/elements.h"
#include "ops/linalg/checks.h"
#include "backend/cpu/linalg/lapack.h"
#include "backend/cpu/linalg/matrices.h"
#include "generated/kernels/decompose.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/complex.h"
#include "generated/ops/creation.h"
#include "generated/ops/reduce.h"
#include "generated/ops/view.h"
#include "ops/geometry.h"

namespace uh::kernels {
namespace {

// Solves one system; b has max(m, n) rows and gets the solution in its first n.
template <class T>
int least_squares(std::string_view driver, int m, int n, int count, T* a, T* b, real_t<T>* s,
                  real_t<T> rcond, int* rank) {
  if constexpr (!is_complex_v<T>) {
    const bool small = m >= n && std::max(m, count) <= kMaxSmallMatrix && !s;
    if (small && small_matrix_loops().of<T>().least_squares(a, m, n, b, count, rcond)) return 0;
  }
  const int lda = std::max(m, 1), ldb = std::max({m, n, 1});
  if (driver == "gels") return lapack::gels(m, n, count, a, lda, b, ldb);
  if (driver == "gelsd") return lapack::gelsd(m, n, count, a, lda, b, ldb, s, rcond, rank);
  if (driver == "gelss") return lapack::gelss(m, n, count, a, lda, b, ldb, s, rcond, rank);
  std::vector<int> order(static_cast<size_t>(std::max(n, 1)), 0);
  return lapack::gelsy(m, n, count, a, lda, b, ldb, order.data(), rcond, rank);
}

std::string no_solution(int info) {
  return message(
      "The least squares solution could not be computed because the input matrix does not have "
      "full rank, or the algorithm did not converge (error code: ",
      info, ").");
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor, Tensor> linalg_lstsq(
    KeySet, const Tensor& self, const Tensor& b, std::optional<double> rcond,
    const std::optional<std::string>& argument) {
  constexpr std::string_view kOp = "torch.linalg.lstsq";
  check(self.ndim() >= 2, kOp, ": input must have at least 2 dimensions.");
  check(b.ndim() >= 1, kOp, ": other must have at least 1 dimension.");
  check_lapack_dtype(self, kOp);
  check(self.dtype() == b.dtype(), kOp,
        ": Expected input and other to have the same dtype, but got ", info(self.dtype()).title,
        " and ", info(b.dtype()).title);
  const std::string driver = argument.value_or("gelsy");
  check(driver == "gels" || driver == "gelsy" || driver == "gelsd" || driver == "gelss", kOp,
        ": parameter `driver` should be one of (gels, gelsy, gelsd, gelss), got ", driver);
  const int64_t difference = self.ndim() - b.ndim();
  check(difference == 0 || difference == 1, kOp,
        ": input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= "
        "1, got ",
        self.ndim(), " and ", b.ndim());
  const bool vector = difference == 1 && b.sizes() == batch_of(self, 1);
  const Tensor right = vector ? ops::unsqueeze(b, -1) : b;
  check(right.ndim() >= 2 && rows_of(self) == rows_of(right), kOp,
        ": input.size(-2) should match other.size(", vector ? -1 : -2, "), got ", self.sizes(),
        " and ", b.sizes());
  const Dims batch = broadcast_shapes(batch_of(self), batch_of(right));
  const int64_t m = rows_of(self), n = columns_of(self), count = columns_of(right),
                k = std::min(m, n), tall = std::max(m, n);
  check_lapack_size(m, std::max(n, k * 8), kOp);
  check_lapack_size(tall, count, kOp);
  const DType real = to_real(self.dtype());
  // Keeps b's whole work space: the solution is a view of its first rows, as in PyTorch.
  const Tensor x =
      empty_column_major(matrix_sizes(batch, tall, count), self.dtype(), self.device());
  const auto none = [&](DType dtype) { return empty(Dims{0}, dtype, self.device()); };
  const bool with_values = driver == "gelsd" || driver == "gelss";
  const Tensor values = with_values ? empty(with_last(batch, k), real, self.device()) : none(real);
  const Tensor rank =
      driver == "gels" ? none(DType::kInt64) : empty(batch, DType::kInt64, self.device());
  Tensor solution = alias(x, {matrix_sizes(batch, n, count), x.strides(), 0});
  Tensor residuals = none(real);
  if (self.is_meta())
    return {vector ? ops::squeeze(solution, Dims{-1}) : solution, residuals, rank, values};
  fill_elements(x, ElementBytes{});
  if (rank.numel() > 0) fill_elements(rank, ElementBytes{});
  if (values.numel() > 0) fill_elements(values, ElementBytes{});
  copy_elements(alias(x, {matrix_sizes(batch, m, count), x.strides(), 0}), right);
  bool full_rank = true;
  if (self.numel() > 0) {
    const Tensor a = column_major_copy(self, matrix_sizes(batch, m, n));
    const Tensor result = empty(batch, DType::kInt32);
    const double epsilon = real == DType::kFloat32 ? 0x1p-23 : 0x1p-52;
    const double min_value = rcond.value_or(epsilon * static_cast<double>(tall));
    visit_lapack(self.dtype(), [&](auto zero) {
      using T = decltype(zero);
      for_matrices(result.numel(), 4 * m * n * k + m * n * count, [&](int64_t i) {
        int rank_found = static_cast<int>(k);
        if (with_values && !all_finite(a.data_as<T>() + i * m * n, m * n)) {
          result.data_as<int32_t>()[i] = 1;
          return;
        }
        result.data_as<int32_t>()[i] = least_squares<T>(
            driver, static_cast<int>(m), static_cast<int>(n), static_cast<int>(count),
            a.data_as<T>() + i * m * n, x.data_as<T>() + i * tall * count,
            with_values ? values.data_as<real_t<T>>() + i * k : nullptr,
            static_cast<real_t<T>>(min_value), &rank_found);
        if (driver != "gels") rank.data_as<int64_t>()[i] = rank_found;
      });
    });
    check_info(result, kOp, no_solution);
    for (int64_t i = 0; i < rank.numel(); ++i)
      full_rank = full_rank && rank.data_as<int64_t>()[i] == n;
  } else {
    full_rank = driver == "gels" || n == 0;
    if (n > 0) fill_elements(x, ElementBytes{});
  }
  for (const Tensor& t : {x, rank, values}) record_write(t);
  // LAPACK leaves the residuals below the solution (except gelsy).
  if (driver != "gelsy" && m > n && full_rank) {
    const Tensor remainder = alias(x, {matrix_sizes(batch, m - n, count), x.strides(), n});
    residuals = ops::sum(ops::square(ops::abs(remainder)), Dims{-2}, false, real);
  }
  return {vector ? ops::squeeze(solution, Dims{-1}) : solution, residuals, rank, values};
}

}  // namespace uh::kernels
