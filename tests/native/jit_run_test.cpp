// Execution of graphs: instructions, registers, calls, errors, specialised code, events.
#include <atomic>
#include <map>
#include <string>

#include "base/json.h"
#include "capi/underhood.h"
#include "check.h"
#include "jit/function.h"
#include "jit/run/executor.h"
#include "jit/run/interpreter.h"
#include "jit/run/interrupt.h"
#include "jit/text/parse.h"
#include "jit/text/print.h"
#include "recording.h"

namespace uh::test {
namespace {

using namespace uh::jit;

Ref<Function> function(const std::string& text, const char* name = "f") {
  return make_ref<Function>(name, parse(text));
}

Stack called(Function& f, Stack arguments) {
  f.call(arguments);
  return arguments;
}

std::string printed(const Stack& stack) {
  std::string all;
  for (const IValue& value : stack) all += (all.empty() ? "" : " ") + print(value);
  return all;
}

Tensor ones(const Dims& sizes, float value = 1.0f) {
  Tensor t = empty(sizes, DType::kFloat32);
  for (int64_t i = 0; i < t.numel(); ++i) t.data_as<float>()[i] = value;
  return t;
}
float first_of(const IValue& value) { return value.get_if<Tensor>()->data_as<float>()[0]; }

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

constexpr const char* kDivide = R"(graph(%a : int, %b : int):
  %q : int = aten::floordiv(%a, %b)
  %r : int = aten::remainder(%a, %b)
  return (%q, %r)
)";

TEST(jit_tensors_die_at_their_last_use) {
  // y is used in one branch only, x before it.
  const Ref<Function> f = function(R"(graph(%x : Tensor, %c : bool):
  %one : int = prim::Constant[value=1]()
  %y : Tensor = aten::add(%x, %x, %one)
  %z : Tensor = prim::If(%c)
    block0():
      %a : Tensor = aten::mul(%y, %y)
      -> (%a)
    block1():
      %b : Tensor = aten::mul(%x, %x)
      -> (%b)
  return (%z)
)");
  const Tensor x = ones({3}, 2.0f);
  for (int k = 0; k < 5; ++k) {
    CHECK_EQ(first_of(called(*f, {x, true})[0]), 16.0f);
    CHECK_EQ(first_of(called(*f, {x, false})[0]), 4.0f);
    CHECK_EQ(x.impl()->use_count(), 1);
  }
  const std::string code = f->executor().general_code().text();
  CHECK(code.find("DROPR") != std::string::npos, code);
  CHECK(code.find("MOVE") != std::string::npos, code);
}

TEST(jit_carried_values_change_places) {
  const char* text = R"(graph(%n : int, %a.0 : Tensor, %b.0 : Tensor):
  %true : bool = prim::Constant[value=1]()
  %one : int = prim::Constant[value=1]()
  %a : Tensor, %b : Tensor = prim::Loop(%n, %true, %a.0, %b.0)
    block0(%i : int, %a.1 : Tensor, %b.1 : Tensor):
      %sum : Tensor = aten::add(%a.1, %b.1, %one)
      -> (%true, %b.1, %sum)
  return (%a, %b)
)";
  const Ref<Function> f = function(text);
  const Stack got = called(*f, {int64_t{5}, ones({2}), ones({2})});
  CHECK_EQ(first_of(got[0]), 8.0f);
  CHECK_EQ(first_of(got[1]), 13.0f);
}

// Returns a function that calls itself; the callee is inserted as the front ends do.
Ref<Function> recursive() {
  GraphRef graph = parse(R"(graph(%n : int):
  %one : int = prim::Constant[value=1]()
  %zero : int = prim::Constant[value=0]()
  %more : bool = aten::gt(%n, %zero)
  %r : int = prim::If(%more)
    block0():
      %less : int = aten::sub(%n, %one)
      %f : Function = prim::Constant[name="f"]()
      %inner : int = prim::CallFunction(%f, %less)
      %sum : int = aten::add(%inner, %n)
      -> (%sum)
    block1():
      -> (%zero)
  return (%r)
)");
  return make_ref<Function>("f", graph);
}
void bind(Function& f, Ref<RefCounted> callee) {
  f.graph().each_node([&](Node* node) {
    if (!node->is("prim::Constant") || node->text_attribute("name").empty()) return;
    Attribute attribute = *node->attribute("name");
    attribute.object = callee;
    node->set_attribute("name", attribute);
  });
}

