// Definitions for every kernel; launch.cpp inserts them before each source, after its specialisation.
#ifdef NEEDS_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

// A tensor among the parameters of a kernel, and the pointer to its first element in the body.
#define TENSOR(type, name) global type *name##_buffer, long name##_first
#define OPEN(type, name) global type *name = name##_buffer + name##_first

float load_bfloat16(ushort bits) { return as_float((uint)bits << 16); }

// Rounds to nearest even; a NaN remains NaN.
ushort store_bfloat16(float value) {
  const uint bits = as_uint(value);
  if (value != value) return (ushort)((bits >> 16) | 64);
  return (ushort)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
