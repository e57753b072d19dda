// The loop over operands of any strides: gathers them into dense tiles, which an expression's dense
// loop computes. Compiled once per instruction set.
#include <algorithm>

#include "backend/cpu/loops.h"

namespace uh::UH_ISA {

namespace {

constexpr int kMaxOperands = 4;
constexpr int64_t kMaxSize = sizeof(Complex128);

// Copies n elements of `size` bytes; strides in bytes.
void move(char* to, int64_t to_stride, const char* from, int64_t from_stride, int64_t size,
          int64_t n) {
  copy_loops().move[size_class(size)](to, to_stride / size, from, from_stride / size, n);
}

}  // namespace

void run_tiles(char* const* d, const int64_t* s, int64_t n, const int64_t* size, int inputs,
               DenseLoop dense, const void* f) {
  alignas(64) char memory[kMaxOperands * kTile * kMaxSize];  // one after the other: few cache lines
  char* tile[kMaxOperands];
  char* end = memory;
  for (int k = 0; k <= inputs; ++k) {
    tile[k] = end;
    end += kTile * size[k];
    if (k > 0 && s[k] == 0)
      copy_loops().fill[size_class(size[k])](tile[k], 1, d[k], std::min(n, kTile));
  }
  char* data[kMaxOperands];
  for (int64_t first = 0; first < n; first += kTile) {
    const int64_t count = std::min(kTile, n - first);
    for (int k = 0; k <= inputs; ++k) {
      char* const elements = d[k] + first * s[k];
      const bool is_dense = s[k] == size[k];
      data[k] = is_dense ? elements : tile[k];
      if (k > 0 && !is_dense && s[k] != 0) move(tile[k], size[k], elements, s[k], size[k], count);
    }
    dense(data, count, f);
    if (s[0] != size[0]) move(d[0] + first * s[0], s[0], tile[0], size[0], size[0], count);
  }
}

}  // namespace uh::UH_ISA