TEST(jit_calls_have_frames_and_a_limit) {
  const Ref<Function> inner = function(R"(graph(%a : int, %b : int):
  %q : int = aten::floordiv(%a, %b)
  return (%q)
)",
                                       "inner");
  const Ref<Function> outer = function(R"(graph(%n : int):
  %f : Function = prim::Constant[name="inner"]()
  %q : int = prim::CallFunction(%f, %n, %n)
  return (%q)
)",
                                       "outer");
  bind(*outer, Ref<RefCounted>::share(inner.get()));
  const CodeRef code = compile(outer->graph_ref(), "outer");
  Stack stack{int64_t{7}};
  run(*code, stack);
  CHECK_EQ(printed(stack), "1");
  stack = {int64_t{0}};
  std::string error_message;
  try {
    run(*code, stack);
  } catch (const Error& error) {
    error_message = error.what();
  }
  const size_t caller = error_message.find("In outer"), callee = error_message.find("In inner");
  CHECK(caller != std::string::npos && callee != std::string::npos && caller < callee,
        error_message);
  CHECK(stack.empty());
}

TEST(jit_functions_do_not_call_themselves) {
  const Ref<Function> f = recursive();
  bind(*f, Ref<RefCounted>::share(f.get()));
  CHECK_FAILS(called(*f, {int64_t{3}}), "recursive calls are not supported");
  bind(*f, nullptr);  // the graph holds the function, which holds the graph
}

TEST(jit_code_is_specialised_and_bails_out) {
  const Ref<Function> f = function(R"(graph(%x : Tensor, %y : Tensor):
  %one : int = prim::Constant[value=1]()
  %z : Tensor = aten::add(%x, %y, %one)
  %w : Tensor = aten::mul(%z, %y)
  return (%w)
)");
  Executor& executor = f->executor();
  const auto call = [&](const Dims& sizes, DType dtype) {
    Tensor t = empty(sizes, dtype);
    std::memset(static_cast<void*>(t.data()), 0, static_cast<size_t>(t.numel()) * 8 / 8);
    return called(*f, {t, t});
  };
  for (int k = 0; k < 5; ++k) call({2, 3}, DType::kFloat32);
  CHECK_EQ(executor.specialised_count(), size_t{1});
  // Another batch size does not fail the guards.
  const Stack batch{ones({7, 3}), ones({7, 3})};
  CHECK_EQ(executor.mismatch(executor.code_for(batch, false), batch.data()), "");
  const Stack flat{ones({3}), ones({3})};
  CHECK_EQ(executor.mismatch(executor.code_for(flat, false), flat.data()),
           "input x: Float(*, requires_grad=0, device=cpu), specialised for "
           "Float(*, *, requires_grad=0, device=cpu)");
  CHECK_EQ(first_of(called(*f, flat)[0]), 2.0f);
  for (int k = 0; k < 5; ++k) called(*f, flat);
  CHECK_EQ(executor.specialised_count(), size_t{2});
  // The number of specialisations is bounded.
  const Dims shapes[] = {{1}, {1, 1}, {1, 1, 1}, {1, 1, 1, 1}, {1, 1, 1, 1, 1}, {}};
  for (int k = 0; k < 4; ++k)
    for (const Dims& shape : shapes)
      for (const DType dtype : {DType::kFloat32, DType::kInt64}) call(shape, dtype);
  CHECK_EQ(executor.specialised_count(), Executor::kMaxSpecialisations);
}

