#include "base/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.h"

namespace uh {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// The length in bytes of the UTF-8 character at text[i], 0 if it is invalid: overlong forms,
// surrogates and code points beyond U+10FFFF are rejected.
size_t utf8_length(std::string_view text, size_t i) {
  const auto byte = [&](size_t k) { return static_cast<unsigned char>(text[k]); };
  const unsigned char first = byte(i);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xF5   ? 0
                        : first >= 0xF0 ? 4
                        : first >= 0xE0 ? 3
                        : first >= 0xC2 ? 2
                                        : 0;
  if (length == 0 || text.size() - i < length) return 0;
  for (size_t k = 1; k < length; ++k)
    if ((byte(i + k) & 0xC0) != 0x80) return 0;
  const unsigned char second = byte(i + 1);
  const bool wrong = (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
                     (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F);
  return wrong ? 0 : length;
}

void append_utf8(std::string& out, uint32_t code) {
  const auto tail = [&](int shift) { out += static_cast<char>(0x80 | ((code >> shift) & 0x3F)); };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | (code >> 6));
    tail(0);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | (code >> 12));
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xF0 | (code >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

}  // namespace

// ---- writing

// Writes a comma unless the last character shows that no value came before.
void JsonWriter::comma() {
  if (text_.empty()) return;
  const char last = text_.back();
  if (last != '{' && last != '[' && last != ':') text_ += ',';
}

JsonWriter& JsonWriter::open(char bracket) {
  comma();
  text_ += bracket;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  comma();
  quote(name);
  text_ += ':';
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  comma();
  quote(text);
  return *this;
}

JsonWriter& JsonWriter::raw(std::string_view json) {
  comma();
  text_ += json;
  return *this;
}

JsonWriter& JsonWriter::integer(int64_t number) {
  char digits[24];
  return raw({digits, std::to_chars(digits, digits + sizeof digits, number).ptr});
}

JsonWriter& JsonWriter::natural(uint64_t number) {
  char digits[24];
  return raw({digits, std::to_chars(digits, digits + sizeof digits, number).ptr});
}

JsonWriter& JsonWriter::value(double number) {
  if (std::isnan(number)) return value("nan");
  if (std::isinf(number)) return value(number < 0 ? "-inf" : "inf");
  char digits[40];
  const char* end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  const std::string_view shortest(digits, end);
  raw(shortest);
  if (shortest.find_first_of(".e") == std::string_view::npos) text_ += ".0";  // it stays a double
  return *this;
}

void JsonWriter::quote(std::string_view text) {
  text_ += '"';
  size_t copied = 0;  // everything before this index is written
  const auto instead = [&](size_t i, std::string_view escape) {
    text_.append(text, copied, i - copied).append(escape);
    copied = i + 1;
  };
  for (size_t i = 0; i < text.size();) {
    const unsigned char c = static_cast<unsigned char>(text[i]);
    if (c >= 0x80) {
      const size_t length = utf8_length(text, i);
      if (length == 0) instead(i, kReplacement);
      i += std::max<size_t>(length, 1);
      continue;
    }
    if (c == '"') {
      instead(i, "\\\"");
    } else if (c == '\\') {
      instead(i, "\\\\");
    } else if (c == '\n') {
      instead(i, "\\n");
    } else if (c < 0x20) {
      const char hex[] = {'\\', 'u', '0', '0', c < 16 ? '0' : '1', "0123456789abcdef"[c & 15], 0};
      instead(i, hex);
    }
    ++i;
  }
  text_.append(text, copied).append("\"");
}

// ---- reading

class JsonParser {
 public:
  JsonParser(std::string_view text, const JsonLimits& limits) : text_(text), limits_(limits) {}

  Json document() {
    if (text_.size() > limits_.bytes)
      fail(ErrorKind::kRuntime, "JSON: the text has ", text_.size(), " bytes, more than ",
           limits_.bytes);
    Json result = value(0);
    blank();
    if (at_ < text_.size()) wrong(at_, "the end of the text");
    return result;
  }

