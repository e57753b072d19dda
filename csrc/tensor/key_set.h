// Dispatch keys: the properties of a tensor that choose a kernel, as bits of one word.
//
// Functionality keys (AutocastCPU, Tracer, Autograd, ADInplaceOrView) rank above backend keys.
// Invariant: a call runs the highest key in the union of its arguments' key sets for which the
// operator has a kernel; that kernel redispatches with the keys below itself. keys.inc lists
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/device.h"

namespace uh {

enum class Key : int8_t {
#define UH_KEY(name, number) k##name,
#include "tensor/keys.inc"
#undef UH_KEY
  kCount,
};

inline constexpr int kKeyCount = static_cast<int>(Key::kCount);

std::string_view name(Key key);
// The key's number in traces.
int recorded_number(Key key);

class KeySet {
 public:
  constexpr KeySet() = default;
  constexpr explicit KeySet(uint32_t bits) : bits_(bits) {}
  constexpr KeySet(Key key) : bits_(uint32_t{1} << static_cast<int>(key)) {}

  constexpr uint32_t bits() const { return bits_; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr bool has(Key key) const { return (bits_ & KeySet(key).bits_) != 0; }
  constexpr KeySet operator|(KeySet other) const { return KeySet(bits_ | other.bits_); }
  constexpr KeySet operator&(KeySet other) const { return KeySet(bits_ & other.bits_); }
  constexpr KeySet operator-(KeySet other) const { return KeySet(bits_ & ~other.bits_); }
  // The set must not be empty.
  Key highest() const { return static_cast<Key>(31 - __builtin_clz(bits_)); }
  // The keys of this set below `key`, to which a kernel at `key` may redispatch.
  KeySet below(Key key) const { return KeySet(bits_ & (KeySet(key).bits_ - 1)); }

 private:
  uint32_t bits_ = 0;
};

// Keys of strided tensors, by device type: each type has a key of the same name. A kernel for every
// device is registered at each.
inline constexpr Key kDeviceKeys[] = {
#define UH_DEVICE(enumerator, name) Key::enumerator,
#include "base/devices.inc"
};

// The backend key of a device type.
constexpr Key key_of(DeviceType type) {
  const auto i = static_cast<size_t>(type);
  return i < kDeviceTypeCount ? kDeviceKeys[i] : Key::kCPU;
}

inline constexpr KeySet kSparseKeys = KeySet(Key::kSparseCPU) | KeySet(Key::kSparseCsrCPU);
inline constexpr KeySet kBackendKeys = [] {
  KeySet keys = kSparseKeys;
  for (const Key key : kDeviceKeys) keys = keys | key;
  return keys;
}();

// "CPU, ADInplaceOrView", highest key last.
std::string to_string(KeySet keys);
// The set as recorded in traces: bit n is the key with recorded number n.
int64_t recorded_bits(KeySet keys);

}  // namespace uh
