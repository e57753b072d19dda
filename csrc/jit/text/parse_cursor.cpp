#include "jit/text/parse_cursor.h"

#include <algorithm>
#include <charconv>

namespace uh::jit {

bool in_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

namespace {

// True for a UTF-8 byte other than the first of a character.
bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

constexpr size_t kQuotedLine = 100;  // of a text that may be one line of a megabyte

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

void Cursor::skip() {
  while (at_ < text_.size() &&
         (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
    ++at_;
}

bool Cursor::eat(std::string_view token) {
  skip();
  if (text_.substr(at_, token.size()) != token) return false;
  at_ += token.size();
  return true;
}

bool Cursor::eat_word(std::string_view word) {
  const size_t from = at_;
  if (eat(word) && !in_word(raw())) return true;
  at_ = from;
  return false;
}

void Cursor::expect(std::string_view token) {
  if (!eat(token)) wrong(message("'", token, "'"));
}

std::string_view Cursor::try_word(std::string_view more) {
  skip();
  const size_t from = at_;
  if (is_digit(raw())) return {};
  while (in_word(raw()) || (raw() && more.find(raw()) != std::string_view::npos)) ++at_;
  return since(from);
}

std::string_view Cursor::word(std::string_view expected, std::string_view more) {
  const std::string_view result = try_word(more);
  if (result.empty()) wrong(expected);
  return result;
}

int64_t Cursor::integer(std::string_view expected) {
  skip();
  int64_t number = 0;
  const char* from = text_.data() + at_;
  const auto [end, error] = std::from_chars(from, text_.data() + text_.size(), number);
  if (error == std::errc::result_out_of_range) refuse(at_, "the number does not fit 64 bits");
  if (error != std::errc()) wrong(expected);
  at_ += static_cast<size_t>(end - from);
  return number;
}

std::string_view Cursor::rest_of_line() {
  const size_t from = at_;
  while (at_ < text_.size() && text_[at_] != '\n') ++at_;
  return since(from);
}

std::string Cursor::quoted() {
  const size_t from = at_;
  const char quote = raw();
  if (quote != '"' && quote != '\'') wrong("a text in quotes");
  std::string text;
  for (++at_; raw() != quote; ++at_) {
    if (at_ >= text_.size()) refuse(from, "the quotes are not closed");
    if (raw() != '\\') {
      text += raw();
      continue;
    }
    ++at_;
    static constexpr std::string_view kLetters = "abfnrtv\\'\"?";
    static constexpr std::string_view kMeant = "\a\b\f\n\r\t\v\\'\"?";
    if (raw() == 'x') {
      int code = 0;
      for (int digits = 0; digits < 2; ++digits) {
        ++at_;
        const int digit = hex_digit(raw());
        if (digit < 0) wrong("two hexadecimal digits");
        code = code * 16 + digit;
      }
      text += static_cast<char>(code);
    } else if (raw() >= '0' && raw() <= '7') {
      int code = 0, digits = 0;
      for (; digits < 3 && raw() >= '0' && raw() <= '7'; ++digits, ++at_)
        code = code * 8 + (raw() - '0');
      if (code > 255) wrong("an octal number up to \\377");
      text += static_cast<char>(code);
      --at_;
    } else if (const size_t which = kLetters.find(raw());
               at_ < text_.size() && which != std::string_view::npos) {
      text += kMeant[which];
    } else {
      wrong("an escape sequence");
    }
  }
  ++at_;
  return text;
}

int Cursor::line() const {
  return 1 + static_cast<int>(
                 std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n'));
}

std::string_view Cursor::line_so_far() const {
  const size_t newline = at_ ? text_.rfind('\n', at_ - 1) : std::string_view::npos;
  const size_t from = newline == std::string_view::npos ? 0 : newline + 1;
  return text_.substr(from, at_ - from);
}

int Cursor::column() const {
  const std::string_view line = line_so_far();
  return 1 + static_cast<int>(line.size() - static_cast<size_t>(std::count_if(
                                                line.begin(), line.end(), is_continuation)));
}

void Cursor::stop(const std::string& problem) const {
  std::string_view before = line_so_far(), after = text_.substr(at_, kQuotedLine);
  if (before.size() > kQuotedLine / 2) before.remove_prefix(before.size() - kQuotedLine / 2);
  after = after.substr(0, kQuotedLine - before.size());
  after = after.substr(0, after.find('\n'));
  while (!before.empty() && is_continuation(before.front())) before.remove_prefix(1);
  while (!after.empty() && (static_cast<unsigned char>(after.back()) & 0x80) &&
         at_ + after.size() < text_.size() && is_continuation(text_[at_ + after.size()]))
    after.remove_suffix(1);  // remove a partial character
  const auto inside = std::count_if(before.begin(), before.end(), is_continuation);
  fail(ErrorKind::kRuntime, subject_, ": line ", line(), ", column ", column(), ": ", problem,
       "\n  ", before, after, "\n  ", std::string(before.size() - static_cast<size_t>(inside), ' '),
       "^");
}

void Cursor::wrong(std::string_view expected) const {
  std::string result = "the end";
  size_t at = at_;
  while (at < text_.size() && (text_[at] == ' ' || text_[at] == '\n')) ++at;
  if (at < text_.size()) {
    size_t end = at + 1;
    while (in_word(text_[at]) && end < text_.size() && end - at < 30 && in_word(text_[end])) ++end;
    result = message("'", text_.substr(at, end - at), "'");
  }
  Cursor lookahead(*this);
  lookahead.at_ = at;
  lookahead.stop(message("expected ", expected, ", not ", result));
}

void Cursor::refuse(size_t from, std::string_view reason) {
  at_ = from;
  stop(std::string(reason));
}

}  // namespace uh::jit
