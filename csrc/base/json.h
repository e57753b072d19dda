// JSON (RFC 8259): a writer that appends to a string, and a strict reader.
//
// Invariant: the writer's output is valid JSON and UTF-8 for any input bytes; the reader accepts
// valid JSON only (no comments, NaN, duplicate names in an object or lone surrogates) and limits
// its recursion, values and memory. If violated: a recorded event cannot be decoded, or a damaged
// file ends the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace uh {

// JsonWriter w; w.begin_object().key("a").value(1).key("b").begin_array().end_array().end_object();
// The writer inserts commas; the caller balances begin and end.
class JsonWriter {
 public:
  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }
  JsonWriter& key(std::string_view name);

  // Invalid UTF-8 becomes U+FFFD. Infinities and NaN, which JSON cannot represent, become the
  // strings "inf", "-inf" and "nan"; other doubles round-trip exactly.
  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(const std::string& text) { return value(std::string_view(text)); }
  JsonWriter& value(double number);
  JsonWriter& value(bool truth) { return raw(truth ? "true" : "false"); }
  JsonWriter& value(std::nullptr_t) { return raw("null"); }
  template <class Int>
    requires(std::is_integral_v<Int> && !std::is_same_v<Int, bool>)
  JsonWriter& value(Int number) {
    if constexpr (std::is_signed_v<Int>) return integer(number);
    return natural(number);
  }
  // Writes a range as an array: [1, 2, 3].
  template <class Range>
  JsonWriter& values(const Range& range) {
    begin_array();
    for (const auto& item : range) value(item);
    return end_array();
  }
  // Writes `json`, which must be valid JSON, unchanged.
  JsonWriter& raw(std::string_view json);

  template <class Value>
  JsonWriter& member(std::string_view name, const Value& v) {
    return key(name).value(v);
  }

  const std::string& text() const { return text_; }
  std::string take() { return std::exchange(text_, {}); }
  void clear() { text_.clear(); }

 private:
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket) {
    text_ += bracket;
    return *this;
  }
  JsonWriter& integer(int64_t number);
  JsonWriter& natural(uint64_t number);
  void comma();
  void quote(std::string_view text);

  std::string text_;
};

struct JsonLimits {
  size_t bytes = 100'000'000;  // of the text
  size_t values = 8'000'000;   // each takes some 50 bytes
  int depth = 64;              // nesting of arrays and objects
};

// A parsed value. It stores the offset of its first byte, so that errors can point to it.
class Json {
 public:
  enum class Kind { kNull, kBool, kInt, kDouble, kString, kArray, kObject };
  struct Member;
  using Array = std::vector<Json>;
  using Object = std::vector<Member>;  // in the order of the text

  // Throws a RuntimeError with the problem and its position (byte, line and column).
  static Json parse(std::string_view text, const JsonLimits& limits = {});

  Json() = default;
  Json(Json&&) noexcept;
  Json& operator=(Json&&) noexcept;
  ~Json();

  Kind kind() const { return static_cast<Kind>(content_.index()); }
  size_t position() const { return position_; }
  bool is_null() const { return kind() == Kind::kNull; }

  // Each throws a RuntimeError that names the actual kind. An integer beyond 64 bits is parsed as a
  // double; as_double also accepts ints.
  bool as_bool() const;
  int64_t as_int() const;
  double as_double() const;
  const std::string& as_string() const;
  const Array& as_array() const;
  const Object& as_object() const;

  // Returns a member of an object by name, by linear search; at() throws if it is missing.
  const Json* find(std::string_view name) const;
  const Json& at(std::string_view name) const;

 private:
  friend class JsonParser;
  [[noreturn]] void refuse(const char* expected) const;

  std::variant<std::monostate, bool, int64_t, double, std::string, Array, Object> content_;
  size_t position_ = 0;
};

struct Json::Member {
  std::string name;
  Json value;
};

}  // namespace uh
