// Running sums, products and extremes along a dimension: a work item computes one line. The input has been converted
// to the dtype of the result.
kernel void scan(TENSOR(T_STORED, in), TENSOR(T_STORED, out), long length, long step, long lines) {
  OPEN(T_STORED, in);
  OPEN(T_STORED, out);
  const long line = get_global_id(0);
  if (line >= lines) return;
  const long first = line / step * length * step + line % step;
  WIDE sum = 0;
  for (long k = 0; k < length; ++k) {
#ifdef REVERSED
    const long at = first + (length - 1 - k) * step;
#else
    const long at = first + k * step;
#endif
    const WIDE value = LOAD_T(in, at);
    sum = k == 0 ? value : COMBINE(sum, value);
    STORE_T(out, at, (T)sum);
  }
}

// The last of equal elements; a NaN remains.
kernel void extremes(TENSOR(T_STORED, in), TENSOR(T_STORED, out), TENSOR(long, indices), int largest, long length,
                     long step, long lines) {
  OPEN(T_STORED, in);
  OPEN(T_STORED, out);
  OPEN(long, indices);
  const long line = get_global_id(0);
  if (line >= lines) return;
  const long first = line / step * length * step + line % step;
  T best = LOAD_T(in, first);
  long where = 0;
  for (long k = 0; k < length; ++k) {
    const T value = LOAD_T(in, first + k * step);
    if (value != value || (best == best && (largest ? value >= best : value <= best))) {
      best = value;
      where = k;
    }
    STORE_T(out, first + k * step, best);
    indices[first + k * step] = where;
  }
}
