#include "dispatch/schema.h"

#include <algorithm>
#include <cctype>

#include "base/error.h"

namespace uh {
namespace {

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Schema parse() {
    Schema schema;
    schema.text = std::string(text_);
    schema.name = word("an operator name");
    if (eat('.')) schema.overload = word("an overload name");
    expect('(');
    arguments(schema.arguments);
    skip();
    if (!(eat('-') && eat('>'))) wrong("'->'");
    results(schema.results);
    skip();
    if (at_ != text_.size()) wrong("the end");
    return schema;
  }

 private:
  static constexpr int kMaxDepth = 50;

  void arguments(std::vector<Argument>& out) {
    bool keyword_only = false;
    while (!eat(')')) {
      if (eat('*')) {
        keyword_only = true;
      } else {
        out.push_back(argument(keyword_only));
      }
      if (!eat(',') && peek() != ')') wrong("',' or ')'");
    }
  }

  void results(std::vector<Argument>& out) {
    if (!eat('(')) {
      out.push_back(result());
      return;
    }
    while (!eat(')')) {
      out.push_back(result());
      if (!eat(',') && peek() != ')') wrong("',' or ')'");
    }
  }

  Argument result() {
    Argument a;
    type(a);
    skip();
    if (std::isalpha(static_cast<unsigned char>(peek()))) a.name = word("a result name");
    return a;
  }

  Argument argument(bool keyword_only) {
    Argument a;
    a.keyword_only = keyword_only;
    type(a);
    a.name = a.type == "..." ? a.type : word("an argument name");
    if (eat('=')) {
      a.has_default = true;
      a.fallback = default_text();
    }
    return a;
  }

  // Tensor(a!)?[]? : base, alias mark, and whatever makes a list or an optional of it. Builtins of
  // the JIT also have lists that are written, `t[](a!)`, tuples and dictionaries.
  void type(Argument& a, int depth = 0) {
    if (depth > kMaxDepth) wrong("less nesting");
    if (eat('(')) {
      a.type = "(" + types(depth) + ")";
    } else if (eat('.')) {
      if (!(eat('.') && eat('.'))) wrong("'...'");
      a.type = "...";  // as many more as are given
      return;
    } else {
      a.type = word("a type");
      if (a.type == "Dict") {
        expect('(');
        a.type += "(" + types(depth) + ")";
      }
    }
    for (;;) {
      if (eat('?')) {
        a.type += "?";
      } else if (eat('[')) {
        while (std::isdigit(static_cast<unsigned char>(peek()))) ++at_;
        expect(']');
        a.type += "[]";
      } else if (eat('(')) {
        alias(a);
      } else {
        return;
      }
    }
  }

  // Up to the ')': types that stand within another.
  std::string types(int depth) {
    std::string all;
    while (!eat(')')) {
      Argument inner;
      type(inner, depth + 1);
      all += (all.empty() ? "" : ", ") + inner.type;
      if (!eat(',') && peek() != ')') wrong("',' or ')'");
    }
    return all;
  }

  // (a!) is written; (a), (a|b) and (*), which is anything in a container, are viewed; what goes
  // into a container, (a -> *), is neither.
  void alias(Argument& a) {
    if (!eat('*')) {
      word("an alias set");
      while (eat('|')) word("an alias set");
    }
    a.written = eat('!');
    const bool kept = eat('-');
    if (kept && !(eat('>') && eat('*'))) wrong("'-> *'");
    a.viewed = !a.written && !kept;
    expect(')');
  }

  // Up to the ',' or ')' that ends the argument; brackets and quotes nest.
  std::string default_text() {
    skip();
    const size_t from = at_;
    int depth = 0;
    char quote = 0;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (quote) {
        if (c == quote) quote = 0;
        continue;
      }
      if (c == '\'' || c == '"') quote = c;
      if (c == '[' || c == '(') ++depth;
      if (depth == 0 && (c == ',' || c == ')')) break;
      if (c == ']' || c == ')') --depth;
    }
    std::string text(text_.substr(from, at_ - from));
    while (!text.empty() && text.back() == ' ') text.pop_back();
    if (text.empty()) wrong("a default value");
    return text;
  }

  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  char peek() {
    skip();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool eat(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!eat(c)) wrong(std::string("'") + c + "'");
  }
  std::string word(std::string_view what) {
    skip();
    const size_t from = at_;
    auto in_word = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == ':';
    };
    while (at_ < text_.size() && in_word(text_[at_])) ++at_;
    if (at_ == from) wrong(what);
    return std::string(text_.substr(from, at_ - from));
  }
  [[noreturn]] void wrong(std::string_view expected) {
    fail(ErrorKind::kRuntime, "schema: expected ", expected, " at column ", at_ + 1, " of '", text_,
         "'");
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

bool Schema::writes() const {
  return std::any_of(arguments.begin(), arguments.end(),
                     [](const Argument& a) { return a.written; });
}

bool Schema::views() const {
  return std::any_of(results.begin(), results.end(), [](const Argument& a) { return a.viewed; });
}

Schema parse_schema(std::string_view text) { return Parser(text).parse(); }

}  // namespace uh
