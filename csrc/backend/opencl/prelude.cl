// What every kernel can use; launch.cpp puts it before each source, after the definitions.
#ifdef NEEDS_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

// A tensor among the parameters of a kernel, and the pointer to its first element in the body.
#define TENSOR(type, name) global type *name##_buffer, long name##_first
#define OPEN(type, name) global type *name = name##_buffer + name##_first

float load_bfloat16(ushort bits) { return as_float((uint)bits << 16); }

// Rounds to nearest even; a NaN stays one.
ushort store_bfloat16(float value) {
  const uint bits = as_uint(value);
  if (value != value) return (ushort)((bits >> 16) | 64);
  return (ushort)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

// Complex numbers are vectors of two. (a + bi) / (c + di) divides by the larger part first, so that the squares of
// large numbers do not overflow.
#ifdef T_IS_COMPLEX
T complex_mul(T a, T b) { return (T)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
T complex_div(T a, T b) {
  if (b.x == 0 && b.y == 0) return a / fabs(b.x);
  if (fabs(b.x) >= fabs(b.y)) {
    const T_PART ratio = b.y / b.x, scale = b.x + b.y * ratio;
    return (T)((a.x + a.y * ratio) / scale, (a.y - a.x * ratio) / scale);
  }
  const T_PART ratio = b.x / b.y, scale = b.x * ratio + b.y;
  return (T)((a.x * ratio + a.y) / scale, (a.y * ratio - a.x) / scale);
}
#endif
