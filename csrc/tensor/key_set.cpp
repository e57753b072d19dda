#include "tensor/key_set.h"

namespace uh {

std::string_view name(Key key) {
  static constexpr std::string_view kNames[] = {
#define UH_KEY(name) #name,
#include "tensor/keys.inc"
#undef UH_KEY
  };
  return kNames[static_cast<int>(key)];
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
