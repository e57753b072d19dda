// An operator library that uses the installed headers only: test_libraries.py compiles and loads
// it.
#include <underhood/underhood_library.hpp>

#include <cmath>

using uh::Tensor;

namespace {

template <class T>
void signed_sqrt_loop(const Tensor& x, const Tensor& result) {
  const T* from = x.data_ptr<T>();
  T* to = result.data_ptr<T>();
  for (int64_t i = 0; i < x.numel(); ++i)
    to[i] = std::copysign(std::sqrt(std::abs(from[i])), from[i]);
}

Tensor signed_sqrt(const Tensor& x, double scale) {
  const Tensor from = x.contiguous();
  const Tensor result = uh::empty_like(from);
  if (x.dtype() == uh::kFloat) {
    signed_sqrt_loop<float>(from, result);
  } else if (x.dtype() == uh::kDouble) {
    signed_sqrt_loop<double>(from, result);
  } else {
    throw std::invalid_argument("signed_sqrt: expected a float or double tensor");
  }
  return result * scale;
}
Tensor signed_sqrt_meta(const Tensor& x, double) { return uh::empty_like(x); }

// Its derivative is scale / (2 sqrt|x|), which its result has: scale^2 / (2 |result|).
void setup_context(uh::AutogradContext& ctx, const std::vector<uh::Value>& inputs,
                   const std::vector<Tensor>& outputs) {
  ctx.save("scale", inputs[1].as<double>());
  ctx.save_for_backward({outputs[0]});
}
std::vector<Tensor> backward(uh::AutogradContext& ctx, const std::vector<Tensor>& gradients) {
  const Tensor result = ctx.get_saved_variables()[0];
  const double scale = ctx.saved<double>("scale");
  return {gradients[0] * (scale * scale / 2) / result.abs(), Tensor()};
}

std::tuple<Tensor, int64_t> split_sign(const Tensor& x) {
  return {x.sign(), (x < 0).sum().ints()[0]};
}

Tensor weighted_sum(const std::vector<Tensor>& tensors, const std::optional<Tensor>& bias,
                    std::vector<double> weights) {
  Tensor sum = bias ? *bias : uh::zeros_like(tensors.at(0));
  for (size_t i = 0; i < tensors.size(); ++i) sum = sum + tensors[i] * weights.at(i);
  return sum;
}

void fill_with(const Tensor& x, const uh::Scalar& value) {
  auto rows = x.accessor<float, 2>();
  for (int64_t i = 0; i < rows.size(0); ++i)
    for (int64_t j = 0; j < rows.size(1); ++j) rows[i][j] = value.to<float>();
}

}  // namespace

UH_LIBRARY_IMPL(test_signed, CPU, m) {
  m.impl("signed_sqrt", &signed_sqrt);
  m.impl("split_sign", &split_sign);
  m.impl("fill_with_", &fill_with);
  m.impl("fail", [](const Tensor& x, const std::string& kind) -> Tensor {
    if (kind == "value") throw std::invalid_argument("an invalid argument");
    if (kind == "index") throw std::out_of_range("out of range");
    if (kind == "runtime") throw std::runtime_error("a failure");
    if (kind == "int") throw 3;
    if (kind == "engine") return uh::matmul(x, uh::ones({7, 7, 7}));
    return Tensor();
  });
}

UH_LIBRARY(test_signed, m) {
  m.def("signed_sqrt(Tensor x, float scale=1.0) -> Tensor");
  m.def("split_sign(Tensor x) -> (Tensor sign, int negatives)");
  m.def("weighted_sum(Tensor[] tensors, Tensor? bias=None, *, float[] weights) -> Tensor",
        &weighted_sum);
  m.def("fill_with_(Tensor(a!) x, Scalar value) -> ()");
  m.def("fail(Tensor x, str kind) -> Tensor");
  m.def("cube(Tensor x) -> Tensor", [](const Tensor& x) { return x * x * x; });
  m.def("cube.scaled(Tensor x, int n) -> Tensor",
        [](const Tensor& x, int64_t n) { return x * x * x * n; });
}

UH_LIBRARY_IMPL(test_signed, Meta, m) { m.impl("signed_sqrt", &signed_sqrt_meta); }

UH_LIBRARY_IMPL(test_signed, Autograd, m) { m.autograd("signed_sqrt", backward, setup_context); }
