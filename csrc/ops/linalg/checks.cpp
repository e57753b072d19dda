#include "ops/linalg/checks.h"

namespace uh {
namespace {

// The C++ names that PyTorch's messages use.
constexpr std::string_view kTypeNames[] = {
    "bool",  "unsigned char", "signed char",         "short",
    "int",   "long",          "c10::Half",           "c10::BFloat16",
    "float", "double",        "c10::complex<float>", "c10::complex<double>"};

}  // namespace

void check_product_dtypes(const Tensor& a, const Tensor& b, std::string_view names) {
  check(a.dtype() == b.dtype(), "expected ", names,
        " to have the same dtype, but got: ", kTypeNames[static_cast<int>(a.dtype())],
        " != ", kTypeNames[static_cast<int>(b.dtype())]);
  const bool works = a.numel() > 0 && b.numel() > 0;
  check_kind(!works || a.dtype() != DType::kBool, ErrorKind::kNotImplemented,
             "\"addmm_impl_cpu_\" not implemented for 'Bool'");
}

// The message is formatted only on failure: formatting costs more than a small product.
void check_inner(int64_t m, int64_t k, int64_t k2, int64_t n) {
  check(k == k2, "mat1 and mat2 shapes cannot be multiplied (", m, "x", k, " and ", k2, "x", n,
        ")");
}

void check_matrix(const Tensor& t, std::string_view op, std::string_view argument) {
  check(t.ndim() >= 2, op, ": The input tensor ", argument,
        " must have at least 2 dimensions, got sizes ", t.sizes());
}

void check_square(const Tensor& t, std::string_view op, std::string_view argument) {
  check_matrix(t, op, argument);
  const int64_t rows = t.size(t.ndim() - 2), columns = t.size(t.ndim() - 1);
  check(rows == columns, op, ": ", argument, " must be batches of square matrices, but they are ",
        rows, " by ", columns, " matrices");
}

void check_batches(const Tensor& batch1, const Tensor& batch2, std::string_view op) {
  for (const Tensor* batch : {&batch1, &batch2}) {
    check_kind(batch->ndim() == 3, batch->ndim() < 3 ? ErrorKind::kIndex : ErrorKind::kRuntime, op,
               batch == &batch1 ? ": batch1" : ": batch2", " must be a 3D tensor, got sizes ",
               batch->sizes());
  }
}

void check_lapack_dtype(const Tensor& t, std::string_view op, Lapack refusal) {
  check_kind(is_inexact(t.dtype()),
             refusal == Lapack::kKernelOnly ? ErrorKind::kNotImplemented : ErrorKind::kRuntime, op,
             ": Expected a floating point or complex tensor as input. Got ", info(t.dtype()).title);
  check_kind(!is_reduced_floating(t.dtype()),
             refusal == Lapack::kDtypes ? ErrorKind::kRuntime : ErrorKind::kNotImplemented, op,
             ": Low precision dtypes not supported. Got ", info(t.dtype()).title);
}

void check_lapack_dtype_unless_empty(const Tensor& t, std::string_view op, Lapack refusal) {
  const bool reaches = refusal == Lapack::kKernelOnly || is_reduced_floating(t.dtype());
  if (t.numel() > 0 || !reaches) check_lapack_dtype(t, op, refusal);
}

void check_same_dtype(const Tensor& first, const Tensor& second, std::string_view op,
                      std::string_view first_name, std::string_view second_name) {
  check(first.dtype() == second.dtype(), op, ": Expected ", first_name, " and ", second_name,
        " to have the same dtype, but found ", first_name, " of type ", info(first.dtype()).title,
        " and ", second_name, " of type ", info(second.dtype()).title, " instead");
}

}  // namespace uh
