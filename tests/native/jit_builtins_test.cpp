// Builtins: what they print and reject, and that no arguments crash them.
// tests/engine/jit/test_builtins.py compares their values with Python's.
#include <locale>

#include "base/error.h"
#include "check.h"
#include "jit/builtins/builtin.h"
#include "jit/builtins/side_effects.h"
#include "jit/schema_matching/signature.h"
#include "jit/text/print.h"
#include "tensor/tensor.h"

namespace uh::test {
namespace {

using namespace uh::jit;

Stack called(const char* name, Stack stack) {
  const Builtin* builtin = find_builtin(name);
  CHECK(builtin != nullptr, "there is no ", name);
  builtin->call(stack, stack.size());
  return stack;
}

IValue ints(std::vector<int64_t> values) {
  return make_container<List>(std::vector<IValue>(values.begin(), values.end()));
}

std::string text(const IValue& value) { return print(value); }

TEST(lists_are_written_where_they_are_shared) {
  const IValue list = ints({3, 1});
  const IValue alias = list;
  const Stack result = called("aten::append.t", {list, IValue(int64_t{2})});
  CHECK(result.at(0).list() == list.list());
  CHECK_EQ(text(alias), "[3, 1, 2]");
  called("aten::sort.int", {list, IValue(false)});
  CHECK_EQ(text(alias), "[1, 2, 3]");
  called("aten::insert.t", {list, IValue(int64_t{-1}), IValue(int64_t{9})});
  CHECK_EQ(text(alias), "[1, 2, 9, 3]");
  called("aten::_set_item.t", {list, IValue(int64_t{-4}), IValue(int64_t{7})});
  called("aten::Delete.t", {list, IValue(int64_t{1})});
  called("aten::reverse.t", {list});
  CHECK_EQ(text(alias), "[3, 9, 7]");
  called("aten::extend.t", {list, list});
  CHECK_EQ(text(alias), "[3, 9, 7, 3, 9, 7]");
  called("aten::remove.int", {list, IValue(int64_t{9})});
  CHECK_EQ(text(alias), "[3, 7, 3, 9, 7]");
  CHECK_EQ(text(called("aten::copy.t", {list}).at(0)), "[3, 7, 3, 9, 7]");
  called("aten::clear.t", {list});
  CHECK_EQ(text(alias), "[]");
  CHECK_FAILS(called("aten::pop.t", {list, IValue(int64_t{-1})}), "pop from empty list");
}

TEST(dictionaries_are_written_where_they_are_shared) {
  const IValue dict = make_container<Dict>();
  const IValue alias = dict;
  const IValue a = std::string("a"), b = std::string("b");
  called("aten::_set_item.str", {dict, a, IValue(int64_t{1})});
  called("aten::_set_item.str", {dict, b, IValue(int64_t{2})});
  called("aten::_set_item.str", {dict, a, IValue(int64_t{3})});
  CHECK_EQ(text(alias), "{\"a\": 3, \"b\": 2}");
  CHECK_EQ(text(called("aten::setdefault.str", {dict, b, IValue(int64_t{5})}).at(0)), "2");
  CHECK_EQ(text(called("aten::pop.Dict_str", {dict, a}).at(0)), "3");
  called("aten::update.str", {dict, dict});
  CHECK_EQ(text(alias), "{\"b\": 2}");
  CHECK_FAILS(called("aten::Delete.Dict_str", {dict, a}), "KeyError: 'a'");
  CHECK_FAILS(called("aten::__getitem__.Dict_str", {dict, a}), "KeyError: 'a'");
}

TEST(plain_arrays_of_operators_are_lists) {
  const Tensor t = empty(Dims{2, 3}, DType::kFloat32);
  CHECK_EQ(text(called("aten::size", {IValue(t)}).at(0)), "[2, 3]");
  CHECK_EQ(text(called("aten::len.t", {IValue(Dims{4, 5, 6})}).at(0)), "3");
  CHECK(with_lists(IValue(Dims{1})).list() != nullptr);
  CHECK(with_lists(IValue(std::vector<Tensor>{t})).list() != nullptr);
  CHECK(with_lists(make_container<Tuple>(std::vector<IValue>{})).tuple() != nullptr);
}

TEST(tensors_are_made_of_nested_lists) {
  const auto of = [](IValue data) {
    return called("aten::tensor", {std::move(data), IValue(), IValue(), IValue(false)}).at(0);
  };
  const IValue rows = make_container<List>(std::vector<IValue>{ints({1, 2, 3}), ints({4, 5, 6})});
  const Tensor t = *of(rows).get_if<Tensor>();
  CHECK(t.dtype() == DType::kInt64 && t.ndim() == 2 && t.size(1) == 3);
  CHECK_EQ(t.data_as<int64_t>()[5], 6);
  const IValue ragged = make_container<List>(std::vector<IValue>{ints({1, 2}), ints({3})});
  CHECK_FAILS(of(ragged), "expected sequence of length 2 at dim 1 (got 1)");
  CHECK_EQ(of(ints({})).get_if<Tensor>()->numel(), 0);
}

std::string& printed() {
  static std::string all;
  return all;
}

TEST(print_goes_to_its_handler) {
  set_print_handler([](const char* part, size_t size) { printed().append(part, size); });
  called("prim::Print", {IValue(int64_t{1}), IValue(2.0), IValue(std::string("x")), IValue()});
  set_print_handler(nullptr);
  CHECK_EQ(printed(), "1 2.0 x None\n");
  CHECK(find_builtin("prim::Print")->has_tag(Tag::kHasSideEffects) &&
        !find_builtin("prim::Print")->is_pure());
  CHECK(!find_builtin("aten::append.t")->is_pure() && find_builtin("aten::add.int")->is_pure());
}

TEST(a_variadic_builtin_takes_what_it_is_told) {
  Stack stack{IValue(int64_t{7}), IValue(std::string("{}-{}")), IValue(int64_t{1}), IValue(2.5)};
  find_builtin("aten::format")->call(stack, 3);
  CHECK_EQ(stack.size(), 2u);
  CHECK_EQ(text(stack[1]), "\"1-2.5\"");
}

TEST(raising_names_the_class) {
  const auto raise = [](IValue kind) {
    called("prim::RaiseException", {IValue(std::string("no")), std::move(kind)});
  };
  CHECK_FAILS(raise(IValue()), "no");
  CHECK_FAILS(raise(IValue(std::string("builtins.KeyError"))), "KeyError: no");
  try {
    raise(IValue(std::string("ValueError")));
    CHECK(false);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kValue);
  }
}

// Returns a small value of any kind: large sizes and counts are not the point.
IValue any_value(Random& random, int depth = 0) {
  static const std::vector<std::string> strings = {"", "a", "{}", "{:.3f} %d", "cpu", "\xc3\xa9 x"};
  switch (random.in(0, depth > 2 ? 6 : 11)) {
    case 0: return IValue();
    case 1: return random.in(-3, 9);
    case 2: return random.of(std::vector<int64_t>{INT64_MIN, INT64_MAX, -1, 0, 64});
    case 3: return random.of(std::vector<double>{0.0, -1.5, 1e300, 0.5, 1.0 / 0.0});
    case 4: return random.one_in(2);
    case 5: return random.of(strings);
    case 6: return Scalar(Complex128(1.0, -2.0));
    case 7: return empty(Dims{}, DType::kFloat32);
    case 8: return Dims{1, 2};
    case 9: {
      IValue dict = make_container<Dict>();
      dict.dict()->put(random.of(strings), any_value(random, depth + 1));
      return dict;
    }
    default: {
      std::vector<IValue> items;
      for (int64_t n = random.in(0, 3); n > 0; --n) items.push_back(any_value(random, depth + 1));
      if (random.one_in(2)) return make_container<Tuple>(std::move(items));
      return make_container<List>(std::move(items));
    }
  }
}

// Returns a value of the parameter's type, most of the time.
IValue value_for(Random& random, const Type& type) {
  if (random.one_in(8)) return any_value(random);
  switch (type.kind()) {
    case TypeKind::kInt: return random.in(-3, 9);
    case TypeKind::kFloat: return static_cast<double>(random.in(-5, 5)) / 2;
    case TypeKind::kBool: return random.one_in(2);
    case TypeKind::kString: return random.of(std::vector<std::string>{"", "ab", "1", "\xc3\xa9"});
    case TypeKind::kTensor: return empty(Dims{random.in(0, 2)}, DType::kInt64);
    case TypeKind::kOptional:
      return random.one_in(2) ? IValue() : value_for(random, *type.element());
    case TypeKind::kList: {
      std::vector<IValue> items;
      for (int64_t n = random.in(0, 3); n > 0; --n)
        items.push_back(value_for(random, *type.element()));
      return make_container<List>(std::move(items));
    }
    default: return any_value(random);
  }
}

struct Commas : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

TEST(numbers_are_written_alike_in_every_locale) {
  const std::locale before =
      std::locale::global(std::locale(std::locale::classic(), new Commas));  // the locale owns it
  const std::string joined_text = message(1234567, " ", 0.5);
  const std::string printed = text(make_container<List>(std::vector<IValue>{0.5, 1234567.25}));
  const Stack formatted =
      called("aten::format", {IValue(std::string("{} {:.2f} {}")), 0.5, 1234.5, int64_t{1234567}});
  const Stack read = called("aten::Float.str", {IValue(std::string("1234.5"))});
  std::locale::global(before);
  CHECK_EQ(joined_text, "1234567 0.5");
  CHECK_EQ(printed, "[0.5, 1234567.25]");
  CHECK_EQ(text(formatted.at(0)), "\"0.5 1234.50 1234567\"");
  CHECK_EQ(text(read.at(0)), "1234.5");
}

// For any arguments a builtin returns or throws an Error, and leaves the stack as its schema says.
FUZZ(builtins_with_any_arguments) {
  Random random(budget.seed);
  set_print_handler([](const char*, size_t) {});
  set_warn_handler([](const char*, size_t) {});
  const auto& all = all_builtins();
  while (!budget.over()) {
    const Builtin& builtin = *random.of(all);
    const std::string name(builtin.schema().name());
    if (name == "rangelist" || name == "set_grad_enabled" || name == "set_inference_mode")
      continue;  // may allocate too much, or switch a mode on
    const Signature& signature = signature_of(builtin);
    Stack stack;
    for (const Parameter& p : signature.parameters) stack.push_back(value_for(random, *p.type));
    for (int64_t n = signature.variadic ? random.in(0, 3) : 0; n > 0; --n)
      stack.push_back(any_value(random));
    try {
      builtin.call(stack, stack.size());
      CHECK_EQ(stack.size(), signature.results.size());
    } catch (const Error& error) {
      CHECK(error.kind() != ErrorKind::kInternal, name, ": ", error.what());
    }
  }
  set_print_handler(nullptr);
  set_warn_handler(nullptr);
}

}  // namespace
}  // namespace uh::test
