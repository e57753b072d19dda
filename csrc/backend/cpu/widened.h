// Loops of 16-bit floats: the float loop over tiles of widened elements.
//
// An expression on 16-bit floats is computed in float and rounded once, at the store. A long one,
// compiled for each type, became code that the compiler did not vectorise, and the float loop
// already exists. A short one runs here only where its operands do not fit blocks.h.
#pragma once

#include "backend/cpu/loops.h"
#include "base/dtype.h"
#include "ops/pointwise.h"

namespace uh::UH_ISA {

// Elements per tile: those of three operands fit a 32 KiB cache, and calls of loops are few.
inline constexpr int64_t kWidenedTile = 2 * kTile;

// Copies n 16-bit floats between tensor memory, `stride` bytes apart, and a tile of floats.
template <class Small>
class TileOfFloats {
 public:
  void widen(const char* from, int64_t stride, int64_t n) {
    if (stride != kSize) {
      move_elements<Small>(small_, kSize, from, stride, n);
      from = small_;
    }
    copy_loops().cast[static_cast<int>(DType::kFloat32)][kDType](floats_, from, n);
  }
  void narrow(char* to, int64_t stride, int64_t n) {
    char* const dense = stride == kSize ? to : small_;
    copy_loops().cast[kDType][static_cast<int>(DType::kFloat32)](dense, floats_, n);
    if (stride != kSize) move_elements<Small>(to, stride, small_, kSize, n);
  }
  char* data() { return reinterpret_cast<char*>(floats_); }

 private:
  static constexpr auto kSize = int64_t{sizeof(Small)};
  static constexpr int kDType =
      static_cast<int>(std::is_same_v<Small, Half> ? DType::kFloat16 : DType::kBFloat16);

  alignas(64) float floats_[kWidenedTile];
  char small_[kWidenedTile * sizeof(Small)];
};

// Runs `loop_of_floats` on kInputs operands of type Small. `Out` is Small, or the type that both
// loops store.
template <class Small, class Out, int kInputs>
void widened(LoopFn loop_of_floats, char* const* d, const int64_t* s, int64_t n, const Params& q) {
  constexpr auto kFloat = int64_t{sizeof(float)};
  constexpr bool kNarrowed = std::is_same_v<Out, Small>;
  TileOfFloats<Small> tiles[kInputs + 1];
  char* data[kInputs + 1];
  int64_t strides[kInputs + 1];
  strides[0] = kNarrowed ? kFloat : s[0];
  for (int k = 0; k <= kInputs; ++k) data[k] = tiles[k].data();
  for (int k = 1; k <= kInputs; ++k) {
    strides[k] = s[k] == 0 ? 0 : kFloat;
    if (s[k] == 0 && n > 0) tiles[k].widen(d[k], sizeof(Small), 1);
    if (k == kInputs && q.exact_number())
      std::memcpy(tiles[k].data(), d[k] + Slot::kExactNumber, sizeof(float));
  }
  for (int64_t first = 0; first < n; first += kWidenedTile) {
    const int64_t count = std::min(kWidenedTile, n - first);
    for (int k = 1; k <= kInputs; ++k)
      if (s[k] != 0) tiles[k].widen(d[k] + first * s[k], s[k], count);
    char* const out = d[0] + first * s[0];
    if constexpr (!kNarrowed) data[0] = out;
    loop_of_floats(data, strides, count, q);
    if constexpr (kNarrowed) tiles[0].narrow(out, s[0], count);
  }
}

}  // namespace uh::UH_ISA
