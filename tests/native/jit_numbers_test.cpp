// Tests of scalar programs, and a fuzz test for one on which the interpreter, the slot machine and
// the machine code disagree.
#include <map>
#include <string>

#include "check.h"
#include "jit/run/code.h"
#include "jit/run/interpreter.h"
#include "jit/scalar/program.h"
#include "jit/text/parse.h"
#include "jit/text/print.h"

namespace uh::test {
namespace {

using namespace uh::jit;

std::string printed(const Stack& stack) {
  std::string all;
  for (const IValue& value : stack) all += (all.empty() ? "" : " ") + print(value);
  return all;
}

// Runs a graph of numbers in every way; returns the result or error, which must be the same in all.
std::string every_way(const GraphRef& graph, const Stack& arguments) {
  std::string all[3];
  for (int way = 0; way < 3; ++way) {
    CompileOptions options;
    options.scalar_programs = way > 0;
    set_native_programs(way == 2);
    const CodeRef code = compile(graph, "f", options);
    set_native_programs(true);
    CHECK_EQ(code->has_scalar_programs(), way > 0);
    Stack stack = arguments;
    try {
      run(*code, stack);
      all[way] = printed(stack);
    } catch (const Error& error) {
      all[way] = error.what();
    }
  }
  CHECK(all[0] == all[1] && all[1] == all[2], "interpreted: ", all[0], "; portable: ", all[1],
        "; native: ", all[2], "; of ", print(*graph));
  return all[0];
}
std::string every_way(const std::string& text, const Stack& arguments) {
  return every_way(parse(text), arguments);
}

constexpr const char* kSum = R"(graph(%n : int):
  %zero : float = prim::Constant[value=0.]()
  %half : float = prim::Constant[value=0.5]()
  %true : bool = prim::Constant[value=1]()
  %s : float = prim::Loop(%n, %true, %zero)
    block0(%i : int, %s.1 : float):
      %m : float = aten::mul(%i, %half)
      %s.2 : float = aten::add(%s.1, %m)
      -> (%true, %s.2)
  return (%s)
)";

// In Python: while m != 1: m = m // 2 if m % 2 == 0 else 3 * m + 1; steps += 1
constexpr const char* kCollatz = R"(graph(%m.0 : int):
  %most : int = prim::Constant[value=9223372036854775807]()
  %zero : int = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %two : int = prim::Constant[value=2]()
  %three : int = prim::Constant[value=3]()
  %go : bool = aten::ne(%m.0, %one)
  %m : int, %steps : int = prim::Loop(%most, %go, %m.0, %zero)
    block0(%i : int, %m.1 : int, %steps.1 : int):
      %rest : int = aten::remainder(%m.1, %two)
      %even : bool = aten::eq(%rest, %zero)
      %m.2 : int = prim::If(%even)
        block0():
          %half : int = aten::floordiv(%m.1, %two)
          -> (%half)
        block1():
          %more : int = aten::mul(%m.1, %three)
          %odd : int = aten::add(%more, %one)
          -> (%odd)
      %steps.2 : int = aten::add(%steps.1, %one)
      %again : bool = aten::ne(%m.2, %one)
      -> (%again, %m.2, %steps.2)
  return (%m, %steps)
)";

constexpr const char* kDivide = R"(graph(%a : int, %b : int):
  %q : int = aten::floordiv(%a, %b)
  %r : int = aten::remainder(%a, %b)
  return (%q, %r)
)";

TEST(jit_loops_and_branches) {
  CHECK_EQ(every_way(kSum, {int64_t{10}}), "22.5");
  CHECK_EQ(every_way(kSum, {int64_t{0}}), "0.");
  CHECK_EQ(every_way(kSum, {int64_t{-3}}), "0.");
  CHECK_EQ(every_way(kCollatz, {int64_t{27}}), "1 111");
  CHECK_EQ(every_way(kCollatz, {int64_t{1}}), "1 0");
  // Floor division: beyond 32 bits, negative, and the one that overflows.
  const int64_t min_value = INT64_MIN;
  for (const int64_t a :
       {int64_t{7}, int64_t{-7}, int64_t{1} << 40, -(int64_t{1} << 40) - 1, min_value})
    for (const int64_t b : {int64_t{2}, int64_t{-2}, int64_t{3}, int64_t{-1}, int64_t{5} << 33})
      every_way(kDivide, {a, b});
  CHECK_EQ(every_way(kDivide, {int64_t{-7}, int64_t{2}}), "-4 1");
  CHECK_EQ(every_way(kDivide, {min_value, int64_t{-1}}), "-9223372036854775808 0");
}

TEST(jit_division_by_zero_says_where) {
  const std::string error_message = every_way(kDivide, {int64_t{1}, int64_t{0}});
  CHECK(
      error_message.find("Traceback of TorchScript (most recent call last):") != std::string::npos,
      error_message);
  CHECK(error_message.find("aten::floordiv(%a, %b)") != std::string::npos, error_message);
  CHECK(error_message.find("ZeroDivisionError: integer division or modulo by zero") !=
            std::string::npos,
        error_message);
}

