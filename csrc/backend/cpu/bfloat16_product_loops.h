// Matrix products of bfloat16 by the instruction that multiplies pairs and adds them in float32
// (AVX512-BF16's vdpbf16ps): twice the operations of a float32 FMA, and no conversion.
//
// Pairs run along k. A row of a holds them already; two rows of b are zipped in a panel. The sums
// are float32 in one register tile, and are rounded once. The instruction flushes subnormal numbers
// to zero, in PyTorch's products too.
// Invariant: an element of c is summed in the same order however the product is split into rows and
// columns: the number of threads does not change the result.
#pragma once

#include "backend/cpu/product_loops.h"
#include "base/half.h"

namespace uh {

// Both are null on a CPU without the instruction, and if UNDERHOOD_ISA names a level: no level
// includes it.
struct BFloat16ProductLoops {
  // a_column is 1, and b_row or b_column is.
  void (*tiles)(const TiledProduct<BFloat16>& product);
  // a_column and b_row are 1: sums along k, faster for a few rows, for which a panel is not worth
  // its zips.
  void (*dots)(const TiledProduct<BFloat16>& product);
};

UH_PER_ISA(BFloat16ProductLoops, bfloat16_product_loops)

}  // namespace uh
