// Shape rules of the cells of recurrent.yaml.
#pragma once

#include <tuple>

#include "tensor/tensor.h"

namespace uh::shapes {

std::tuple<Tensor, Tensor, Tensor> fused_lstm_cell(const Tensor& input_gates,
                                                   const Tensor& hidden_gates, const Tensor& cx);
std::tuple<Tensor, Tensor> fused_lstm_cell_backward(const Tensor& grad_hy, const Tensor& grad_cy,
                                                    const Tensor& cx, const Tensor& cy,
                                                    const Tensor& gates);
std::tuple<Tensor, Tensor> fused_gru_cell(const Tensor& input_gates, const Tensor& hidden_gates,
                                          const Tensor& hx);
std::tuple<Tensor, Tensor, Tensor> fused_gru_cell_backward(const Tensor& grad_hy, const Tensor& hx,
                                                           const Tensor& gates);

}  // namespace uh::shapes
