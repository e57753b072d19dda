// BitField: the bits of an integer that hold one of several numbers.
#pragma once

#include <cstdint>

namespace uh {

struct BitField {
  int shift, bits;

  constexpr int64_t mask() const { return (int64_t{1} << bits) - 1; }
  constexpr int64_t pack(int64_t value) const { return (value & mask()) << shift; }
  constexpr int64_t unpack(int64_t word) const { return word >> shift & mask(); }
};

}  // namespace uh
