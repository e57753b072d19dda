#include "tensor/key_set.h"

#include <array>
#include <bit>

namespace uh {
namespace {

constexpr int kNumbers[] = {
#define UH_KEY(name, number) number,
#include "tensor/keys.inc"
#undef UH_KEY
};

}  // namespace

std::string_view name(Key key) {
  static constexpr std::string_view kNames[] = {
#define UH_KEY(name, number) #name,
#include "tensor/keys.inc"
#undef UH_KEY
  };
  return kNames[static_cast<int>(key)];
}

int recorded_number(Key key) { return kNumbers[static_cast<int>(key)]; }

int64_t recorded_bits(KeySet keys) {
  static constexpr auto kBits = [] {
    std::array<int16_t, size_t{1} << kKeyCount> table{};
    for (size_t bits = 1; bits < table.size(); ++bits) {
      const int lowest = std::countr_zero(bits);
      table[bits] = static_cast<int16_t>(table[bits & (bits - 1)] | 1 << kNumbers[lowest]);
    }
    return table;
  }();
  return kBits[keys.bits()];
}

std::string to_string(KeySet keys) {
  std::string text;
  for (int i = 0; i < kKeyCount; ++i) {
    const Key key = static_cast<Key>(i);
    if (!keys.has(key)) continue;
    if (!text.empty()) text += ", ";
    text += name(key);
  }
  return text;
}

}  // namespace uh
