// Pooling: one number for every window of the input, and its gradient. Windows have three dimensions; the first ones
// have size 1 if they are unused.
typedef struct {
  long in[3], out[3], kernel_size[3], stride[3], padding[3], dilation[3];
} Windows;

#define PLANE(sizes) ((sizes)[0] * (sizes)[1] * (sizes)[2])

// The elements [first, last) of a window's kernel that lie inside the input, and where its first element would.
typedef struct {
  long start, first, last;
} Span;

Span span_of(const Windows *w, int axis, long o) {
  Span s;
  s.start = o * w->stride[axis] - w->padding[axis];
  const long dilation = w->dilation[axis], in = w->in[axis], size = w->kernel_size[axis];
  s.first = s.start >= 0 ? 0 : min((-s.start + dilation - 1) / dilation, size);
  s.last = in <= s.start ? 0 : min((in - s.start - 1) / dilation + 1, size);
  s.last = max(s.first, s.last);
  return s;
}

// For adaptive pooling: output o covers inputs [first, last).
Span share_of(const Windows *w, int axis, long o) {
  Span s;
  const long in = w->in[axis], out = w->out[axis];
  s.start = 0;
  s.first = o / out * in + o % out * in / out;
  s.last = s.first + ((o + 1) * in - s.first * out + out - 1) / out;
  return s;
}

void coordinates(long i, const long *sizes, long *at) {
  at[2] = i % sizes[2];
  at[1] = i / sizes[2] % sizes[1];
  at[0] = i / sizes[2] / sizes[1];
}

// The maximum of every window and its index in the plane, the first of equals; a NaN always wins.
kernel void max_pool(TENSOR(T_STORED, in), TENSOR(T_STORED, out), TENSOR(long, indices), Windows w, int with_indices,
                     long n) {
  OPEN(T_STORED, in);
  OPEN(T_STORED, out);
  OPEN(long, indices);
  const long i = get_global_id(0);
  if (i >= n) return;
  long at[3];
  coordinates(i % PLANE(w.out), w.out, at);
  global const T_STORED *plane = in + i / PLANE(w.out) * PLANE(w.in);
#ifdef ADAPTIVE
  const Span z = share_of(&w, 0, at[0]), y = share_of(&w, 1, at[1]), x = share_of(&w, 2, at[2]);
#define AT(s, axis, k) (k)
#else
  const Span z = span_of(&w, 0, at[0]), y = span_of(&w, 1, at[1]), x = span_of(&w, 2, at[2]);
#define AT(s, axis, k) ((s).start + (k)*w.dilation[axis])
#endif
  T best = LOWEST;
  long where = (AT(z, 0, z.first) * w.in[1] + AT(y, 1, y.first)) * w.in[2] + AT(x, 2, x.first);
  for (long kz = z.first; kz < z.last; ++kz) {
    for (long ky = y.first; ky < y.last; ++ky) {
      const long row = (AT(z, 0, kz) * w.in[1] + AT(y, 1, ky)) * w.in[2];
      for (long kx = x.first; kx < x.last; ++kx) {
        const long place = row + AT(x, 2, kx);
        const T v = LOAD_T(plane, place);
        if (v > best || v != v) {
          best = v;
          where = place;
        }
      }
    }
  }
  STORE_T(out, i, best);
  if (with_indices) indices[i] = where;
}

#if defined(T_IS_FLOAT) || defined(T_IS_DOUBLE)
// The divisor of a window's sum; 0 if the window covers only padding.
long divisor_of(const Windows *w, const Span *spans, const long *at, int counts_padding, long divisor) {
  long inside = 1, area = 1;
  for (int axis = 0; axis < 3; ++axis) {
    inside *= spans[axis].last - spans[axis].first;
#ifdef ADAPTIVE
    area *= spans[axis].last - spans[axis].first;
#else
    const long start = spans[axis].start;
    area *= min(start + w->kernel_size[axis], w->in[axis] + w->padding[axis]) - start;
#endif
  }
  return inside == 0 ? 0 : divisor ? divisor : counts_padding ? area : inside;
}

