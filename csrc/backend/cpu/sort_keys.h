// Sort keys: unsigned integers in PyTorch's order of the elements.
//
// Every real dtype has a key of its size; a smaller key sorts first. NaN sorts after everything and
// equals itself; -0 equals 0. A descending sort inverts the keys, so that equal elements keep their
// order in both directions.
// Forced inline: the loops of sort_loops.cpp are compiled per instruction set.
#pragma once

#include <bit>
#include <cstdint>

#include "base/dtype.h"

namespace uh {

namespace detail {
template <int kBytes>
struct KeyOf;
template <>
struct KeyOf<1> {
  using type = uint8_t;
};
template <>
struct KeyOf<2> {
  using type = uint16_t;
};
template <>
struct KeyOf<4> {
  using type = uint32_t;
};
template <>
struct KeyOf<8> {
  using type = uint64_t;
};
}  // namespace detail

template <class T>
using SortKey = typename detail::KeyOf<sizeof(T)>::type;

// The bits of an infinity; larger magnitudes are NaN. 0 for integers.
template <class T>
inline constexpr uint64_t kInfinityBits = std::is_same_v<T, Half>       ? 0x7c00u
                                          : std::is_same_v<T, BFloat16> ? 0x7f80u
                                          : std::is_same_v<T, float>    ? 0x7f800000u
                                          : std::is_same_v<T, double>   ? 0x7ff0000000000000u
                                                                        : 0u;

template <class T>
[[gnu::always_inline]] inline SortKey<T> sort_key(T value, bool descending) {
  using Key = SortKey<T>;
  constexpr Key kTop = Key(1) << (8 * sizeof(Key) - 1);
  Key key = std::bit_cast<Key>(value);
  if constexpr (std::is_same_v<T, bool>) {
    key = Key(key != 0);
  } else if constexpr (kInfinityBits<T> != 0) {
    // Without branches: signs are unpredictable.
    const Key magnitude = Key(key & Key(~kTop));
    key = magnitude ? key : Key(0);
    const Key sign = Key(Key(0) - Key(key >> (8 * sizeof(Key) - 1)));
    key = Key(key ^ Key(sign | kTop));
    key = magnitude > Key(kInfinityBits<T>) ? Key(~Key(0)) : key;
  } else if constexpr (std::is_signed_v<T>) {
    key = Key(key ^ kTop);
  }
  return descending ? Key(~key) : key;
}

// True if the key determines the element: not for -0 and NaN, which has payloads.
template <class T>
[[gnu::always_inline]] inline bool key_is_exact(T value) {
  using Key = SortKey<T>;
  if constexpr (kInfinityBits<T> == 0) return true;
  constexpr Key kTop = Key(1) << (8 * sizeof(Key) - 1);
  const Key bits = std::bit_cast<Key>(value);
  return bits != kTop && Key(bits & Key(~kTop)) <= Key(kInfinityBits<T>);
}

template <class T>
[[gnu::always_inline]] inline T from_sort_key(SortKey<T> key, bool descending) {
  using Key = SortKey<T>;
  constexpr Key kTop = Key(1) << (8 * sizeof(Key) - 1);
  if (descending) key = Key(~key);
  if constexpr (std::is_same_v<T, bool>) {
    return key != 0;
  } else if constexpr (kInfinityBits<T> != 0) {
    key = key & kTop ? Key(key & Key(~kTop)) : Key(~key);
  } else if constexpr (std::is_signed_v<T>) {
    key = Key(key ^ kTop);
  }
  return std::bit_cast<T>(key);
}

}  // namespace uh
