#include "backend/opencl/gemm.h"

#include "backend/opencl/clblast.h"
#include "backend/opencl/copy.h"
#include "backend/opencl/elementwise.h"
#include "backend/opencl/host.h"
#include "generated/structured/linalg.h"
#include "generated/structured/products.h"
#include "ops/geometry.h"

namespace uh::opencl {
namespace {

struct Sizes {  // the struct that gemm.cl declares
  int64_t rows, columns, depth;
  int64_t a_row, a_column, a_batch, b_row, b_column, b_batch, s_row, s_column, s_batch;
};

bool multiplies(const Tensor& t) {
  return has_dtype(t.device(), t.dtype()) && !is_complex(t.dtype()) && t.dtype() != DType::kBool;
}

// The number of elements of an OpenCL C vector that fits the device's registers.
int64_t lanes_of(DType dtype, const OpenclDevice& device) {
  const bool wide = device.vector_width >= 16;
  const int64_t item = std::max<int64_t>(
      4, itemsize(is_floating(dtype) && dtype != DType::kFloat64 ? DType::kFloat32 : dtype));
  return (wide ? 64 : 32) / item;
}

// `result` is row-major.
void run_product(const Product& p, const Tensor& result) {
  if (result.numel() == 0) return;
  OpenclDevice& device = device_of(result.device());
  if (uses_clblast(device) && clblast_product(p, result)) return;
  const DType dtype = result.dtype();
  Defines defines;
  defines.dtype("A", dtype);
  Range range{3, {1, 1, static_cast<size_t>(p.batch)}, {1, 1, 1}};
  const auto blocks = [](int64_t n, int64_t block) {
    return static_cast<size_t>((n + block - 1) / block);
  };
  if (device.is_cpu) {
    const int64_t lanes = lanes_of(dtype, device);
    const int64_t micro = p.rows < 4 ? 1 : device.vector_width >= 16 ? 8 : 6;
    defines.number("THREADS", 1).number("LANES", lanes).number("MICRO", micro);
    defines.text("VECTOR", Defines::computed_type(dtype) + std::to_string(lanes));
    range.items[0] = blocks(p.columns, 128);
    range.items[1] = blocks(p.rows, 16 * micro);
  } else {
    // Large tiles read less; small products need many groups.
    const bool large = p.rows * p.columns * p.batch >= int64_t{512} * 512;
    const int64_t registers = large && dtype != DType::kFloat64 ? 8 : 4;
    defines.number("REGISTERS", registers);
    range.group[0] = range.group[1] = 16;
    range.items[0] = blocks(p.columns, 16 * registers) * 16;
    range.items[1] = blocks(p.rows, 16 * registers) * 16;
  }
  static const Source threads(sources::gemm, "gemm_threads"), lanes(sources::gemm, "gemm_lanes");
  const Kernel& kernel = (device.is_cpu ? threads : lanes).kernel(result.device(), defines, p.name);
  const bool has_sum = p.has_sum();
  const Sizes sizes{p.rows,  p.columns,  p.depth,   p.a.row,   p.a.column,   p.a.batch,
                    p.b.row, p.b.column, p.b.batch, p.sum.row, p.sum.column, p.sum.batch};
  Arguments arguments(kernel);
  arguments.add(p.a.tensor).add(p.b.tensor).add(has_sum ? p.sum.tensor : result).add(result);
  arguments.add(sizes);
  for (const Scalar& factor : {p.alpha, p.beta}) {
    const Number number = number_of(dtype, factor);
    arguments.add_bytes(number.value.data(), number.size);
  }
  arguments.add(int32_t{has_sum}).launch(range);
}

Matrices matrix(const Tensor& t) { return {t, t.stride(0), t.stride(1), 0}; }
Matrices batch_of(const Tensor& t) { return {t, t.stride(1), t.stride(2), t.stride(0)}; }

// The matrix that is added to a product of `ndim` dimensions, with the strides of its broadcasting.
Matrices summand(const Tensor& t, size_t ndim) {
  const Dims strides = broadcast_strides(t.sizes(), t.strides(), ndim);
  return {t, strides[ndim - 2], strides[ndim - 1], ndim == 3 ? strides[0] : 0};
}

void mm(const Tensor& self, const Tensor& mat2, const Tensor& result) {
  if (!multiplies(result)) return on_cpu(ops::mm_op, std::tuple(result), self, mat2);
  run_product({"mm", 1, self.size(0), mat2.size(1), self.size(1), matrix(self), matrix(mat2), {}},
              result);
}

void bmm(const Tensor& self, const Tensor& mat2, const Tensor& result) {
  if (!multiplies(result)) return on_cpu(ops::bmm_op, std::tuple(result), self, mat2);
  run_product({"bmm",
               self.size(0),
               self.size(1),
               mat2.size(2),
               self.size(2),
               batch_of(self),
               batch_of(mat2),
               {}},
              result);
}

void mv(const Tensor& self, const Tensor& vec, const Tensor& result) {
  if (!multiplies(result)) return on_cpu(ops::mv_op, std::tuple(result), self, vec);
  // The vector is the left factor, a row; the right one is the transposed matrix.
  run_product({"mv",
               1,
               1,
               self.size(0),
               self.size(1),
               {vec, 0, vec.stride(0), 0},
               {self, self.stride(1), self.stride(0), 0},
               {}},
              result);
}

void dot(const Tensor& self, const Tensor& tensor, const Tensor& result) {
  if (!multiplies(result)) return on_cpu(ops::dot_op, std::tuple(result), self, tensor);
  run_product({"dot",
               1,
               1,
               1,
               self.size(0),
               {self, 0, self.stride(0), 0},
               {tensor, tensor.stride(0), 0, 0},
               {}},
              result);
}

void addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
           const Scalar& alpha, const Tensor& result) {
  if (!multiplies(result))
    return on_cpu(ops::addmm_op, std::tuple(result), self, mat1, mat2, beta, alpha);
  run_product({"addmm", 1, mat1.size(0), mat2.size(1), mat1.size(1), matrix(mat1), matrix(mat2),
               summand(self, 2), alpha, beta},
              result);
}

void baddbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
             const Scalar& alpha, const Tensor& result) {
  if (!multiplies(result))
    return on_cpu(ops::baddbmm_op, std::tuple(result), self, batch1, batch2, beta, alpha);
  run_product({"baddbmm", batch1.size(0), batch1.size(1), batch2.size(2), batch1.size(2),
               batch_of(batch1), batch_of(batch2), summand(self, 3), alpha, beta},
              result);
}