void spans_at(const Windows *w, const long *at, Span *spans) {
  for (int axis = 0; axis < 3; ++axis) {
#ifdef ADAPTIVE
    spans[axis] = share_of(w, axis, at[axis]);
#else
    spans[axis] = span_of(w, axis, at[axis]);
#endif
  }
}

#ifdef ADAPTIVE
#define BASE(span) 0
#else
#define BASE(span) ((span).start)
#endif

kernel void avg_pool(TENSOR(T_STORED, in), TENSOR(T_STORED, out), Windows w, int counts_padding, long divisor,
                     long n) {
  OPEN(T_STORED, in);
  OPEN(T_STORED, out);
  const long i = get_global_id(0);
  if (i >= n) return;
  long at[3];
  Span s[3];
  coordinates(i % PLANE(w.out), w.out, at);
  spans_at(&w, at, s);
  global const T_STORED *plane = in + i / PLANE(w.out) * PLANE(w.in);
  T sum = 0;
  for (long z = s[0].first; z < s[0].last; ++z) {
    for (long y = s[1].first; y < s[1].last; ++y) {
      const long row = ((BASE(s[0]) + z) * w.in[1] + BASE(s[1]) + y) * w.in[2] + BASE(s[2]);
      for (long x = s[2].first; x < s[2].last; ++x) sum += LOAD_T(plane, row + x);
    }
  }
  const long by = divisor_of(&w, s, at, counts_padding, divisor);
  STORE_T(out, i, by == 0 ? (T)0 : sum / (T)by);
}

// Every element of the input adds up its shares of the windows that cover it.
kernel void avg_pool_backward(TENSOR(T_STORED, grad), TENSOR(T_STORED, out), Windows w, int counts_padding,
                              long divisor, long n) {
  OPEN(T_STORED, grad);
  OPEN(T_STORED, out);
  const long i = get_global_id(0);
  if (i >= n) return;
  long at[3], lo[3], hi[3];
  coordinates(i % PLANE(w.in), w.in, at);
  for (int axis = 0; axis < 3; ++axis) {
#ifdef ADAPTIVE
    lo[axis] = at[axis] * w.out[axis] / w.in[axis];
    hi[axis] = min(w.out[axis], ((at[axis] + 1) * w.out[axis] + w.in[axis] - 1) / w.in[axis]);
#else
    const long last = at[axis] + w.padding[axis], first = last - w.kernel_size[axis] + 1;
    lo[axis] = first <= 0 ? 0 : (first + w.stride[axis] - 1) / w.stride[axis];
    hi[axis] = min(w.out[axis], last / w.stride[axis] + 1);
#endif
  }
  global const T_STORED *plane = grad + i / PLANE(w.in) * PLANE(w.out);
  T sum = 0;
  for (long z = lo[0]; z < hi[0]; ++z) {
    for (long y = lo[1]; y < hi[1]; ++y) {
      for (long x = lo[2]; x < hi[2]; ++x) {
        const long o[3] = {z, y, x};
        Span s[3];
        spans_at(&w, o, s);
        const long by = divisor_of(&w, s, o, counts_padding, divisor);
        if (by != 0) sum += LOAD_T(plane, (z * w.out[1] + y) * w.out[2] + x) / (T)by;
      }
    }
  }
  STORE_T(out, i, sum);
}

// One work item per plane, so that the gradients of an element are added in the order of the windows.
kernel void max_pool_backward(TENSOR(T_STORED, grad), TENSOR(long, indices), TENSOR(T, out), long windows, long size,
                              long planes) {
  OPEN(T_STORED, grad);
  OPEN(long, indices);
  OPEN(T, out);
  const long plane = get_global_id(0);
  if (plane >= planes) return;
  global T *to = out + plane * size;
  for (long i = 0; i < size; ++i) to[i] = 0;
  for (long i = plane * windows; i < (plane + 1) * windows; ++i) {
    const long place = indices[i];
    if (place >= 0 && place < size) to[place] += LOAD_T(grad, i);
  }
}
#endif