TEST(jit_numbers_change_places) {
  CHECK_EQ(every_way(R"(graph(%n : int):
  %true : bool = prim::Constant[value=1]()
  %zero : int = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %a : int, %b : int = prim::Loop(%n, %true, %zero, %one)
    block0(%i : int, %a.1 : int, %b.1 : int):
      %sum : int = aten::add(%a.1, %b.1)
      -> (%true, %b.1, %sum)
  return (%a, %b)
)",
                     {int64_t{50}}),
           "12586269025 20365011074");
}

// The condition of the iteration after the last is still evaluated, with the last one's values.
TEST(jit_conditions_fail_also_behind_the_last_trip) {
  const char* text = R"(graph(%n : int, %a.0 : int):
  %true : bool = prim::Constant[value=1]()
  %one : int = prim::Constant[value=1]()
  %a : int = prim::Loop(%n, %true, %a.0)
    block0(%i : int, %a.1 : int):
      %a.2 : int = aten::sub(%a.1, %one)
      %more : bool = prim::If(%true)
        block0():
          %inner : bool = prim::If(%true)
            block0():
              %q : int = aten::floordiv(%one, %a.1)
              %low : bool = aten::le(%q, %a.2)
              -> (%low)
            block1():
              -> (%true)
          %other : bool = aten::__not__(%inner)
          %either : bool = aten::__or__(%other, %true)
          -> (%either)
        block1():
          -> (%true)
      -> (%more, %a.2)
  return (%a)
)";
  CHECK_EQ(every_way(text, {int64_t{3}, int64_t{5}}), "2");
  CHECK(every_way(text, {int64_t{1}, int64_t{0}}).find("ZeroDivisionError") != std::string::npos);
  CHECK(every_way(text, {int64_t{3}, int64_t{2}}).find("ZeroDivisionError") != std::string::npos);
}

TEST(jit_raise_is_an_error_of_the_script) {
  const char* text = R"(graph(%n : int):
  %true : bool = prim::Constant[value=1]()
  %zero : int = prim::Constant[value=0]()
  %five : int = prim::Constant[value=5]()
  %words : str = prim::Constant[value="too much"]()
  %kind : str = prim::Constant[value="builtins.ValueError"]()
  %s : int = prim::Loop(%n, %true, %zero)
    block0(%i : int, %s.1 : int):
      %much : bool = aten::gt(%i, %five)
       = prim::If(%much)
        block0():
           = prim::RaiseException(%words, %kind)
          -> ()
        block1():
          -> ()
      %s.2 : int = aten::add(%s.1, %i)
      -> (%true, %s.2)
  return (%s)
)";
  CHECK_EQ(every_way(text, {int64_t{4}}), "6");
  CHECK(every_way(text, {int64_t{9}}).find("builtins.ValueError: too much") != std::string::npos);
  Stack stack{int64_t{9}};
  try {
    run(*compile(parse(text), "f"), stack);
    CHECK(false, "nothing was raised");
  } catch (const Error& error) {
    CHECK(error.kind() == kScriptError, error.what());
  }
}

// ---- fuzzing: random scalar programs, run in every way
class Program {
 public:
  explicit Program(Random& random) : random_(random) {}

  std::string text() {
    out_ = "graph(%a : int, %b : int, %x : float, %y : float):\n";
    for (const char* n : {"-3", "-1", "0", "1", "2", "3", "7", "64", "4294967296"})
      line("int", fresh(), std::string("prim::Constant[value=") + n + "]()");
    for (const char* n : {"0.", "0.5", "-2.25", "1e300"})
      line("float", fresh(), std::string("prim::Constant[value=") + n + "]()");
    line("bool", fresh(), "prim::Constant[value=1]()");
    known_["int"].insert(known_["int"].end(), {"%a", "%b"});
    known_["float"].insert(known_["float"].end(), {"%x", "%y"});
    statements(random_.in(2, 8), 3);
    out_ += "  return (" + any("int") + ", " + any("float") + ", " + any("bool") + ")\n";
    return out_;
  }

 private:
  std::string fresh() { return "%v" + std::to_string(next_++); }
  const std::string& any(const std::string& type) { return random_.of(known_[type]); }
  void line(const std::string& type, const std::string& name, const std::string& expr) {
    out_ += indent_ + name + " : " + type + " = " + expr + "\n";
    known_[type].push_back(name);
  }
  std::string number() { return any(random_.one_in(2) ? "int" : "float"); }