void addmv(const Tensor& self, const Tensor& mat, const Tensor& vec, const Scalar& beta,
           const Scalar& alpha, const Tensor& result) {
  if (!multiplies(result))
    return on_cpu(ops::addmv_op, std::tuple(result), self, mat, vec, beta, alpha);
  const Dims strides = broadcast_strides(self.sizes(), self.strides(), 1);
  run_product({"addmv",
               1,
               1,
               mat.size(0),
               mat.size(1),
               {vec, 0, vec.stride(0), 0},
               {mat, mat.stride(1), mat.stride(0), 0},
               {self, 0, strides[0], 0},
               alpha,
               beta},
              result);
}

void linear(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& result) {
  if (!multiplies(result)) return on_cpu(ops::linear_op, std::tuple(result), input, weight, bias);
  const Tensor x = contiguous(input);
  const int64_t depth = x.size(x.ndim() - 1);
  // A weight of one dimension is a single row.
  const int64_t columns = weight.ndim() == 2 ? weight.size(0) : 1;
  const Matrices right{weight, weight.stride(weight.ndim() - 1),
                       weight.ndim() == 2 ? weight.stride(0) : 0, 0};
  Matrices sum;
  if (bias) sum = {bias, 0, bias.ndim() ? bias.stride(bias.ndim() - 1) : 0, 0};
  run_product({"linear",
               1,
               result.numel() / std::max<int64_t>(1, columns),
               columns,
               depth,
               {x, depth, 1, 0},
               right,
               sum},
              result);
}

// The last two dimensions of a tensor as matrices, broadcast to the batch of the result; a copy if
// the matrices are not a single stride apart.
Matrices expanded(const Tensor& t, const Dims& batch, int64_t count, int64_t row, int64_t column) {
  const size_t own = t.sizes().size() - std::min<size_t>(2, t.sizes().size());
  const IntSpan sizes(t.sizes().data(), own), strides(t.strides().data(), own);
  const Dims spread = broadcast_strides(sizes, strides, batch.size());
  const auto walk = make_geometry<1>(batch, {IntSpan(spread)}, false);
  if (walk.sizes.size() == 1) return {t, row, column, count == 1 ? 0 : walk.row_stride(0)};
  const int64_t rows = t.size(t.ndim() - 2), columns = t.size(t.ndim() - 1);
  Dims all(batch);
  all.push_back(rows);
  all.push_back(columns);
  const Tensor dense = empty(all, t.dtype(), t.device());
  copy_elements(dense, t);
  return {dense, columns, 1, rows * columns};
}

void matmul(const Tensor& self, const Tensor& other, const Tensor& result) {
  if (!multiplies(result)) return on_cpu(ops::matmul_op, std::tuple(result), self, other);
  const int64_t da = self.ndim(), db = other.ndim();
  if (da == 1 && db == 1) return dot(self, other, result);
  if (da == 2 && db == 1) return mv(self, other, result);
  if (da == 2 && db == 2) return mm(self, other, result);
  const int64_t rows = da == 1 ? 1 : self.size(da - 2), depth = self.size(da - 1);
  const int64_t columns = db == 1 ? 1 : other.size(db - 1);
  if (db <= 2 && da > 2 && self.is_contiguous()) {  // the batch becomes more rows
    run_product({"matmul",
                 1,
                 self.numel() / std::max<int64_t>(1, depth),
                 columns,
                 depth,
                 {self, depth, 1, 0},
                 {other, other.stride(0), db == 1 ? 0 : other.stride(1), 0},
                 {}},
                result);
    return;
  }
  const auto batch_dims = static_cast<size_t>(result.ndim() - (da > 1) - (db > 1));
  const Dims batch(IntSpan(result.sizes().data(), batch_dims));
  const int64_t count = numel_of(batch);
  const Matrices a = da == 1
                         ? Matrices{self, 0, self.stride(0), 0}
                         : expanded(self, batch, count, self.stride(da - 2), self.stride(da - 1));
  const Matrices b =
      db == 1 ? Matrices{other, other.stride(0), 0, 0}
              : expanded(other, batch, count, other.stride(db - 2), other.stride(db - 1));
  run_product({"matmul", count, rows, columns, depth, a, b, {}}, result);
}

}  // namespace

void register_products() {
  constexpr Key kKey = Key::kOpenCL;
  structured::register_mm<mm>(kKey, "opencl mm");
  structured::register_bmm<bmm>(kKey, "opencl bmm");
  structured::register_mv<mv>(kKey, "opencl mv");
  structured::register_dot<dot>(kKey, "opencl dot");
  structured::register_matmul<matmul>(kKey, "opencl matmul");
  structured::register_addmm<addmm>(kKey, "opencl addmm");
  structured::register_baddbmm<baddbmm>(kKey, "opencl baddbmm");
  structured::register_addmv<addmv>(kKey, "opencl addmv");
  structured::register_linear<linear>(kKey, "opencl linear");
}

}  // namespace uh::opencl
