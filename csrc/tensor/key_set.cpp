#include "tensor/key_set.h"

namespace uh {

std::string_view name(Key key) {
  static constexpr std::string_view kNames[] = {
#define UH_KEY(name, number) #name,
#include "tensor/keys.inc"
#undef UH_KEY
  };
  return kNames[static_cast<int>(key)];
}

int recorded_number(Key key) {
  static constexpr int kNumbers[] = {
#define UH_KEY(name, number) number,
#include "tensor/keys.inc"
#undef UH_KEY
  };
  return kNumbers[static_cast<int>(key)];
}

int64_t recorded_bits(KeySet keys) {
  int64_t bits = 0;
  for (; !keys.empty(); keys = keys - keys.highest())
    bits |= int64_t{1} << recorded_number(keys.highest());
  return bits;
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
