// JSON (RFC 8259): a writer that appends to a string, and a strict reader.
//
// Invariant: what the writer gives is JSON and valid UTF-8, whatever bytes it was given; what the
// reader accepts is JSON and nothing else (no comments, no NaN, no name twice in an object, no
// half of a surrogate pair), and its recursion, its values and its memory are bounded by limits.
// If violated: a recorded event cannot be decoded, or a damaged file ends the process.
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
// Commas are its business; that what begins also ends is the caller's.
class JsonWriter {
 public:
  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }
  JsonWriter& key(std::string_view name);

  // Bytes that are not UTF-8 become U+FFFD. Infinities and NaN, for which JSON has no number,
  // become the strings "inf", "-inf" and "nan"; other doubles come back as the same double.
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
  // [1, 2, 3] of anything that has a beginning and an end.
  template <class Range>
  JsonWriter& values(const Range& range) {
    begin_array();
    for (const auto& item : range) value(item);
    return end_array();
  }
  // A value that is JSON already, as it is.
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
  int depth = 64;              // of arrays and objects in each other
};

// A value that was read. It knows the byte that it began at, so that a wrong one can be pointed to.
class Json {
 public:
  enum class Kind { kNull, kBool, kInt, kDouble, kString, kArray, kObject };
  struct Member;
  using Array = std::vector<Json>;
  using Object = std::vector<Member>;  // in the order of the text

  // Throws a RuntimeError that says what is wrong and where (byte, line and column).
  static Json parse(std::string_view text, const JsonLimits& limits = {});

  Json() = default;
  Json(Json&&) noexcept;
  Json& operator=(Json&&) noexcept;
  ~Json();

  Kind kind() const { return static_cast<Kind>(content_.index()); }
  size_t position() const { return position_; }
  bool is_null() const { return kind() == Kind::kNull; }

  // Each throws a RuntimeError that names what is there instead. An integer beyond 64 bits is
  // a double; as_double takes ints as well.
  bool as_bool() const;
  int64_t as_int() const;
  double as_double() const;
  const std::string& as_string() const;
  const Array& as_array() const;
  const Object& as_object() const;

  // A member of an object by its name, found by a linear search; at() throws if it is missing.
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
