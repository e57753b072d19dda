// nll_loss: the loss at position i, a pixel (n, h, w) or a row, is the negative score of its target class.
typedef struct {
  long h, w, classes, by_n, by_h, by_w, by_class;
} Scores;

long place_of(const Scores *s, long i) {
  return i / s->w / s->h * s->by_n + i / s->w % s->h * s->by_h + i % s->w * s->by_w;
}

// Computes the loss of each position, and the sums of the losses and of the weights, in one group.
kernel void nll_loss(TENSOR(T_STORED, score), TENSOR(long, target), TENSOR(T_STORED, weight), TENSOR(T_STORED, out),
                     TENSOR(T_STORED, total_weight), TENSOR(long, outside), local T *sums, Scores s, int has_weight,
                     int reduction, long ignored, long n) {
  OPEN(T_STORED, score);
  OPEN(long, target);
  OPEN(T_STORED, weight);
  OPEN(T_STORED, out);
  OPEN(T_STORED, total_weight);
  OPEN(long, outside);
  const long lane = get_local_id(0), lanes = get_local_size(0);
  T loss = 0, total = 0;
  for (long i = lane; i < n; i += lanes) {
    const long t = target[i];
    T own = 0, own_loss = 0;
    if (t != ignored) {
      if (t < 0 || t >= s.classes) {
        outside[0] = 1;
        outside[1] = t;
      } else {
        own = has_weight ? LOAD_T(weight, t) : (T)1;
        own_loss = -LOAD_T(score, place_of(&s, i) + t * s.by_class) * own;
      }
    }
    loss += own_loss;
    total += own;
    if (reduction == 0) STORE_T(out, i, own_loss);
  }
  sums[lane] = loss;
  sums[lanes + lane] = total;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (lane != 0) return;
  for (long k = 1; k < lanes; ++k) {
    loss += sums[k];
    total += sums[lanes + k];
  }
  if (reduction != 0) STORE_T(out, 0, reduction == 1 ? loss / total : loss);
  STORE_T(total_weight, 0, reduction == 0 ? (T)0 : total);
}

// `out` is zeros. `divides`: by the sum of the weights.
kernel void nll_loss_backward(TENSOR(T_STORED, grad), TENSOR(long, target), TENSOR(T_STORED, weight),
                              TENSOR(T_STORED, total_weight), TENSOR(T_STORED, out), TENSOR(long, outside), Scores s,
                              int has_weight, int single_grad, int divides, long ignored, long n) {
  OPEN(T_STORED, grad);
  OPEN(long, target);
  OPEN(T_STORED, weight);
  OPEN(T_STORED, total_weight);
  OPEN(T_STORED, out);
  OPEN(long, outside);
  const long i = get_global_id(0);
  if (i >= n) return;
  const long t = target[i];
  if (t == ignored) return;
  if (t < 0 || t >= s.classes) {
    outside[0] = 1;
    outside[1] = t;
    return;
  }
  const T own = has_weight ? LOAD_T(weight, t) : (T)1;
  const T value = -LOAD_T(grad, single_grad ? 0 : i) * own;
  STORE_T(out, place_of(&s, i) + t * s.by_class, divides ? value / LOAD_T(total_weight, 0) : value);
}
