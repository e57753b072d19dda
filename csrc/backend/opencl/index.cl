// Reading and writing the elements at the positions in an index. The kernels iterate over a table, an index and a dense
// tensor together; in the dimensions of the index the table's stride is 0, and `along` is the stride of a position.
#define MAX_DIMS 12
typedef struct {
  long rank, along, size;  // size: positions are in [0, size)
  long first, span;        // the dimensions of the index: [first, first + span)
  long wrapped;            // negative positions count from the end
  long sizes[MAX_DIMS], index[MAX_DIMS], dense[MAX_DIMS], table[MAX_DIMS];
} Walk;

// Returns the position; if the index is out of range, stores it for the host and returns -1.
long place_of(long place, const Walk *w, global long *outside) {
  const long found = place < 0 && w->wrapped ? place + w->size : place;
  if (found >= 0 && found < w->size) return found;
  outside[0] = 1;
  outside[1] = place;
  return -1;
}

#ifdef E
// E: the unsigned type with the size of an element.
kernel void gather(TENSOR(E, table), TENSOR(long, index), TENSOR(E, out), TENSOR(long, outside), Walk w, long n) {
  OPEN(E, table);
  OPEN(long, index);
  OPEN(E, out);
  OPEN(long, outside);
  long rest = get_global_id(0), t = 0, at = 0, o = 0;
  if (rest >= n) return;
  for (int d = (int)w.rank - 1; d >= 0; --d) {
    const long k = rest % w.sizes[d];
    rest /= w.sizes[d];
    t += k * w.table[d];
    at += k * w.index[d];
    o += k * w.dense[d];
  }
  const long place = place_of(index[at], &w, outside);
  if (place >= 0) out[o] = table[t + place * w.along];
}
#endif

#ifdef T_STORED
// A work item reads all values of one line in order: the last assignment wins, and sums are added in order. `parts`
// work items share a line; each writes its part of the positions.
kernel void scatter(TENSOR(T_STORED, table), TENSOR(long, index), TENSOR(T_STORED, values), TENSOR(long, outside),
                    Walk w, T factor, long skipped, long parts, long lines, long n) {
  OPEN(T_STORED, table);
  OPEN(long, index);
  OPEN(T_STORED, values);
  OPEN(long, outside);
  const long item = get_global_id(0);
  if (item >= lines * parts) return;
  const long part = item / lines;
  const long low = w.size / parts * part, high = part + 1 == parts ? w.size : w.size / parts * (part + 1);
  long rest = item % lines, t = 0, at = 0, o = 0;
  for (int d = (int)w.rank - 1; d >= 0; --d) {
    if (d >= w.first && d < w.first + w.span) continue;
    const long k = rest % w.sizes[d];
    rest /= w.sizes[d];
    t += k * w.table[d];
    at += k * w.index[d];
    o += k * w.dense[d];
  }
  for (long i = 0; i < n; ++i) {
    long a = at, b = o, left = i;
    for (int d = (int)(w.first + w.span) - 1; d >= (int)w.first; --d) {
      const long k = left % w.sizes[d];
      left /= w.sizes[d];
      a += k * w.index[d];
      b += k * w.dense[d];
    }
    if (index[a] == skipped) continue;
    const long place = place_of(index[a], &w, outside);
    if (place < low || place >= high) continue;
    const long to = t + place * w.along;
#ifdef ASSIGN
    table[to] = values[b];
#else
    const T now = LOAD_T(table, to), value = LOAD_T(values, b);
    STORE_T(table, to, COMBINE(now, value));
#endif
  }
}
#endif
