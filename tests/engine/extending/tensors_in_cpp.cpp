// What C++ extensions can do with tensors, by PyTorch's names: test_cpp_extension.py loads it.
#include <torch/extension.h>

#include <numeric>

namespace {

struct Cube : public torch::autograd::Function<Cube> {
  static torch::Tensor forward(torch::autograd::AutogradContext* ctx, const torch::Tensor& x,
                               double scale) {
    ctx->save_for_backward({x});
    ctx->saved_data["scale"] = scale;
    return x * x * x * scale;
  }
  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* ctx,
                                               torch::autograd::tensor_list gradients) {
    const auto x = ctx->get_saved_variables()[0];
    return {gradients[0] * x * x * 3 * ctx->saved_data["scale"].toDouble(), torch::Tensor()};
  }
};
struct Careless : public torch::autograd::Function<Careless> {
  static torch::Tensor forward(torch::autograd::AutogradContext*, const torch::Tensor& x) {
    return x * 2;
  }
  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext*,
                                               torch::autograd::tensor_list) {
    return {};
  }
};

template <class T>
double sum_of(const torch::Tensor& x) {
  const auto rows = x.accessor<T, 2>();
  double sum = 0;
  for (int64_t i = 0; i < rows.size(0); ++i)
    for (int64_t j = 0; j < rows.size(1); ++j) sum += static_cast<double>(rows[i][j]);
  return sum;
}
double dispatched_sum(const torch::Tensor& x) {
  return AT_DISPATCH_ALL_TYPES(x.scalar_type(), "dispatched_sum",
                               [&] { return sum_of<scalar_t>(x); });
}

torch::Tensor row_of(const torch::Tensor& x, int64_t i) {
  using namespace torch::indexing;
  return x.index({i, Slice(None, None, 2), "..."});
}
torch::Tensor masked(torch::Tensor x, const torch::Tensor& mask) {
  x.index_put_({mask}, 0.5);
  return x;
}
torch::Tensor counted() {
  auto* const numbers = new std::vector<float>(6);
  std::iota(numbers->begin(), numbers->end(), 0.f);
  return torch::from_blob(numbers->data(), {2, 3}, [numbers](void*) { delete numbers; });
}
torch::Tensor options_of(const torch::Tensor& x) {
  const auto options = torch::TensorOptions().dtype(torch::kFloat64).requires_grad(true);
  TORCH_CHECK(x.device().type() == at::DeviceType::CPU && !x.is_cuda());
  return torch::full({2}, 3, options) + torch::zeros({2}, x.options().dtype(torch::kDouble)) +
         torch::arange(2) + torch::tensor({1.0, 2.0}, torch::dtype(torch::kDouble));
}
torch::Tensor without_gradient(const torch::Tensor& x) {
  const torch::NoGradGuard guard;
  return x * 2;
}
torch::Tensor gradient_of_square(torch::Tensor x) {
  x.requires_grad_();
  (x * x).sum().backward();
  return x.grad();
}
std::string printed(const torch::Tensor& x) { return torch::str(x); }
torch::Tensor fails(const std::string& kind) {
  if (kind == "value") throw std::invalid_argument("an invalid argument");
  if (kind == "index") throw std::out_of_range("out of range");
  TORCH_CHECK_TYPE(kind != "type", "a wrong type");
  TORCH_CHECK(kind != "check");
  return torch::matmul(torch::ones({2, 3}), torch::ones({4, 5}));
}
torch::Tensor add_all(at::TensorList tensors, std::optional<torch::Tensor> bias) {
  torch::Tensor sum = bias.value_or(torch::zeros_like(tensors[0]));
  for (const auto& t : tensors) sum += t;
  return sum;
}

torch::Tensor muladd(const at::Tensor& a, const at::Tensor& b, double c) {
  TORCH_CHECK(a.sizes() == b.sizes());
  TORCH_CHECK(a.dtype() == at::kFloat);
  TORCH_INTERNAL_ASSERT(a.device().type() == at::DeviceType::CPU);
  const at::Tensor left = a.contiguous(), right = b.contiguous();
  at::Tensor result = torch::empty(left.sizes(), left.options());
  const float *p = left.data_ptr<float>(), *q = right.data_ptr<float>();
  float* r = result.data_ptr<float>();
  for (int64_t i = 0; i < result.numel(); ++i) r[i] = p[i] * q[i] + static_cast<float>(c);
  return result;
}
void muladd_out(const at::Tensor& a, const at::Tensor& b, at::Tensor& out) { out.copy_(a * b); }
torch::Tensor with_inferred_schema(torch::Tensor x, int64_t n, std::optional<double> c) {
  return x * n + c.value_or(0);
}
torch::Tensor through_the_dispatcher(const torch::Tensor& a, const torch::Tensor& b, double c) {
  static const auto op = torch::Dispatcher::singleton()
                             .findSchemaOrThrow("tensors_in_cpp::muladd", "")
                             .typed<decltype(muladd)>();
  return op.call(a, b, c);
}

}  // namespace

TORCH_LIBRARY(tensors_in_cpp, m) {
  m.def("muladd(Tensor a, Tensor b, float c) -> Tensor");
  m.def("muladd_out(Tensor a, Tensor b, Tensor(a!) out) -> ()");
  m.def("with_inferred_schema", &with_inferred_schema);
}
TORCH_LIBRARY_IMPL(tensors_in_cpp, CPU, m) {
  m.impl("muladd", &muladd);
  m.impl("muladd_out", TORCH_FN(muladd_out));
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("cube", [](const torch::Tensor& x, double scale) { return Cube::apply(x, scale); });
  m.def("careless", [](const torch::Tensor& x) { return Careless::apply(x); });
  m.def("dispatched_sum", &dispatched_sum);
  m.def("row_of", &row_of);
  m.def("masked", &masked);
  m.def("counted", &counted);
  m.def("options_of", &options_of);
  m.def("without_gradient", &without_gradient);
  m.def("gradient_of_square", &gradient_of_square);
  m.def("printed", &printed);
  m.def("fails", &fails);
  m.def("add_all", &add_all, py::arg("tensors"), py::arg("bias") = std::nullopt);
  m.def("through_the_dispatcher", &through_the_dispatcher);
  m.def("itself", [](const torch::Tensor& x) { return x; });
  m.def("address",
        [](const torch::Tensor& x) { return reinterpret_cast<uintptr_t>(x.data_ptr()); });
  m.def("dtype_of", [](const torch::Tensor& x) { return x.scalar_type(); });
  m.def("cast", [](const torch::Tensor& x, torch::ScalarType dtype) { return x.to(dtype); });
  m.def("empty", [] { return torch::Tensor(); });
}
