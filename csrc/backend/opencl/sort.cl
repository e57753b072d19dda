// Bitonic sort of lines of keys and their indices, padded at the end to a power of two. Equal keys are ordered by their
// indices, so that the result is that of a stable sort.
bool precedes(T a, long i, T b, long j, int descending) {
  const bool a_nan = a != a, b_nan = b != b;  // NaN is larger than every number
  const bool less = descending ? (a_nan ? !b_nan : a > b) : (b_nan ? !a_nan : a < b);
  const bool greater = descending ? (b_nan ? !a_nan : b > a) : (a_nan ? !b_nan : b < a);
  return less || (!greater && i < j);
}

kernel void fill(TENSOR(T_STORED, in), TENSOR(T, keys), TENSOR(long, indices), long length, long padded, long step,
                 long n) {
  OPEN(T_STORED, in);
  OPEN(T, keys);
  OPEN(long, indices);
  const long i = get_global_id(0);
  if (i >= n) return;
  const long line = i / padded, k = i % padded;
  const long first = line / step * length * step + line % step;
  if (k < length) keys[i] = LOAD_T(in, first + k * step);
  indices[i] = k;
}

// The padding, with indices of `length` or more, comes last.
kernel void exchange(TENSOR(T, keys), TENSOR(long, indices), long length, long padded, long block, long gap,
                     int descending, long n) {
  OPEN(T, keys);
  OPEN(long, indices);
  const long pair = get_global_id(0);
  if (pair >= n) return;
  const long low = pair / gap * 2 * gap + pair % gap, high = low + gap;
  const bool upwards = (low % padded & block) == 0;
  const long i = indices[low], j = indices[high];
  const bool added = i >= length || j >= length;
  const bool ordered = added ? i < j : precedes(keys[low], i, keys[high], j, descending);
  if (ordered == upwards) return;
  const T key = keys[low];
  keys[low] = keys[high];
  keys[high] = key;
  indices[low] = j;
  indices[high] = i;
}

kernel void take(TENSOR(T, keys), TENSOR(long, indices), TENSOR(T_STORED, values), TENSOR(long, places), long count,
                 long padded, long step, long n) {
  OPEN(T, keys);
  OPEN(long, indices);
  OPEN(T_STORED, values);
  OPEN(long, places);
  const long i = get_global_id(0);
  if (i >= n) return;
  const long line = i / count, k = i % count;
  const long to = line / step * count * step + line % step + k * step;
  STORE_T(values, to, keys[line * padded + k]);
  places[to] = indices[line * padded + k];
}
