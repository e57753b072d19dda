// Conversions between character and byte offsets: strings are UTF-8, and Python counts characters.
//
// Invariant: conversions in an ASCII string are linear in its bytes at most. Each invalid byte
// counts as one character.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace uh::jit::characters {

inline bool continues(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

inline int64_t count(std::string_view text) {
  int64_t n = 0;
  for (const char c : text) n += !continues(c);
  return n;
}
// The byte offset of character `index`, 0 <= index <= count.
inline size_t byte_of(std::string_view text, int64_t index) {
  size_t at = 0;
  for (; index > 0 && at < text.size(); --index)
    for (++at; at < text.size() && continues(text[at]);) ++at;
  return at;
}
inline int64_t index_of(std::string_view text, size_t byte) { return count(text.substr(0, byte)); }

// ASCII letters only; other letters have no case here.
inline bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
inline bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
inline bool is_letter(char c) { return is_lower(c) || is_upper(c); }
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
inline char lower(char c) { return is_upper(c) ? static_cast<char>(c + 32) : c; }
inline char upper(char c) { return is_lower(c) ? static_cast<char>(c - 32) : c; }

}  // namespace uh::jit::characters
