// Resampling in up to three dimensions: along each, an element is a weighted sum of sources. The host computes tables.
// From offsets[axis], `entries` has the index of each element's first source, and one more at the end. From
// sources[axis] it has the sources; the weight of a source is at the same distance from weights[axis].
typedef struct {
  long from[3], to[3], offsets[3], sources[3], weights[3];
} Axes;

kernel void resample(TENSOR(T_STORED, in), TENSOR(T_STORED, out), TENSOR(int, entries), TENSOR(T, factors), Axes a,
                     long n) {
  OPEN(T_STORED, in);
  OPEN(T_STORED, out);
  OPEN(int, entries);
  OPEN(T, factors);
  const long i = get_global_id(0);
  if (i >= n) return;
  const long at[3] = {i / a.to[2] / a.to[1] % a.to[0], i / a.to[2] % a.to[1], i % a.to[2]};
  const long plane = i / a.to[2] / a.to[1] / a.to[0] * a.from[0] * a.from[1] * a.from[2];
  int first[3], last[3];
  for (int axis = 0; axis < 3; ++axis) {
    first[axis] = entries[a.offsets[axis] + at[axis]];
    last[axis] = entries[a.offsets[axis] + at[axis] + 1];
  }
  T sum = 0;
  for (int z = first[0]; z < last[0]; ++z) {
    T layer = 0;
    for (int y = first[1]; y < last[1]; ++y) {
      const long row = plane + (entries[a.sources[0] + z] * a.from[1] + entries[a.sources[1] + y]) * a.from[2];
      T line = 0;
      for (int x = first[2]; x < last[2]; ++x)
        line += LOAD_T(in, row + entries[a.sources[2] + x]) * factors[a.weights[2] + x];
      layer += line * factors[a.weights[1] + y];
    }
    sum += layer * factors[a.weights[0] + z];
  }
  STORE_T(out, i, sum);
}
