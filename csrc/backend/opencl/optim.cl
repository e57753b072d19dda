// Optimizer steps: one pass over a parameter, its gradient and its state. 16-bit floats are computed as floats.
typedef struct {
  T sign, decay, scale;
  int unscales;
} Gradient;

#define PARAMETERS TENSOR(T_STORED, parameter), TENSOR(T_STORED, grad)
#define BEGIN                      \
  OPEN(T_STORED, parameter);       \
  OPEN(T_STORED, grad);            \
  const long i = get_global_id(0); \
  if (i >= n) return;              \
  const T p = LOAD_T(parameter, i)

// The gradient of the step: divided by its scale, which is stored, and with weight decay.
T gradient(global T_STORED *grad, long i, T p, Gradient how) {
  T g = LOAD_T(grad, i);
  if (how.unscales) {
    g /= how.scale;
    STORE_T(grad, i, g);
  }
  g *= how.sign;
  return how.decay != 0 ? g + how.decay * p : g;  // 0 * infinity would be NaN
}

typedef struct {
  T rate1, rate2, beta2, shrink, step_size, scale, eps;
} Adam;

kernel void adam(PARAMETERS, TENSOR(T_STORED, mean), TENSOR(T_STORED, square), TENSOR(T_STORED, largest), Gradient how,
                 Adam s, int amsgrad, long n) {
  BEGIN;
  OPEN(T_STORED, mean);
  OPEN(T_STORED, square);
  OPEN(T_STORED, largest);
  const T g = gradient(grad, i, p, how);
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
  T lr, momentum, dampening;
  int nesterov, first;
} Sgd;

kernel void sgd(PARAMETERS, TENSOR(T_STORED, buffer), Gradient how, Sgd s, int has_buffer, long n) {
  BEGIN;
  OPEN(T_STORED, buffer);
  T g = gradient(grad, i, p, how);
  if (has_buffer) {
    const T b = s.first ? g : s.momentum * LOAD_T(buffer, i) + (1 - s.dampening) * g;
    STORE_T(buffer, i, b);
    g = s.nesterov ? g + s.momentum * b : b;
  }
  STORE_T(parameter, i, p - s.lr * g);
}

typedef struct {
  T rate, eps;
} Adagrad;

kernel void adagrad(PARAMETERS, TENSOR(T_STORED, sum), Gradient how, Adagrad s, long n) {
  BEGIN;
  OPEN(T_STORED, sum);
  const T g = gradient(grad, i, p, how);
  const T total = LOAD_T(sum, i) + g * g;
  STORE_T(sum, i, total);
  STORE_T(parameter, i, p - s.rate * g / (sqrt(total) + s.eps));
}
