// The pointwise part of an LSTM or GRU step in one loop, and its gradient.
#include "backend/cpu/copy/elements.h"
#include "backend/cpu/recurrent_loops.h"
#include "base/parallel.h"
#include "generated/kernels/recurrent.h"

namespace uh::kernels {
namespace {

constexpr int64_t kStateGrain = 1 << 12;  // minimum number of state elements per thread

// The rows of a step, in the compute dtype.
class Rows {
 public:
  explicit Rows(const Tensor& state)
      : count_(state.size(0)),
        n_(state.size(1)),
        compute_(is_reduced_floating(state.dtype()) ? DType::kFloat32 : state.dtype()) {}

  int64_t n() const { return n_; }
  Tensor in(const Tensor& t) const { return t ? as_contiguous(t, compute_) : t; }
  // Returns the memory that the loop writes: the result itself if it has the compute dtype.
  Tensor out(const Tensor& result) const {
    return result.dtype() == compute_ ? result : empty(result.sizes(), compute_);
  }
  void store(const Tensor& result, const Tensor& computed) const {
    if (!computed.is_same(result)) copy_elements(result, computed);
  }
  const RecurrentLoops& loops() const { return recurrent_loops().of[static_cast<int>(compute_)]; }
  template <class Body>
  void walk(const Body& body) const {
    parallel_for(0, count_, std::max<int64_t>(1, kStateGrain / std::max<int64_t>(1, n_)), body);
  }
  // Returns the start of a row of `blocks` states.
  std::byte* at(const Tensor& t, int64_t row, int64_t blocks) const {
    return t ? t.data() + row * blocks * n_ * itemsize(compute_) : nullptr;
  }

 private:
  int64_t count_, n_;
  DType compute_;
};

}  // namespace

void fused_lstm_cell(const Tensor& input_gates, const Tensor& hidden_gates, const Tensor& cx,
                     const Tensor& result0, const Tensor& result1, const Tensor& result2) {
  const Rows rows(cx);
  const Tensor x = rows.in(input_gates), y = rows.in(hidden_gates), c = rows.in(cx);
  const Tensor hy = rows.out(result0), cy = rows.out(result1), gates = rows.out(result2);
  rows.walk([&](int64_t lo, int64_t hi) {
    rows.loops().lstm(rows.at(hy, lo, 1), rows.at(cy, lo, 1), rows.at(gates, lo, 4),
                      rows.at(x, lo, 4), rows.at(y, lo, 4), rows.at(c, lo, 1), hi - lo, rows.n());
  });
  rows.store(result0, hy);
  rows.store(result1, cy);
  rows.store(result2, gates);
}

void fused_lstm_cell_backward(const Tensor& grad_hy, const Tensor& grad_cy, const Tensor& cx,
                              const Tensor& cy, const Tensor& gates, const Tensor& result0,
                              const Tensor& result1) {
  const Rows rows(cx);
  const Tensor gh = rows.in(grad_hy), gc = rows.in(grad_cy), before = rows.in(cx);
  const Tensor after = rows.in(cy), g = rows.in(gates);
  const Tensor sums = rows.out(result0), grad_cx = rows.out(result1);
  rows.walk([&](int64_t lo, int64_t hi) {
    rows.loops().lstm_backward(rows.at(sums, lo, 4), rows.at(grad_cx, lo, 1), rows.at(gh, lo, 1),
                               rows.at(gc, lo, 1), rows.at(before, lo, 1), rows.at(after, lo, 1),
                               rows.at(g, lo, 4), hi - lo, rows.n());
  });
  rows.store(result0, sums);
  rows.store(result1, grad_cx);
}

void fused_gru_cell(const Tensor& input_gates, const Tensor& hidden_gates, const Tensor& hx,
                    const Tensor& result0, const Tensor& result1) {
  const Rows rows(hx);
  const Tensor x = rows.in(input_gates), y = rows.in(hidden_gates), h = rows.in(hx);
  const Tensor hy = rows.out(result0), gates = rows.out(result1);
  rows.walk([&](int64_t lo, int64_t hi) {
    rows.loops().gru(rows.at(hy, lo, 1), rows.at(gates, lo, 4), rows.at(x, lo, 3),
                     rows.at(y, lo, 3), rows.at(h, lo, 1), hi - lo, rows.n());
  });
  rows.store(result0, hy);
  rows.store(result1, gates);
}

void fused_gru_cell_backward(const Tensor& grad_hy, const Tensor& hx, const Tensor& gates,
                             const Tensor& result0, const Tensor& result1, const Tensor& result2) {
  const Rows rows(hx);
  const Tensor gh = rows.in(grad_hy), h = rows.in(hx), g = rows.in(gates);
  const Tensor of_input = rows.out(result0), of_hidden = rows.out(result1);
  const Tensor grad_hx = rows.out(result2);
  rows.walk([&](int64_t lo, int64_t hi) {
    rows.loops().gru_backward(rows.at(of_input, lo, 3), rows.at(of_hidden, lo, 3),
                              rows.at(grad_hx, lo, 1), rows.at(gh, lo, 1), rows.at(h, lo, 1),
                              rows.at(g, lo, 4), hi - lo, rows.n());
  });
  rows.store(result0, of_input);
  rows.store(result1, of_hidden);
  rows.store(result2, grad_hx);
}

}  // namespace uh::kernels
