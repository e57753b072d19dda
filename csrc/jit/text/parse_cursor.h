// Cursor: a position in a text that is parsed from left to right, with errors that point at it.
//
// Used by parse_type and parse. Skips spaces between words and, in graphs, comments. Invariant: for
// any text, a parser terminates with a result or in wrong(), and its recursion is bounded by
// Deeper. If violated: a damaged file ends the process.
#pragma once

#include <string>
#include <string_view>

#include "jit/ir/type.h"

namespace uh::jit {

// True for letters, digits and _; every byte of a non-ASCII character counts as a letter.
bool in_word(char c);

class Cursor {
 public:
  // `subject` begins every error: "type", "graph". It must outlive the Cursor, as must the text.
  Cursor(std::string_view text, const char* subject) : text_(text), subject_(subject) {}

  bool done() {
    skip();
    return at_ == text_.size();
  }
  // The next character other than a space; 0 at the end.
  char peek() {
    skip();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  // The character at the cursor, which may be a space.
  char raw() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool eat(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  bool eat(std::string_view token);
  // Consumes a complete word: "in" does not match "int".
  bool eat_word(std::string_view word);
  void expect(std::string_view token);
  // Reads a word, which does not start with a digit and may contain characters of `more`; or "".
  std::string_view try_word(std::string_view more = "");
  std::string_view word(std::string_view expected, std::string_view more = "");
  // Reads a signed 64-bit integer.
  int64_t integer(std::string_view expected);
  // Reads up to the end of the line, or to `end`.
  std::string_view rest_of_line();
  // Reads a quoted string and replaces escapes; the cursor is at the opening quote.
  std::string quoted();

  size_t at() const { return at_; }
  void go(size_t at) { at_ = at; }
  std::string_view text() const { return text_; }
  std::string_view since(size_t from) const { return text_.substr(from, at_ - from); }
  int line() const;    // of the cursor, from 1
  int column() const;  // in characters, from 1

  // Throws a RuntimeError with the expectation, the position, and the line with a caret below it.
  [[noreturn]] void wrong(std::string_view expected) const;
  // The same for well-formed but invalid text; points at `from`.
  [[noreturn]] void refuse(size_t from, std::string_view reason);

  // A level of nesting, for the lifetime of the object.
  class Deeper {
   public:
    explicit Deeper(Cursor& cursor) : cursor_(cursor) {
      if (++cursor.depth_ > kMaxDepth) cursor.refuse(cursor.at_, "nested too deeply");
    }
    ~Deeper() { --cursor_.depth_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;

   private:
    Cursor& cursor_;
  };
  static constexpr int kMaxDepth = 100;

 private:
  void skip();
  std::string_view line_so_far() const;
  [[noreturn]] void stop(const std::string& problem) const;

  std::string_view text_;
  const char* subject_;
  size_t at_ = 0;
  int depth_ = 0;
};

// Reads a type in the format of parse_type.
TypeRef read_type(Cursor& cursor);
// A type variable of a schema (`t`, `tVal`): of kind Any, its text is its name.
TypeRef type_variable(std::string_view name);
bool is_type_variable(const Type& type);

}  // namespace uh::jit