 private:
  // "JSON: expected X at byte 17 (line 2, column 5), found 'y'"
  [[noreturn]] void wrong(size_t index, std::string_view expected) const {
    const std::string_view before = text_.substr(0, index);
    const auto lines = std::count(before.begin(), before.end(), '\n');
    const size_t column = before.size() - (lines ? before.rfind('\n') + 1 : 0) + 1;
    std::string result = "the end of the text";
    if (index < text_.size()) {
      JsonWriter writer;  // escapes unprintable characters
      result =
          writer.value(text_.substr(index, std::max<size_t>(utf8_length(text_, index), 1))).take();
    }
    fail(ErrorKind::kRuntime, "JSON: expected ", expected, " at byte ", index, " (line ", lines + 1,
         ", column ", column, "), found ", result);
  }

  void blank() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t'))
      ++at_;
  }
  bool next_is(char c) const { return at_ < text_.size() && text_[at_] == c; }
  bool take(char c) {
    if (!next_is(c)) return false;
    ++at_;
    return true;
  }
  bool digit() const { return at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; }

  Json value(int depth) {
    blank();
    Json result;
    result.position_ = at_;
    if (++values_ > limits_.values)
      fail(ErrorKind::kRuntime, "JSON: there are more than ", limits_.values, " values");
    if (depth > limits_.depth)
      fail(ErrorKind::kRuntime, "JSON: more than ", limits_.depth,
           " nested arrays and objects at byte ", at_);
    if (take('{')) {
      result.content_ = object(depth);
    } else if (take('[')) {
      result.content_ = array(depth);
    } else if (next_is('"')) {
      result.content_ = string();
    } else if (next_is('-') || digit()) {
      number(result);
    } else if (word("true")) {
      result.content_ = true;
    } else if (word("false")) {
      result.content_ = false;
    } else if (!word("null")) {
      wrong(at_, "a value");
    }
    return result;
  }

  bool word(std::string_view name) {
    if (text_.substr(at_, name.size()) != name) return false;
    at_ += name.size();
    return true;
  }

  Json::Array array(int depth) {
    Json::Array items;
    blank();
    if (take(']')) return items;
    do {
      items.push_back(value(depth + 1));
      blank();
    } while (take(','));
    if (!take(']')) wrong(at_, "',' or ']'");
    return items;
  }

  Json::Object object(int depth) {
    Json::Object members;
    std::vector<size_t> positions;
    blank();
    if (take('}')) return members;
    do {
      blank();
      positions.push_back(at_);
      if (!next_is('"')) wrong(at_, "a name in quotes");
      std::string name = string();
      blank();
      if (!take(':')) wrong(at_, "':'");
      members.push_back({std::move(name), value(depth + 1)});
      blank();
    } while (take(','));
    if (!take('}')) wrong(at_, "',' or '}'");
    refuse_twice(members, positions);
    return members;
  }