TEST(jit_arguments_are_bound_as_in_pytorch) {
  const Ref<Function> f = function(R"(graph(%x : int, %y : float, %l : float[]):
  return (%y)
)");
  f->set_defaults({IValue(2.5), make_container<List>()});
  CHECK_EQ(f->schema_text(), "f(int x, float y=2.5, float[] l=[]) -> float");
  CHECK_EQ(printed(called(*f, {int64_t{1}})), "2.5");
  CHECK_EQ(printed(called(*f, {int64_t{1}, int64_t{3}})), "3.");
  CHECK_FAILS(called(*f, {}), "f() is missing value for argument 'x'. Declaration: f(int x");
  CHECK_FAILS(
      called(*f, {1.5}),
      "f() Expected a value of type 'int' for argument 'x' but instead found type 'float'.");
  CHECK_FAILS(called(*f, {int64_t{1}, 1.0, make_container<List>(), int64_t{2}}),
              "f() expected at most 3 argument(s) but received 4 argument(s)");
  Stack stack{int64_t{1}};
  CHECK_FAILS(f->bind(stack, 1, {{"q", IValue(1.0)}}), "Unknown keyword argument 'q'");
  stack = {int64_t{1}};
  CHECK_FAILS(f->bind(stack, 1, {{"x", IValue(int64_t{1})}}),
              "Argument 'x' specified both as positional and keyword argument");
  stack = {int64_t{1}};
  f->bind(stack, 1, {{"y", IValue(int64_t{4})}});
  CHECK_EQ(printed(stack), "1 4. []");
}

TEST(jit_long_loops_ask_whether_to_go_on) {
  static std::atomic<int> requested{0};
  g_interrupt = [] {
    if (++requested == 2) throw Error(ErrorKind::kForeign, "stop");
  };
  for (const bool scalar : {true, false}) {
    requested = 0;
    CompileOptions options;
    options.scalar_programs = scalar;
    const CodeRef code = compile(parse(kSum), "f", options);
    Stack stack{INT64_MAX};
    std::string error_message;
    try {
      run(*code, stack);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kForeign);
      error_message = error.what();
    }
    CHECK_EQ(error_message, "stop");
  }
  g_interrupt = nullptr;
}

TEST(jit_steps_are_recorded) {
  using Kind = events::Kind;
  const Ref<Function> f = function(R"(graph(%x : Tensor, %n : int):
  %true : bool = prim::Constant[value=1]()
  %y : Tensor = prim::Loop(%n, %true, %x)
    block0(%i : int, %y.1 : Tensor):
      %y.2 : Tensor = aten::mul(%y.1, %y.1)
      -> (%true, %y.2)
  return (%y)
)");
  const Tensor x = ones({2}, 3.0f), flat = ones({}, 3.0f);
  for (int k = 0; k < 3; ++k) called(*f, {x, int64_t{1}});
  std::map<int64_t, int64_t> counts;
  std::map<int64_t, int64_t> frames;  // steps recorded so far, by frame
  int64_t depth_wrong = 0, steps_recorded = -1;
  std::string reason, outputs;
  {
    Recording recording(1 << 12, 1 << 20, events::kOn, [&](const events::Record& r, auto blob) {
      ++counts[r.kind];
      const auto kind = static_cast<Kind>(r.kind);
      if (kind == Kind::kJIT_STEP) {
        ++frames[r.a];
        const Json step = Json::parse(blob);
        depth_wrong += static_cast<int64_t>(step.at("stack").as_array().size()) != r.d;
      }
      if (kind == Kind::kBAIL_OUT) reason = blob;
      if (kind == Kind::kJIT_FRAME_END) {
        steps_recorded = r.c - frames[r.a];
        outputs = blob;
      }
    });
    CHECK_EQ(first_of(called(*f, {flat, int64_t{2}})[0]), 81.0f);
    recording.finish();
  }
  const auto count = [&](Kind kind) { return counts[static_cast<int64_t>(kind)]; };
  CHECK_EQ(count(Kind::kJIT_FRAME), 1);
  CHECK_EQ(count(Kind::kJIT_FRAME_END), 1);
  CHECK_EQ(count(Kind::kGUARD), 1);
  CHECK_EQ(count(Kind::kBAIL_OUT), 1);
  CHECK_EQ(count(Kind::kCODE), 2);
  CHECK_EQ(steps_recorded, 0);
  CHECK_EQ(depth_wrong, 0);
  CHECK(reason.find("input x: Float(requires_grad=0, device=cpu), specialised for Float(*") == 0,
        reason);
  CHECK(outputs.find("{\"outputs\":[{\"tensor\":") == 0, outputs);
}

}  // namespace
}  // namespace uh::test
