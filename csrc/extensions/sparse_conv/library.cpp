// Sparse convolution as an operator library: built with the installed headers only, and loaded by
// engine.ops.load_library.
#include <underhood/underhood_library.hpp>

#include "gradients.h"
#include "products.h"
#include "rulebook.h"

UH_LIBRARY(sparse_conv, m) {
  m.def("check_sites(Tensor indices, int batch_size, int[] spatial_shape) -> ()");
  m.def(
      "rulebook(Tensor indices, int batch_size, int[] spatial_shape, int[] kernel_size, "
      "int[] stride, int[] padding, int[] dilation, bool submanifold, str table=\"auto\") -> "
      "(Tensor out_indices, Tensor in_rows, Tensor out_rows, Tensor starts)");
  m.def(
      "gather_gemm_scatter(Tensor features, Tensor weight, Tensor in_rows, Tensor out_rows, "
      "Tensor starts, int n_out) -> Tensor");
  m.def(
      "weight_gradient(Tensor features, Tensor grad, Tensor in_rows, Tensor out_rows, "
      "Tensor starts) -> Tensor");
  m.def(
      "max_pool_rows(Tensor features, Tensor in_rows, Tensor out_rows, Tensor starts, "
      "int n_out) -> Tensor");
}

UH_LIBRARY_IMPL(sparse_conv, CPU, m) {
  m.impl("check_sites", &sparse_conv::check_sites);
  m.impl("rulebook", &sparse_conv::build_rulebook);
  m.impl("gather_gemm_scatter", &sparse_conv::gather_gemm_scatter);
  m.impl("weight_gradient", &sparse_conv::weight_gradient);
  m.impl("max_pool_rows", &sparse_conv::max_pool_rows);
}

UH_LIBRARY_IMPL(sparse_conv, Autograd, m) { sparse_conv::register_gradients(m); }

UH_LIBRARY_IMPL(sparse_conv, Meta, m) {
  m.impl("gather_gemm_scatter", &sparse_conv::gather_gemm_scatter_meta);
  m.impl("weight_gradient", &sparse_conv::weight_gradient_meta);
}
