// Random numbers: the words and the arithmetic of csrc/backend/cpu/random_loops.cpp, so that equal seeds give equal
// numbers. A work item draws the four words of one counter; sixteen counters are a group of 64 words.
#pragma OPENCL FP_CONTRACT OFF

#define LANES 16

// Ten rounds of Philox4x32.
void philox(ulong seed, ulong counter, uint *w) {
  uint x0 = (uint)counter, x1 = (uint)(counter >> 32), x2 = 0, x3 = 0;
  uint key0 = (uint)seed, key1 = (uint)(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const ulong a = (ulong)0xD2511F53u * x0, b = (ulong)0xCD9E8D57u * x2;
    x0 = (uint)(b >> 32) ^ x1 ^ key0;
    x1 = (uint)b;
    x2 = (uint)(a >> 32) ^ x3 ^ key1;
    x3 = (uint)a;
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  w[0] = x0;
  w[1] = x1;
  w[2] = x2;
  w[3] = x3;
}

#ifdef T_IS_DOUBLE
#define K(x) x
#define BITS ulong
#define AS_BITS as_ulong
#define AS_T as_double
#define PER_GROUP 32
#else
#define K(x) x##f
#define BITS uint
#define AS_BITS as_uint
#define AS_T as_float
#define PER_GROUP 64
#endif

// [0, 1) in steps of 2^-24.
float unit(uint word) { return (float)(int)(word >> 8) * 0x1p-24f; }

#ifdef T_IS_DOUBLE
// [0, 1) in steps of 2^-52.
double unit_of_two(uint high, uint low) {
  return as_double((((ulong)high << 32 | low) >> 12) | 0x3ff0000000000000ul) - 1.0;
}
#endif

#if defined(T_IS_FLOAT) || defined(T_IS_DOUBLE)
kernel void uniform(TENSOR(T_STORED, out), ulong seed, ulong counter, T lo, T width, long n) {
  OPEN(T_STORED, out);
  const long item = get_global_id(0);
  uint w[4];
  philox(seed, counter + item, w);
  const long base = item / LANES * PER_GROUP + item % LANES;
#ifdef T_IS_DOUBLE
  for (int k = 0; k < 2; ++k) {
    const long i = base + k * LANES;
    if (i < n) STORE_T(out, i, unit_of_two(w[k], w[2 + k]) * width + lo);
  }
#else
  for (int k = 0; k < 4; ++k) {
    const long i = base + k * LANES;
    if (i < n) STORE_T(out, i, unit(w[k]) * width + lo);
  }
#endif
}

// ln(x) for 0 < x <= 1: x = 2^e * m with m in [sqrt(1/2), sqrt(2)), and ln m = 2 atanh((m - 1) / (m + 1)).
T log_unit(T x) {
#ifdef T_IS_DOUBLE
  const ulong root = 0x3fe6a09e667f3bcdul, shifted = as_ulong(x) - root;
  const double e = (double)(int)((long)shifted >> 52);
  const double m = as_double((shifted & 0x000ffffffffffffful) + root);
  const double t = (m - 1.0) / (m + 1.0), s = t * t;
  double series = 2.0 / 21;
  for (int k = 19; k >= 1; k -= 2) series = series * s + 2.0 / k;
  return e * 0.69314718055994530942 + t * series;
#else
  const uint shifted = as_uint(x) - 0x3f3504f3u;
  const float e = (float)((int)shifted >> 23);
  const float m = as_float((shifted & 0x007fffffu) + 0x3f3504f3u);
  const float t = (m - 1.0f) / (m + 1.0f), s = t * t;
  const float series = 2.0f + s * (0.66666667f + s * (0.4f + s * (0.28571429f + s * 0.22222222f)));
  return e * 0.693147181f + t * series;
#endif
}

// cos and sin of 2 pi u for 0 <= u < 1: u is folded to |r| <= 1/8 of a turn, Taylor series there.
void circle(T u, T *cosine, T *sine) {
  const T quarters = u * K(4.0);
  const int q = (int)(quarters + K(0.5));
  const T r = (quarters - (T)q) * K(1.57079632679489661923), s = r * r;
  T c = K(1.0) / K(479001600.0), d = K(-1.0) / K(39916800.0);
#ifdef T_IS_DOUBLE
  c = 1.0 / 20922789888000.0 * s - 1.0 / 87178291200.0;
  c = c * s + 1.0 / 479001600;
  d = -1.0 / 1307674368000.0 * s + 1.0 / 6227020800.0;
  d = d * s - 1.0 / 39916800;
#endif
  c = c * s - K(1.0) / K(3628800.0);
  c = c * s + K(1.0) / K(40320.0);
  c = c * s - K(1.0) / K(720.0);
  c = c * s + K(1.0) / K(24.0);
  c = c * s - K(0.5);
  c = c * s + K(1.0);
  d = d * s + K(1.0) / K(362880.0);
  d = d * s - K(1.0) / K(5040.0);
  d = d * s + K(1.0) / K(120.0);
  d = d * s - K(1.0) / K(6.0);
  d = d * s * r + r;
  const bool swap = q & 1;
  const T x = swap ? d : c, y = swap ? c : d;
  *cosine = ((q + 1) & 2) ? -x : x;
  *sine = (q & 2) ? -y : y;
}

// Box-Muller: the first half of the words gives the radius, the second half the angle.
kernel void normal(TENSOR(T_STORED, out), ulong seed, ulong counter, T mean, T std, long n) {
  OPEN(T_STORED, out);
  const long item = get_global_id(0);
  uint w[4];
  philox(seed, counter + item, w);
  const long base = item / LANES * PER_GROUP + item % LANES;
  T c, s;
#ifdef T_IS_DOUBLE
  const T radius = sqrt(-2.0 * log_unit(1.0 - unit_of_two(w[0], w[1]))) * std;
  circle(unit_of_two(w[2], w[3]), &c, &s);
  if (base < n) STORE_T(out, base, radius * c + mean);
  if (base + LANES < n) STORE_T(out, base + LANES, radius * s + mean);
#else
  for (int k = 0; k < 2; ++k) {
    const T u = ((float)(int)(w[k] >> 1) + 0.5f) * 0x1p-31f;
    const T radius = sqrt(-2.0f * log_unit(u)) * std;
    circle(unit(w[2 + k]), &c, &s);
    const long i = base + k * LANES;
    if (i < n) STORE_T(out, i, radius * c + mean);
    if (i + 2 * LANES < n) STORE_T(out, i + 2 * LANES, radius * s + mean);
  }
#endif
}
#endif

// 1 where the word is below the bound, which is 2^32 times the probability.
kernel void bernoulli(TENSOR(T_STORED, out), ulong seed, ulong counter, ulong bound, long n) {
  OPEN(T_STORED, out);
  const long item = get_global_id(0);
  uint w[4];
  philox(seed, counter + item, w);
  for (int k = 0; k < 4; ++k) {
    const long i = item / LANES * 64 + item % LANES + k * LANES;
    if (i < n) STORE_T(out, i, (T)(w[k] < bound));
  }
}

// Integers of [low, low + range): the high half of word * range; a range beyond 2^32 takes two words.
kernel void integers(TENSOR(T_STORED, out), ulong seed, ulong counter, long low, ulong range, long n) {
  OPEN(T_STORED, out);
  const long item = get_global_id(0);
  uint w[4];
  philox(seed, counter + item, w);
  const bool narrow = range <= (ulong)1 << 32;
  const long base = item / LANES * (narrow ? 64 : 32) + item % LANES;
  for (int k = 0; k < (narrow ? 4 : 2); ++k) {
    const long i = base + k * LANES;
    const ulong wide = (ulong)w[k] << 32 | w[(2 + k) & 3];
    const ulong draw = narrow ? ((ulong)w[k] * range) >> 32 : mul_hi(wide, range);
    if (i < n) STORE_T(out, i, (T)(long)((ulong)low + draw));
  }
}

#if defined(T_IS_FLOAT) || defined(T_IS_DOUBLE)
kernel void dropout(TENSOR(T_STORED, in), TENSOR(uchar, mask), TENSOR(T_STORED, out), T scale, long n) {
  OPEN(T_STORED, in);
  OPEN(uchar, mask);
  OPEN(T_STORED, out);
  const long i = get_global_id(0);
  if (i < n) STORE_T(out, i, LOAD_T(in, i) * (mask[i] ? scale : (T)0));
}
#endif
