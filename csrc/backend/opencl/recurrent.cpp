// LSTM and GRU cells on an OpenCL device.
#include "generated/structured/recurrent.h"
#include "backend/opencl/copy.h"
#include "backend/opencl/kernel_calls.h"
#include "backend/opencl/registration.h"

namespace uh::opencl {
namespace {

void lstm(const Tensor& input_gates, const Tensor& hidden_gates, const Tensor& cx, const Tensor& hy,
          const Tensor& cy, const Tensor& gates) {
  if (cx.numel() == 0) return;
  static const Source source{sources::recurrent, "lstm"};
  launch_items(source.kernel(cx.device(), computes(cx.dtype())), cx.numel(),
               contiguous(input_gates), contiguous(hidden_gates), contiguous(cx), hy, cy, gates,
               cx.size(1));
}

void lstm_backward(const Tensor& grad_hy, const Tensor& grad_cy, const Tensor& cx, const Tensor& cy,
                   const Tensor& gates, const Tensor& sums, const Tensor& grad_cx) {
  if (cx.numel() == 0) return;
  static const Source source{sources::recurrent, "lstm_backward"};
  const auto or_state = [&](const Tensor& grad) { return grad ? contiguous(grad) : grad_cx; };
  launch_items(source.kernel(cx.device(), computes(cx.dtype())), cx.numel(), or_state(grad_hy),
               or_state(grad_cy), contiguous(cx), contiguous(cy), contiguous(gates), sums, grad_cx,
               int32_t{static_cast<bool>(grad_hy)}, int32_t{static_cast<bool>(grad_cy)},
               cx.size(1));
}

void gru(const Tensor& input_gates, const Tensor& hidden_gates, const Tensor& hx, const Tensor& hy,
         const Tensor& gates) {
  if (hx.numel() == 0) return;
  static const Source source{sources::recurrent, "gru"};
  launch_items(source.kernel(hx.device(), computes(hx.dtype())), hx.numel(),
               contiguous(input_gates), contiguous(hidden_gates), contiguous(hx), hy, gates,
               hx.size(1));
}

void gru_backward(const Tensor& grad_hy, const Tensor& hx, const Tensor& gates,
                  const Tensor& of_input, const Tensor& of_hidden, const Tensor& grad_hx) {
  if (hx.numel() == 0) return;
  static const Source source{sources::recurrent, "gru_backward"};
  launch_items(source.kernel(hx.device(), computes(hx.dtype())), hx.numel(), contiguous(grad_hy),
               contiguous(hx), contiguous(gates), of_input, of_hidden, grad_hx, hx.size(1));
}

constexpr auto kSecondState = [](const Tensor&, const Tensor& second, const auto&...) {
  return is_computed(second);
};
constexpr auto kThirdState = [](const Tensor&, const Tensor&, const Tensor& cx, const auto&...) {
  return is_computed(cx);
};

}  // namespace

void register_recurrent() {
  namespace s = structured;
  register_partial<ops::_fused_lstm_cell_op, kFloatingFirst, s::_fused_lstm_cell<lstm>>(
      "opencl _fused_lstm_cell");
  register_partial<ops::_fused_lstm_cell_backward_op, kThirdState,
                   s::_fused_lstm_cell_backward<lstm_backward>>("opencl _fused_lstm_cell_backward");
  register_partial<ops::_fused_gru_cell_op, kFloatingFirst, s::_fused_gru_cell<gru>>(
      "opencl _fused_gru_cell");
  register_partial<ops::_fused_gru_cell_backward_op, kSecondState,
                   s::_fused_gru_cell_backward<gru_backward>>("opencl _fused_gru_cell_backward");
}

}  // namespace uh::opencl
