// Character predicates and case conversions: isdigit, upper... Letters are ASCII only.
#include "jit/builtins/register_builtin.h"
#include "jit/builtins/utf8.h"

namespace uh::jit {
namespace {

using namespace characters;

// True if the string is not empty and the predicate holds for every character.
template <auto Is>
void define_test(const char* name) {
  define(std::string(name) + "(str self) -> bool", boxed<[](StringArg text) {
           for (const char c : text)
             if (!Is(c)) return false;
           return !text.empty();
         }>);
}

// True if the string has a letter and the predicate holds for every letter.
template <auto Is>
void define_case_test(const char* name) {
  define(std::string(name) + "(str self) -> bool", boxed<[](StringArg text) {
           bool any = false;
           for (const char c : text) {
             if (is_letter(c) && !Is(c)) return false;
             any |= is_letter(c);
           }
           return any;
         }>);
}

template <auto Change>
std::string changed(StringArg text) {
  std::string result = text;
  for (char& c : result) c = Change(c);
  return result;
}

// str.title(): capitalises each letter that does not follow a letter.
std::string titled(StringArg text) {
  std::string result = text;
  bool inside = false;
  for (char& c : result) {
    c = inside ? lower(c) : upper(c);
    inside = is_letter(c);
  }
  return result;
}

bool is_title(StringArg text) {
  bool inside = false, any = false;
  for (const char c : text) {
    if (is_letter(c) && (inside ? is_upper(c) : is_lower(c))) return false;
    inside = is_letter(c);
    any |= inside;
  }
  return any;
}

bool is_identifier(StringArg text) {
  for (const char c : text)
    if (!is_letter(c) && !is_digit(c) && c != '_') return false;
  return !text.empty() && !is_digit(text[0]);
}

}  // namespace

void define_text_tests() {
  define_test<[](char c) { return is_digit(c); }>("isdigit");
  define_test<[](char c) { return is_digit(c); }>("isdecimal");
  define_test<[](char c) { return is_digit(c); }>("isnumeric");
  define_test<[](char c) { return is_letter(c); }>("isalpha");
  define_test<[](char c) { return is_letter(c) || is_digit(c); }>("isalnum");
  define_test<[](char c) { return is_space(c); }>("isspace");
  define_case_test<[](char c) { return is_lower(c); }>("islower");
  define_case_test<[](char c) { return is_upper(c); }>("isupper");
  define("istitle(str self) -> bool", boxed<[](StringArg s) { return is_title(s); }>);
  define("isidentifier(str self) -> bool", boxed<[](StringArg s) { return is_identifier(s); }>);
  define("isprintable(str self) -> bool", boxed<[](StringArg s) {
           for (const char c : s)
             if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return false;
           return true;
         }>);
  define("isascii(str self) -> bool", boxed<[](StringArg s) {
           for (const char c : s)
             if (static_cast<unsigned char>(c) >= 0x80) return false;
           return true;
         }>);
  define("lower(str self) -> str", boxed<[](StringArg s) { return changed<lower>(s); }>);
  define("upper(str self) -> str", boxed<[](StringArg s) { return changed<upper>(s); }>);
  define("swapcase(str self) -> str", boxed<[](StringArg s) {
           return changed<[](char c) { return is_lower(c) ? upper(c) : lower(c); }>(s);
         }>);
  define("capitalize(str self) -> str", boxed<[](StringArg s) {
           std::string result = changed<lower>(s);
           if (!result.empty()) result[0] = upper(result[0]);
           return result;
         }>);
  define("title(str self) -> str", boxed<[](StringArg s) { return titled(s); }>);
}

}  // namespace uh::jit
