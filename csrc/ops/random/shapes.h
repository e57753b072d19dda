// Shape rules of random.yaml: new tensors to fill, and checks of tensors that are written.
#pragma once

#include <string_view>
#include <tuple>

#include "tensor/tensor.h"

namespace uh::shapes {

// `title` is the name of PyTorch's kernel in its messages about dtypes.
Tensor draws(std::string_view title, const Dims& size, DType dtype, Device device);
Tensor draws_like(std::string_view title, const Tensor& self, DType dtype, Device device,
                  MemoryFormat format);
Tensor randint(int64_t low, int64_t high, const Dims& size, DType dtype, Device device);
Tensor randint_like(const Tensor& self, int64_t low, int64_t high, DType dtype, Device device,
                    MemoryFormat format);
Tensor randperm(int64_t n, DType dtype, Device device);

void uniform(const Tensor& self, double from, double to);
void normal(const Tensor& self, double std);
void random(const Tensor& self, int64_t low, int64_t high);
void bernoulli_inplace(const Tensor& self, double p);
void bernoulli_inplace(const Tensor& self, const Tensor& p);
void exponential(const Tensor& self, double lambd);
void geometric(const Tensor& self, double p);
void cauchy(const Tensor& self, double sigma);
void log_normal(const Tensor& self, double std);

// Returns a result like `self`, for one draw per element.
Tensor draw_of_each(std::string_view title, const Tensor& self);
Tensor multinomial(const Tensor& self, int64_t num_samples, bool replacement);
Tensor normal(const Tensor& mean, const Tensor& std);
// Returns the result and its mask.
std::tuple<Tensor, Tensor> native_dropout(const Tensor& input, double p,
                                          std::optional<bool> train);

}  // namespace uh::shapes
