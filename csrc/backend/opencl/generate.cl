// Elements that are functions of their index: ranges, the identity, triangles, and padding, which is the element at
// another index.
#ifdef T
#ifndef T_IS_BOOL
kernel void arange(TENSOR(T_STORED, out), R start, R step, long n) {
  OPEN(T_STORED, out);
  const long i = get_global_id(0);
  if (i < n) STORE_T(out, i, (T)(start + (R)i * step));
}

// From both ends towards the middle: the last element is exactly `end`.
kernel void linspace(TENSOR(T_STORED, out), T start, T end, T step, long n) {
  OPEN(T_STORED, out);
  const long i = get_global_id(0);
  if (i < n) STORE_T(out, i, i < n / 2 || n == 1 ? start + step * (T)i : end - step * (T)(n - i - 1));
}
#endif

kernel void eye(TENSOR(T_STORED, out), long columns, long n) {
  OPEN(T_STORED, out);
  const long i = get_global_id(0);
  if (i < n) STORE_T(out, i, (T)(i / columns == i % columns));
}
#endif

#ifdef E
// `upper`: the elements on and above the diagonal remain, else those on and below it.
kernel void triangle(TENSOR(E, in), TENSOR(E, out), long rows, long columns, long diagonal, int upper, long n) {
  OPEN(E, in);
  OPEN(E, out);
  const long i = get_global_id(0);
  if (i >= n) return;
  const long distance = i % columns - i / columns % rows;
  const bool stays = upper ? distance >= diagonal : distance <= diagonal;
  out[i] = stays ? in[i] : (E)0;
}

#define MAX_DIMS 12
typedef struct {
  long rank, mode;  // 0 constant, 1 reflected, 2 the edge repeated, 3 circular
  long in[MAX_DIMS], out[MAX_DIMS], before[MAX_DIMS], cut[MAX_DIMS], copied[MAX_DIMS];
  long in_strides[MAX_DIMS], out_strides[MAX_DIMS];
} Padding;

kernel void pad(TENSOR(E, in), TENSOR(E, out), Padding p, E value, long n) {
  OPEN(E, in);
  OPEN(E, out);
  long rest = get_global_id(0), from = 0, to = 0;
  if (rest >= n) return;
  bool outside = false;
  for (int d = (int)p.rank - 1; d >= 0; --d) {
    const long o = rest % p.out[d], size = p.in[d];
    rest /= p.out[d];
    to += o * p.out_strides[d];
    long i = o - p.before[d];
    if (p.mode == 3) {
      i = p.cut[d] + ((i - p.cut[d]) % p.copied[d] + p.copied[d]) % p.copied[d];
    } else if (i < 0 || i >= size) {
      if (p.mode == 0) outside = true;
      else if (p.mode == 1) i = i < 0 ? -i : 2 * (size - 1) - i;
      else i = i < 0 ? 0 : size - 1;
    }
    from += outside ? 0 : i * p.in_strides[d];
  }
  out[to] = outside ? value : in[from];
}
#endif