  void statements(int64_t n, int depth) {
    for (int64_t k = 0; k < n; ++k) {
      const int64_t choice = random_.in(0, depth > 0 ? 11 : 8);
      if (choice <= 2) {
        line("int", fresh(), random_.of(integer_ops_) + "(" + any("int") + ", " + any("int") + ")");
      } else if (choice <= 4) {
        std::string a = any("float"), b = number();
        if (random_.one_in(2)) std::swap(a, b);
        line("float", fresh(), random_.of(float_ops_) + "(" + a + ", " + b + ")");
      } else if (choice == 5) {
        line("bool", fresh(), random_.of(compare_) + "(" + number() + ", " + number() + ")");
      } else if (choice == 6) {
        line("float", fresh(), random_.of(functions_) + "(" + number() + ")");
      } else if (choice == 7) {
        line("int", fresh(), random_.of(to_whole_) + "(" + any("float") + ")");
      } else if (choice == 8) {
        line("bool", fresh(), "aten::__not__(" + any("bool") + ")");
      } else if (choice <= 10) {
        branch(depth);
      } else {
        loop(depth);
      }
    }
  }
  void block(const std::string& head, const std::vector<std::string>& types, int depth,
             const std::string& first) {
    const auto known = known_;
    const std::string indent = indent_;
    out_ += indent_ + "  " + head + "\n";
    indent_ += "    ";
    statements(random_.in(0, 4), depth - 1);
    std::string results = first.empty() ? "" : any(first);
    for (const std::string& type : types) results += (results.empty() ? "" : ", ") + any(type);
    out_ += indent_ + "-> (" + results + ")\n";
    indent_ = indent;
    known_ = known;
  }
  std::vector<std::string> some_types() {
    std::vector<std::string> types;
    for (int64_t k = random_.in(1, 3); k > 0; --k)
      types.push_back(random_.of<std::string>({"int", "float", "bool"}));
    return types;
  }
  std::string declared(const std::vector<std::string>& names,
                       const std::vector<std::string>& types) {
    std::string all;
    for (size_t i = 0; i < names.size(); ++i) all += (i ? ", " : "") + names[i] + " : " + types[i];
    return all;
  }
  void branch(int depth) {
    const auto types = some_types();
    std::vector<std::string> names;
    for (size_t i = 0; i < types.size(); ++i) names.push_back(fresh());
    out_ += indent_ + declared(names, types) + " = prim::If(" + any("bool") + ")\n";
    block("block0():", types, depth, "");
    block("block1():", types, depth, "");
    for (size_t i = 0; i < types.size(); ++i) known_[types[i]].push_back(names[i]);
  }
  // At most a few iterations, even if the condition stays true.
  void loop(int depth) {
    const auto types = some_types();
    std::vector<std::string> names, params, inputs;
    const std::string limit = fresh(), index = fresh();
    line("int", limit, "prim::Constant[value=" + std::to_string(random_.in(0, 5)) + "]()");
    for (size_t i = 0; i < types.size(); ++i) {
      names.push_back(fresh());
      params.push_back(fresh());
      inputs.push_back(any(types[i]));
    }
    std::string argument;
    for (const std::string& input : inputs) argument += ", " + input;
    out_ += indent_ + declared(names, types) + " = prim::Loop(" + limit + ", " + any("bool") +
            argument + ")\n";
    const auto known = known_;
    known_["int"].push_back(index);
    for (size_t i = 0; i < types.size(); ++i) known_[types[i]].push_back(params[i]);
    block("block0(" + index + " : int, " + declared(params, types) + "):", types, depth, "bool");
    known_ = known;
    for (size_t i = 0; i < types.size(); ++i) known_[types[i]].push_back(names[i]);
  }

  Random& random_;
  std::string out_, indent_ = "  ";
  int next_ = 0;
  std::map<std::string, std::vector<std::string>> known_;
  const std::vector<std::string> integer_ops_ = {
      "aten::add",        "aten::sub",        "aten::mul",    "aten::floordiv",
      "aten::remainder",  "aten::__and__",    "aten::__or__", "aten::__xor__",
      "aten::__lshift__", "aten::__rshift__", "prim::min",    "prim::max"};
  const std::vector<std::string> float_ops_ = {
      "aten::add",       "aten::sub", "aten::mul", "aten::div", "aten::floordiv",
      "aten::remainder", "prim::min", "prim::max", "aten::pow", "aten::atan2"};
  const std::vector<std::string> compare_ = {"aten::eq", "aten::ne", "aten::lt",
                                             "aten::le", "aten::gt", "aten::ge"};
  const std::vector<std::string> functions_ = {"aten::sqrt",  "aten::exp",  "aten::sin",
                                               "aten::Float", "aten::tanh", "aten::log",
                                               "aten::fabs"};
  const std::vector<std::string> to_whole_ = {"aten::Int", "aten::floor", "aten::ceil"};
};

FUZZ(jit_numbers_every_way) {
  Random random(budget.seed);
  const std::vector<int64_t> wholes = {0, 1, -1, 2, 5, -7, 63, 100, int64_t{1} << 33, INT64_MIN};
  const std::vector<double> reals = {0.0, -0.0, 1.5, -3.75, 1e18, -1e19, 1.0 / 0.0, 0.0 / 0.0};
  while (!budget.over()) {
    const GraphRef graph = parse(Program(random).text());
    for (int k = 0; k < 3; ++k)
      every_way(graph, {random.of(wholes), random.of(wholes), random.of(reals), random.of(reals)});
  }
}

}  // namespace
}  // namespace uh::test
