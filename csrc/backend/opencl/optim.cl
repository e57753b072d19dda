// Optimizer steps: one pass over a parameter, its gradient and its state. 16-bit floats are computed as floats.
typedef struct {
  T rate1, rate2, beta2, decay, shrink, step_size, scale, eps, sign, unscale;
} Adam;

kernel void adam(TENSOR(T_STORED, parameter), TENSOR(T_STORED, grad), TENSOR(T_STORED, mean),
                 TENSOR(T_STORED, square), TENSOR(T_STORED, largest), Adam s, int amsgrad, int unscales, long n) {
  OPEN(T_STORED, parameter);
  OPEN(T_STORED, grad);
  OPEN(T_STORED, mean);
  OPEN(T_STORED, square);
  OPEN(T_STORED, largest);
  const long i = get_global_id(0);
  if (i >= n) return;
  T g = LOAD_T(grad, i);
  if (unscales) {
    g /= s.unscale;
    STORE_T(grad, i, g);
  }
  const T p = LOAD_T(parameter, i);
  g *= s.sign;
  if (s.decay != 0) g += s.decay * p;  // 0 * infinity would be NaN
  // As lerp does it: from the nearer end, so that a rate of 1 gives the gradient itself.
  const T before = LOAD_T(mean, i), between = g - before;
  const T m = s.rate1 < (T)0.5f ? before + s.rate1 * between : g - between * (1 - s.rate1);
  T v = s.beta2 * LOAD_T(square, i) + s.rate2 * g * g;
  STORE_T(mean, i, m);
  STORE_T(square, i, v);
  if (amsgrad) {
    const T old = LOAD_T(largest, i);
    v = old > v || old != old ? old : v;
    STORE_T(largest, i, v);
  }
  STORE_T(parameter, i, s.shrink * p - s.step_size * m / (sqrt(v) * s.scale + s.eps));
}

typedef struct {
  T lr, decay, momentum, dampening, sign, unscale;
} Sgd;

kernel void sgd(TENSOR(T_STORED, parameter), TENSOR(T_STORED, grad), TENSOR(T_STORED, buffer), Sgd s, int momentum,
                int nesterov, int first, int unscales, long n) {
  OPEN(T_STORED, parameter);
  OPEN(T_STORED, grad);
  OPEN(T_STORED, buffer);
  const long i = get_global_id(0);
  if (i >= n) return;
  T g = LOAD_T(grad, i);
  if (unscales) {
    g /= s.unscale;
    STORE_T(grad, i, g);
  }
  const T p = LOAD_T(parameter, i);
  g *= s.sign;
  if (s.decay != 0) g += s.decay * p;
  if (momentum) {
    const T b = first ? g : s.momentum * LOAD_T(buffer, i) + (1 - s.dampening) * g;
    STORE_T(buffer, i, b);
    g = nesterov ? g + s.momentum * b : b;
  }
  STORE_T(parameter, i, p - s.lr * g);
}

typedef struct {
  T rate, decay, eps, sign, unscale;
} Adagrad;

kernel void adagrad(TENSOR(T_STORED, parameter), TENSOR(T_STORED, grad), TENSOR(T_STORED, sum), Adagrad s,
                    int unscales, long n) {
  OPEN(T_STORED, parameter);
  OPEN(T_STORED, grad);
  OPEN(T_STORED, sum);
  const long i = get_global_id(0);
  if (i >= n) return;
  T g = LOAD_T(grad, i);
  if (unscales) {
    g /= s.unscale;
    STORE_T(grad, i, g);
  }
  const T p = LOAD_T(parameter, i);
  g *= s.sign;
  if (s.decay != 0) g += s.decay * p;
  const T total = LOAD_T(sum, i) + g * g;
  STORE_T(sum, i, total);
  STORE_T(parameter, i, p - s.rate * g / (sqrt(total) + s.eps));
}
