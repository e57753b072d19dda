// JSON: the reader accepts what the writer produces, and nothing invalid.
#include "base/json.h"

#include <limits>

#include "base/error.h"
#include "check.h"

namespace uh::test {
namespace {

Json::Kind kind_of(const std::string& text) { return Json::parse(text).kind(); }

// Writes a random value.
void write_value(Random& random, JsonWriter& writer, int depth) {
  switch (random.in(0, depth > 4 ? 5 : 7)) {
    case 0: writer.value(nullptr); return;
    case 1: writer.value(random.one_in(2)); return;
    case 2: writer.value(static_cast<int64_t>(random.next())); return;
    case 3: writer.value(static_cast<double>(random.in(-1000000, 1000000)) / 1024); return;
    case 4:
    case 5: {
      std::string text;
      for (int64_t i = random.in(0, 8); i > 0; --i) text += static_cast<char>(random.in(0, 255));
      writer.value(text);
      return;
    }
    case 6:
      writer.begin_array();
      for (int64_t i = random.in(0, 3); i > 0; --i) write_value(random, writer, depth + 1);
      writer.end_array();
      return;
    default:
      writer.begin_object();
      for (int64_t i = random.in(0, 3); i > 0; --i)
        write_value(random, writer.key("name" + std::to_string(i)), depth + 1);
      writer.end_object();
  }
}

void write_copy(const Json& json, JsonWriter& writer) {
  switch (json.kind()) {
    case Json::Kind::kNull: writer.value(nullptr); return;
    case Json::Kind::kBool: writer.value(json.as_bool()); return;
    case Json::Kind::kInt: writer.value(json.as_int()); return;
    case Json::Kind::kDouble: writer.value(json.as_double()); return;
    case Json::Kind::kString: writer.value(json.as_string()); return;
    case Json::Kind::kArray:
      writer.begin_array();
      for (const Json& item : json.as_array()) write_copy(item, writer);
      writer.end_array();
      return;
    case Json::Kind::kObject:
      writer.begin_object();
      for (const auto& [name, value] : json.as_object()) write_copy(value, writer.key(name));
      writer.end_object();
  }
}

}  // namespace

TEST(json_is_written_with_commas_and_escapes) {
  JsonWriter writer;
  writer.begin_object().member("a", 1).key("b").begin_array().value(1.0).value(true);
  writer.value(nullptr).begin_object().end_object().end_array().member("c\n\"", "\x01\\");
  writer.end_object();
  CHECK_EQ(writer.text(), R"({"a":1,"b":[1.0,true,null,{}],"c\n\"":"\u0001\\"})");
  CHECK_EQ(JsonWriter().values(std::vector<int>{1, 2}).text(), "[1,2]");
}

TEST(json_numbers_come_back_as_they_were) {
  const double doubles[] = {0.1, 1e300, 5e-324, -0.0, 1.0, 123456789.125};
  for (double number : doubles)
    CHECK_EQ(Json::parse(JsonWriter().value(number).text()).as_double(), number);
  const auto min_value = std::numeric_limits<int64_t>::min();
  CHECK_EQ(Json::parse(JsonWriter().value(min_value).text()).as_int(), min_value);
  CHECK_EQ(JsonWriter().value(std::numeric_limits<double>::infinity()).text(), "\"inf\"");
  CHECK(kind_of("1") == Json::Kind::kInt);
  CHECK(kind_of("1.0") == Json::Kind::kDouble);
  CHECK(kind_of("9223372036854775808") == Json::Kind::kDouble, "it is beyond 64 bits");
}

TEST(json_texts_are_utf8) {
  CHECK_EQ(JsonWriter()
               .value("\xff"
                      "a\xc3")
               .text(),
           "\"\xEF\xBF\xBD"
           "a\xEF\xBF\xBD\"");
  CHECK_EQ(Json::parse(R"("\ud83d\ude00\u00e9")").as_string(), "\xF0\x9F\x98\x80\xC3\xA9");
  CHECK_FAILS(Json::parse("\"\xff\""), "expected UTF-8 at byte 1");
  CHECK_FAILS(Json::parse("\"\xed\xa0\x80\""), "expected UTF-8");  // a surrogate
  CHECK_FAILS(Json::parse("\"\xc0\x80\""), "expected UTF-8");      // overlong encoding
  CHECK_FAILS(Json::parse(R"("\ud83d")"), "both halves of a surrogate pair");
  CHECK_FAILS(Json::parse(R"("\ude00")"), "both halves of a surrogate pair");
}

TEST(json_says_what_is_wrong_and_where) {
  CHECK_FAILS(Json::parse(""), "expected a value at byte 0");
  CHECK_FAILS(Json::parse("[1,]"), "expected a value at byte 3");
  CHECK_FAILS(Json::parse("\n\n  [tru]"), "byte 5 (line 3, column 4), found \"t\"");
  CHECK_FAILS(Json::parse("{\"a\":1,\"a\":2}"), "\"a\" is duplicated, at byte 1 and at byte 7");
  CHECK_FAILS(Json::parse("[1] 2"), "expected the end of the text at byte 4");
  CHECK_FAILS(Json::parse("01"), "no digit after a leading zero");
  CHECK_FAILS(Json::parse("1e999"), "a number that a double can hold");
  CHECK_FAILS(Json::parse("NaN"), "expected a value");
  CHECK_FAILS(Json::parse("\"a\nb\""), "to be escaped");
  CHECK_FAILS(Json::parse("{\"a\":1}").at("a").as_string(), "a string at byte 5, found an integer");
  CHECK_FAILS(Json::parse("{}").at("b"), "has no member 'b'");
}

TEST(json_has_limits) {
  CHECK_FAILS(Json::parse(std::string(1000000, '[')), "more than 64 nested arrays and objects");
  CHECK_FAILS(Json::parse("[[[1]]]", {.depth = 2}), "more than 2 nested arrays");
  CHECK_FAILS(Json::parse("[1,2,3]", {.values = 3}), "more than 3 values");
  CHECK_FAILS(Json::parse("[1]", {.bytes = 2}), "more than 2");
}

FUZZ(json_read_back) {
  Random random(budget.seed);
  while (!budget.over()) {
    JsonWriter writer, again;
    write_value(random, writer, 0);
    std::string text = writer.take();
    write_copy(Json::parse(text), again);
    CHECK_EQ(again.text(), text);
    for (int64_t i = random.in(1, 4); i > 0 && !text.empty(); --i)
      text[static_cast<size_t>(random.in(0, static_cast<int64_t>(text.size()) - 1))] =
          static_cast<char>(random.in(0, 255));
    try {
      Json::parse(text);
    } catch (const Error& error) {
      CHECK(std::string_view(error.what()).starts_with("JSON: "), error.what());
    }
  }
}

}  // namespace uh::test
