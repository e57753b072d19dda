// The inner loops of cdist and pdist: distances of one vector to many, and their gradients.
#pragma once

#include <cstdint>

#include "backend/cpu/per_isa.h"

namespace uh {

struct DistanceLoops {
  // out[j] = distance of x to row j of y (n rows of k elements, row-major), for p >= 0.
  void (*row_float)(float* out, const float* x, const float* y, int64_t n, int64_t k, double p);
  void (*row_double)(double* out, const double* x, const double* y, int64_t n, int64_t k, double p);
  // out = sum over j of g[j] times the gradient by x of d[j], the distance of x to row j of y.
  void (*pull_float)(float* out, const float* x, const float* y, const float* g, const float* d,
                     int64_t n, int64_t k, double p);
  void (*pull_double)(double* out, const double* x, const double* y, const double* g,
                      const double* d, int64_t n, int64_t k, double p);
};

UH_PER_ISA(DistanceLoops, distance_loops)

}  // namespace uh
