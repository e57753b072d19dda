// The inner loops of cdist and pdist: distances of one vector to many, and their gradients.
#pragma once

#include <cstdint>

#include "backend/cpu/per_isa.h"

namespace uh {

// Rows packed for DistanceLoops: groups of this many rows, in a group element by element, so that a
// register holds the same element of several rows. The last group is padded.
inline constexpr int64_t kPackedRows = 16;

struct DistanceLoops {
  // Packs n rows of k elements, row-major: packed has room for groups of kPackedRows * k.
  void (*pack_float)(float* packed, const float* rows, int64_t n, int64_t k);
  void (*pack_double)(double* packed, const double* rows, int64_t n, int64_t k);
  // out[j - first] = distance of x to row j of the packed y, for first <= j < n and p >= 0.
  void (*row_float)(float* out, const float* x, const float* y, int64_t first, int64_t n, int64_t k,
                    double p);
  void (*row_double)(double* out, const double* x, const double* y, int64_t first, int64_t n,
                     int64_t k, double p);
  // out = sum over j of g[j] times the gradient by x of d[j], the distance of x to row j of y.
  // `room` is for n numbers.
  void (*pull_float)(float* out, const float* x, const float* y, const float* g, const float* d,
                     float* room, int64_t n, int64_t k, double p);
  void (*pull_double)(double* out, const double* x, const double* y, const double* g,
                      const double* d, double* room, int64_t n, int64_t k, double p);
};

UH_PER_ISA(DistanceLoops, distance_loops)

}  // namespace uh
