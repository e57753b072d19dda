#ifdef __OPTIMIZE__
#pragma GCC optimize("O3")
#endif

#include "backend/cpu/recurrent_loops.h"

#include "backend/cpu/math.h"

namespace uh::UH_ISA {
namespace {

template <class T>
void lstm(void* hy_, void* cy_, void* gates_, const void* input_, const void* hidden_,
          const void* cx_, int64_t rows, int64_t n) {
  auto *hy = static_cast<T*>(hy_), *cy = static_cast<T*>(cy_), *gates = static_cast<T*>(gates_);
  const auto *x = static_cast<const T*>(input_), *y = static_cast<const T*>(hidden_);
  const auto* cx = static_cast<const T*>(cx_);
  for (int64_t r = 0; r < rows; ++r) {
#pragma omp simd
    for (int64_t j = 0; j < 2 * n; ++j) gates[j] = m::sigmoid(x[j] + y[j]);
#pragma omp simd
    for (int64_t j = 2 * n; j < 3 * n; ++j) gates[j] = m::tanh(x[j] + y[j]);
#pragma omp simd
    for (int64_t j = 3 * n; j < 4 * n; ++j) gates[j] = m::sigmoid(x[j] + y[j]);
#pragma omp simd
    for (int64_t j = 0; j < n; ++j) {
      const T c = gates[n + j] * cx[j] + gates[j] * gates[2 * n + j];
      cy[j] = c;
      hy[j] = gates[3 * n + j] * m::tanh(c);
    }
    hy += n;
    cy += n;
    cx += n;
    gates += 4 * n;
    x += 4 * n;
    y += 4 * n;
  }
}

template <class T>
void lstm_backward(void* grad_sums_, void* grad_cx_, const void* grad_hy_, const void* grad_cy_,
                   const void* cx_, const void* cy_, const void* gates_, int64_t rows, int64_t n) {
  auto *out = static_cast<T*>(grad_sums_), *grad_cx = static_cast<T*>(grad_cx_);
  const auto *gh = static_cast<const T*>(grad_hy_), *gc = static_cast<const T*>(grad_cy_);
  const auto *cx = static_cast<const T*>(cx_), *cy = static_cast<const T*>(cy_);
  const auto* gates = static_cast<const T*>(gates_);
  for (int64_t r = 0; r < rows; ++r) {
#pragma omp simd
    for (int64_t j = 0; j < n; ++j) {
      const T i = gates[j], f = gates[n + j], g = gates[2 * n + j], o = gates[3 * n + j];
      const T t = m::tanh(cy[j]), of_h = gh ? gh[j] : T(0);
      const T of_c = (gc ? gc[j] : T(0)) + of_h * o * (T(1) - t * t);
      out[j] = of_c * g * i * (T(1) - i);
      out[n + j] = of_c * cx[j] * f * (T(1) - f);
      out[2 * n + j] = of_c * i * (T(1) - g * g);
      out[3 * n + j] = of_h * t * o * (T(1) - o);
      grad_cx[j] = of_c * f;
    }
    out += 4 * n;
    grad_cx += n;
    if (gh) gh += n;
    if (gc) gc += n;
    cx += n;
    cy += n;
    gates += 4 * n;
  }
}

template <class T>
void gru(void* hy_, void* gates_, const void* input_, const void* hidden_, const void* hx_,
         int64_t rows, int64_t n) {
  auto *hy = static_cast<T*>(hy_), *gates = static_cast<T*>(gates_);
  const auto *x = static_cast<const T*>(input_), *y = static_cast<const T*>(hidden_);
  const auto* hx = static_cast<const T*>(hx_);
  for (int64_t r = 0; r < rows; ++r) {
#pragma omp simd
    for (int64_t j = 0; j < 2 * n; ++j) gates[j] = m::sigmoid(x[j] + y[j]);
#pragma omp simd
    for (int64_t j = 0; j < n; ++j) {
      const T hidden = y[2 * n + j], candidate = m::tanh(x[2 * n + j] + gates[j] * hidden);
      gates[2 * n + j] = candidate;
      gates[3 * n + j] = hidden;
      hy[j] = (hx[j] - candidate) * gates[n + j] + candidate;
    }
    hy += n;
    hx += n;
    gates += 4 * n;
    x += 3 * n;
    y += 3 * n;
  }
}

template <class T>
void gru_backward(void* grad_input_, void* grad_hidden_, void* grad_hx_, const void* grad_hy_,
                  const void* hx_, const void* gates_, int64_t rows, int64_t n) {
  auto *gx = static_cast<T*>(grad_input_), *gy = static_cast<T*>(grad_hidden_);
  auto* grad_hx = static_cast<T*>(grad_hx_);
  const auto *gh = static_cast<const T*>(grad_hy_), *hx = static_cast<const T*>(hx_);
  const auto* gates = static_cast<const T*>(gates_);
  for (int64_t row = 0; row < rows; ++row) {
#pragma omp simd
    for (int64_t j = 0; j < n; ++j) {
      const T r = gates[j], z = gates[n + j], c = gates[2 * n + j], hidden = gates[3 * n + j];
      const T of_c = gh[j] * (T(1) - z) * (T(1) - c * c);
      const T of_z = gh[j] * (hx[j] - c) * z * (T(1) - z);
      const T of_r = of_c * hidden * r * (T(1) - r);
      gx[j] = of_r;
      gy[j] = of_r;
      gx[n + j] = of_z;
      gy[n + j] = of_z;
      gx[2 * n + j] = of_c;
      gy[2 * n + j] = of_c * r;
      grad_hx[j] = gh[j] * z;
    }
    gx += 3 * n;
    gy += 3 * n;
    grad_hx += n;
    gh += n;
    hx += n;
    gates += 4 * n;
  }
}

RecurrentTable make() {
  RecurrentTable table{};
  table.of[static_cast<int>(DType::kFloat32)] = {lstm<float>, lstm_backward<float>, gru<float>,
                                                 gru_backward<float>};
  table.of[static_cast<int>(DType::kFloat64)] = {lstm<double>, lstm_backward<double>, gru<double>,
                                                 gru_backward<double>};
  return table;
}

}  // namespace

const RecurrentTable& recurrent_loops() {
  static const RecurrentTable table = make();
  return table;
}

}  // namespace uh::UH_ISA
