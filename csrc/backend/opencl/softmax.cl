// softmax and log_softmax over one dimension, and their gradients.
//
// A tensor is [outer, n, inner]; a line is n elements, `inner` apart. A group of work items computes a line: each item
// folds every n-th element, and the results are combined in local memory. On a CPU a group is one item for `run`
// lines.

#ifdef LOG_FORM
#define SHARE(x, greatest, sum) ((x) - (greatest) - log(sum))
#define SLOPE(grad, y, total) ((grad) - exp(y) * (total))
#define TERM(grad, y) (grad)
#else
#define SHARE(x, greatest, sum) (exp((x) - (greatest)) / (sum))
#define SLOPE(grad, y, total) ((y) * ((grad) - (total)))
#define TERM(grad, y) ((grad) * (y))
#endif

#define SUM(a, b) ((a) + (b))
#define GREATER(a, b) ((b) > (a) || (b) != (b) ? (b) : (a))

// Combines the values of all items of the group in `result`.
#define COMBINE(result, op)                                      \
  if (items > 1) {                                               \
    shared[item] = result;                                       \
    for (int half_of = items / 2; half_of > 0; half_of /= 2) {   \
      barrier(CLK_LOCAL_MEM_FENCE);                              \
      if (item < half_of) shared[item] = op(shared[item], shared[item + half_of]); \
    }                                                            \
    barrier(CLK_LOCAL_MEM_FENCE);                                \
    result = shared[0];                                          \
    barrier(CLK_LOCAL_MEM_FENCE);                                \
  }

#define LANES 8

// Folds `expression` of the elements j of a line; several sums run side by side.
#define FOLD(result, start, op, expression)                     \
  {                                                             \
    ACC lanes[LANES];                                           \
    for (int k = 0; k < LANES; ++k) lanes[k] = start;           \
    long first = item;                                          \
    for (; first + (LANES - 1) * items < n; first += LANES * items) { \
      _Pragma("unroll") for (int k = 0; k < LANES; ++k) {       \
        const long j = first + k * items;                       \
        lanes[k] = op(lanes[k], (ACC)(expression));             \
      }                                                         \
    }                                                           \
    for (; first < n; first += items) {                         \
      const long j = first;                                     \
      lanes[0] = op(lanes[0], (ACC)(expression));               \
    }                                                           \
    result = lanes[0];                                          \
    for (int k = 1; k < LANES; ++k) result = op(result, lanes[k]); \
  }                                                             \
  COMBINE(result, op)

#define LINES                                                                       \
  const int item = get_local_id(0), items = get_local_size(0);                      \
  for (long line = get_group_id(0) * run; line < min((long)(get_group_id(0) + 1) * run, lines); ++line)

#define PLACE (line / inner * n * inner + line % inner)

kernel void softmax_lines(TENSOR(T_STORED, self), TENSOR(O_STORED, result), long lines, long n, long inner, long run,
                          local ACC *shared) {
  OPEN(T_STORED, self);
  OPEN(O_STORED, result);
  LINES {
    global T_STORED *x = self + PLACE;
    global O_STORED *y = result + PLACE;
    ACC greatest, sum;
    FOLD(greatest, -INFINITY, GREATER, LOAD_T(x, j * inner))
    const T top = (T)greatest;
    FOLD(sum, 0, SUM, exp(LOAD_T(x, j * inner) - top))
    const T total = (T)sum;
    for (long j = item; j < n; j += items) STORE_O(y, j * inner, SHARE(LOAD_T(x, j * inner), top, total));
  }
}

kernel void softmax_backward_lines(TENSOR(T_STORED, grad), TENSOR(T_STORED, output), TENSOR(O_STORED, result),
                                   long lines, long n, long inner, long run, local ACC *shared) {
  OPEN(T_STORED, grad);
  OPEN(T_STORED, output);
  OPEN(O_STORED, result);
  LINES {
    global T_STORED *g = grad + PLACE, *y = output + PLACE;
    global O_STORED *dx = result + PLACE;
    ACC sum;
    FOLD(sum, 0, SUM, TERM(LOAD_T(g, j * inner), LOAD_T(y, j * inner)))
    const T total = (T)sum;
    for (long j = item; j < n; j += items)
      STORE_O(dx, j * inner, SLOPE(LOAD_T(g, j * inner), LOAD_T(y, j * inner), total));
  }
}
