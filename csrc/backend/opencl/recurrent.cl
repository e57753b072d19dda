// The pointwise part of a step of LSTM and GRU, and its gradient. A row has a state of n numbers, and its gates in blocks
// of n.
T sigmoid(T x) { return 1 / (1 + exp(-x)); }

kernel void lstm(TENSOR(T_STORED, input), TENSOR(T_STORED, hidden), TENSOR(T_STORED, cx), TENSOR(T_STORED, hy),
                 TENSOR(T_STORED, cy), TENSOR(T_STORED, gates), long n, long count) {
  OPEN(T_STORED, input);
  OPEN(T_STORED, hidden);
  OPEN(T_STORED, cx);
  OPEN(T_STORED, hy);
  OPEN(T_STORED, cy);
  OPEN(T_STORED, gates);
  const long at = get_global_id(0);
  if (at >= count) return;
  const long row = at / n * 4 * n + at % n;
  T g[4];
  for (int k = 0; k < 4; ++k) {
    const T x = LOAD_T(input, row + k * n) + LOAD_T(hidden, row + k * n);
    g[k] = k == 2 ? tanh(x) : sigmoid(x);
    STORE_T(gates, row + k * n, g[k]);
  }
  const T c = g[1] * LOAD_T(cx, at) + g[0] * g[2];
  STORE_T(cy, at, c);
  STORE_T(hy, at, g[3] * tanh(c));
}

kernel void lstm_backward(TENSOR(T_STORED, grad_hy), TENSOR(T_STORED, grad_cy), TENSOR(T_STORED, cx),
                          TENSOR(T_STORED, cy), TENSOR(T_STORED, gates), TENSOR(T_STORED, sums),
                          TENSOR(T_STORED, grad_cx), int has_hy, int has_cy, long n, long count) {
  OPEN(T_STORED, grad_hy);
  OPEN(T_STORED, grad_cy);
  OPEN(T_STORED, cx);
  OPEN(T_STORED, cy);
  OPEN(T_STORED, gates);
  OPEN(T_STORED, sums);
  OPEN(T_STORED, grad_cx);
  const long at = get_global_id(0);
  if (at >= count) return;
  const long row = at / n * 4 * n + at % n;
  const T i = LOAD_T(gates, row), f = LOAD_T(gates, row + n), g = LOAD_T(gates, row + 2 * n);
  const T o = LOAD_T(gates, row + 3 * n), t = tanh(LOAD_T(cy, at));
  const T of_h = has_hy ? LOAD_T(grad_hy, at) : (T)0;
  const T of_c = (has_cy ? LOAD_T(grad_cy, at) : (T)0) + of_h * o * (1 - t * t);
  STORE_T(sums, row, of_c * g * i * (1 - i));
  STORE_T(sums, row + n, of_c * LOAD_T(cx, at) * f * (1 - f));
  STORE_T(sums, row + 2 * n, of_c * i * (1 - g * g));
  STORE_T(sums, row + 3 * n, of_h * t * o * (1 - o));
  STORE_T(grad_cx, at, of_c * f);
}

kernel void gru(TENSOR(T_STORED, input), TENSOR(T_STORED, hidden), TENSOR(T_STORED, hx), TENSOR(T_STORED, hy),
                TENSOR(T_STORED, gates), long n, long count) {
  OPEN(T_STORED, input);
  OPEN(T_STORED, hidden);
  OPEN(T_STORED, hx);
  OPEN(T_STORED, hy);
  OPEN(T_STORED, gates);
  const long at = get_global_id(0);
  if (at >= count) return;
  const long row = at / n * 3 * n + at % n, out = at / n * 4 * n + at % n;
  const T reset = sigmoid(LOAD_T(input, row) + LOAD_T(hidden, row));
  const T update = sigmoid(LOAD_T(input, row + n) + LOAD_T(hidden, row + n));
  const T last = LOAD_T(hidden, row + 2 * n), candidate = tanh(LOAD_T(input, row + 2 * n) + reset * last);
  STORE_T(gates, out, reset);
  STORE_T(gates, out + n, update);
  STORE_T(gates, out + 2 * n, candidate);
  STORE_T(gates, out + 3 * n, last);
  STORE_T(hy, at, (LOAD_T(hx, at) - candidate) * update + candidate);
}

kernel void gru_backward(TENSOR(T_STORED, grad_hy), TENSOR(T_STORED, hx), TENSOR(T_STORED, gates),
                         TENSOR(T_STORED, of_input), TENSOR(T_STORED, of_hidden), TENSOR(T_STORED, grad_hx), long n,
                         long count) {
  OPEN(T_STORED, grad_hy);
  OPEN(T_STORED, hx);
  OPEN(T_STORED, gates);
  OPEN(T_STORED, of_input);
  OPEN(T_STORED, of_hidden);
  OPEN(T_STORED, grad_hx);
  const long at = get_global_id(0);
  if (at >= count) return;
  const long row = at / n * 4 * n + at % n, out = at / n * 3 * n + at % n;
  const T r = LOAD_T(gates, row), z = LOAD_T(gates, row + n), c = LOAD_T(gates, row + 2 * n);
  const T last = LOAD_T(gates, row + 3 * n), g = LOAD_T(grad_hy, at);
  const T of_c = g * (1 - z) * (1 - c * c), of_z = g * (LOAD_T(hx, at) - c) * z * (1 - z);
  const T of_r = of_c * last * r * (1 - r);
  STORE_T(of_input, out, of_r);
  STORE_T(of_hidden, out, of_r);
  STORE_T(of_input, out + n, of_z);
  STORE_T(of_hidden, out + n, of_z);
  STORE_T(of_input, out + 2 * n, of_c);
  STORE_T(of_hidden, out + 2 * n, of_c * r);
  STORE_T(grad_hx, at, g * z);
}
