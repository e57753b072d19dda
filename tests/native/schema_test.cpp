// The schema parser: valid, rejected and random schemas.
#include "base/error.h"
#include "base/json.h"
#include "capi/underhood.h"
#include "check.h"
#include "dispatch/dispatcher.h"
#include "dispatch/function_schema.h"

namespace uh {
namespace {

std::vector<std::string> all_schemas() {
  std::vector<std::string> out;
  for (int64_t i = 0; i < uh_op_count(); ++i) out.emplace_back(uh_op_schema(i));
  return out;
}

TEST(a_schema_is_read_into_its_parts) {
  const auto parsed = parse_schema(
      "add.out(Tensor self, Tensor? other=None, *, int[2] k=[1, 2], Tensor(a!) out) -> (Tensor(a!) "
      "r, int)");
  const FunctionSchema& s = *parsed;
  CHECK_EQ(s.full_name(), "add.out");
  CHECK_EQ(s.arguments.size(), 4u);
  CHECK_EQ(s.arguments[1].type.text(), "Tensor?");
  CHECK(s.arguments[1].default_value->value().is_none());
  CHECK_EQ(s.arguments[2].type.fixed_size, 2);
  CHECK((*s.arguments[2].default_value->value().get_if<Dims>() == Dims{1, 2}));
  CHECK(s.arguments[2].keyword_only && s.arguments[3].is_write() && s.is_mutable() && s.is_out());
  CHECK_EQ(s.returns.size(), 2u);
}

TEST(every_registered_schema_parses_to_its_own_text) {
  for (const std::string& text : all_schemas())
    CHECK_EQ(std::string(parse_schema(text)->text), text);
}

std::string as_json(const FunctionSchema& schema) {
  JsonWriter writer;
  write_json(writer, schema);
  return writer.take();
}

// Compares the generator's tables with the parsed text. Only the table has one fact that the text
// lacks: an operand may be a number.
TEST(a_generated_schema_is_what_its_text_parses_to) {
  for (const OperatorInfo* op : Dispatcher::instance().all()) {
    std::string table = as_json(op->schema());
    const std::string number = ",\"takes_number\":true";
    for (size_t at; (at = table.find(number)) != std::string::npos;) table.erase(at, number.size());
    CHECK_EQ(table, as_json(*parse_schema(op->schema_text())));
  }
}

TEST(a_malformed_schema_is_refused_with_the_column) {
  CHECK_FAILS(parse_schema(""), "expected an operator name at column 1");
  CHECK_FAILS(parse_schema("f"), "expected '(' at column 2");
  CHECK_FAILS(parse_schema("f(Tensor) -> Tensor"), "expected an argument name");
  CHECK_FAILS(parse_schema("f(Tensor self"), "expected ',' or ')'");
  CHECK_FAILS(parse_schema("f(Tensor self) Tensor"), "expected '->'");
  CHECK_FAILS(parse_schema("f() -> Tensor x y"), "expected the end");
  CHECK_FAILS(parse_schema("f(int a=) -> Tensor"), "expected a default value");
}

// Changed, dropped, repeated or swapped bytes of a real schema yield a schema or an Error.
FUZZ(schema_mutations) {
  test::Random random(budget.seed);
  const std::vector<std::string> seeds = all_schemas();
  const std::string alphabet = "()[]!?*,=->. '\"abzT09_:\n\t\xff";
  for (int64_t n = 0; !budget.over(); ++n) {
    std::string text = random.of(seeds);
    for (int64_t edit = random.in(1, 6); edit > 0 && !text.empty(); --edit) {
      const auto at = static_cast<size_t>(random.in(0, static_cast<int64_t>(text.size()) - 1));
      switch (random.in(0, 3)) {
        case 0:
          text[at] = alphabet[static_cast<size_t>(
              random.in(0, static_cast<int64_t>(alphabet.size()) - 1))];
          break;
        case 1: text.erase(at, static_cast<size_t>(random.in(1, 8))); break;
        case 2:
          text.insert(at,
                      text.substr(static_cast<size_t>(random.in(0, static_cast<int64_t>(at))), 8));
          break;
        default: text = text.substr(0, at) + random.of(seeds);
      }
    }
    try {
      const auto s = parse_schema(text);
      CHECK(!s->name().empty() && s->text == std::string(text.c_str()), text);
    } catch (const Error& error) {
      CHECK(std::string(error.what()).rfind("schema: expected", 0) == 0, error.what());
    }
  }
}

}  // namespace
}  // namespace uh