  void refuse_twice(const Json::Object& members, const std::vector<size_t>& positions) const {
    std::vector<size_t> order(members.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return members[a].name < members[b].name; });
    for (size_t i = 1; i < order.size(); ++i) {
      const std::string& name = members[order[i]].name;
      if (members[order[i - 1]].name != name) continue;
      JsonWriter writer;
      fail(ErrorKind::kRuntime, "JSON: the name ", writer.value(name).text(),
           " is duplicated, at byte ", positions[order[i - 1]], " and at byte ",
           positions[order[i]]);
    }
  }

  std::string string() {
    std::string out;
    ++at_;
    for (;;) {
      if (at_ == text_.size()) wrong(at_, "the closing quote of a string");
      const unsigned char c = static_cast<unsigned char>(text_[at_]);
      if (c == '"') {
        ++at_;
        return out;
      }
      if (c == '\\') {
        escape(out);
        continue;
      }
      if (c < 0x20) wrong(at_, "control characters in a string to be escaped");
      const size_t length = utf8_length(text_, at_);
      if (length == 0) wrong(at_, "UTF-8");
      out.append(text_, at_, length);
      at_ += length;
    }
  }

  void escape(std::string& out) {
    constexpr std::string_view kNames = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
    const size_t start = at_++;
    if (take('u')) {
      uint32_t code = hex();
      if (code >= 0xD800 && code < 0xDC00) {
        const uint32_t low = word("\\u") ? hex() : 0;
        if (low < 0xDC00 || low > 0xDFFF) wrong(start, "both halves of a surrogate pair");
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
      } else if (code >= 0xDC00 && code <= 0xDFFF) {
        wrong(start, "both halves of a surrogate pair");
      }
      append_utf8(out, code);
      return;
    }
    const size_t which = at_ < text_.size() ? kNames.find(text_[at_]) : std::string_view::npos;
    if (which == std::string_view::npos) wrong(at_, "an escape: one of \"\\/bfnrtu");
    out += kMeanings[which];
    ++at_;
  }

  uint32_t hex() {
    uint32_t code = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const char c = at_ < text_.size() ? text_[at_] : ' ';
      const char lower = static_cast<char>(c | 0x20);
      if (c >= '0' && c <= '9')
        code = code * 16 + static_cast<uint32_t>(c - '0');
      else if (lower >= 'a' && lower <= 'f')
        code = code * 16 + static_cast<uint32_t>(lower - 'a' + 10);
      else
        wrong(at_, "four hexadecimal digits");
    }
    return code;
  }

  void digits() {
    if (!digit()) wrong(at_, "a digit");
    while (digit()) ++at_;
  }

  void number(Json& result) {
    const size_t start = at_;
    take('-');
    if (take('0')) {
      if (digit()) wrong(at_, "no digit after a leading zero");
    } else {
      digits();
    }
    bool integral = true;
    if (take('.')) {
      integral = false;
      digits();
    }
    if (take('e') || take('E')) {
      integral = false;
      if (!take('+')) take('-');
      digits();
    }
    const char *first = text_.data() + start, *last = text_.data() + at_;
    int64_t exact = 0;
    if (integral && std::from_chars(first, last, exact).ec == std::errc()) {
      result.content_ = exact;
      return;
    }
    double rounded = 0;
    if (std::from_chars(first, last, rounded).ec != std::errc())
      wrong(start, "a number that a double can hold");
    result.content_ = rounded;
  }

  std::string_view text_;
  JsonLimits limits_;
  size_t at_ = 0;
  size_t values_ = 0;
};

Json Json::parse(std::string_view text, const JsonLimits& limits) {
  return JsonParser(text, limits).document();
}

Json::Json(Json&&) noexcept = default;
Json& Json::operator=(Json&&) noexcept = default;
Json::~Json() = default;

void Json::refuse(const char* expected) const {
  constexpr const char* kNames[] = {"null",     "true or false", "an integer", "a number",
                                    "a string", "an array",      "an object"};
  fail(ErrorKind::kRuntime, "JSON: expected ", std::string_view(expected), " at byte ", position_,
       ", found ", std::string_view(kNames[content_.index()]));
}

bool Json::as_bool() const {
  if (const bool* match = std::get_if<bool>(&content_)) return *match;
  refuse("true or false");
}
int64_t Json::as_int() const {
  if (const int64_t* match = std::get_if<int64_t>(&content_)) return *match;
  refuse("an integer of 64 bits");
}
double Json::as_double() const {
  if (const int64_t* match = std::get_if<int64_t>(&content_)) return static_cast<double>(*match);
  if (const double* match = std::get_if<double>(&content_)) return *match;
  refuse("a number");
}
const std::string& Json::as_string() const {
  if (const std::string* match = std::get_if<std::string>(&content_)) return *match;
  refuse("a string");
}
const Json::Array& Json::as_array() const {
  if (const Array* match = std::get_if<Array>(&content_)) return *match;
  refuse("an array");
}
const Json::Object& Json::as_object() const {
  if (const Object* match = std::get_if<Object>(&content_)) return *match;
  refuse("an object");
}

const Json* Json::find(std::string_view name) const {
  for (const Member& member : as_object())
    if (member.name == name) return &member.value;
  return nullptr;
}

const Json& Json::at(std::string_view name) const {
  if (const Json* match = find(name)) return *match;
  fail(ErrorKind::kRuntime, "JSON: the object at byte ", position_, " has no member '", name, "'");
}

}  // namespace uh
