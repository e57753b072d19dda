// Liveness and interference of the slots of a ScalarProgram.
#pragma once

#include <cstdint>
#include <vector>

#include "jit/scalar/program.h"

namespace uh::jit {

// A set of slots.
class SlotSet {
 public:
  explicit SlotSet(size_t slots = 0) : bits_((slots + 63) / 64) {}
  bool has(Slot s) const { return bits_[s / 64] >> (s % 64) & 1; }
  void add(Slot s) { bits_[s / 64] |= uint64_t{1} << (s % 64); }
  void drop(Slot s) { bits_[s / 64] &= ~(uint64_t{1} << (s % 64)); }
  // Returns true if the set grew.
  bool add(const SlotSet& other) {
    uint64_t fresh = 0;
    for (size_t i = 0; i < bits_.size(); ++i) {
      fresh |= other.bits_[i] & ~bits_[i];
      bits_[i] |= other.bits_[i];
    }
    return fresh != 0;
  }
  template <class F>
  void each(const F& f) const {
    for (size_t i = 0; i < bits_.size(); ++i)
      for (uint64_t remainder = bits_[i]; remainder; remainder &= remainder - 1)
        f(static_cast<Slot>(i * 64 + static_cast<size_t>(__builtin_ctzll(remainder))));
  }

 private:
  std::vector<uint64_t> bits_;
};

// None of these sets contains constants, which are never overwritten.
struct Liveness {
  explicit Liveness(const ScalarProgram& program);

  std::vector<SlotSet> live_out;  // per instruction
  std::vector<SlotSet> clash;     // per slot: those with another value at the same time
  std::vector<double> weight;     // per slot: number of uses, times ten per enclosing loop
};

}  // namespace uh::jit
