// The references of compiled programs and their release: methods refer to their class, objects own
// the methods, nothing leaks, and the holders in a recording add up.
#include <array>
#include <map>
#include <mutex>
#include <string>
#include <tuple>

#include "check.h"
#include "jit/function.h"
#include "jit/run/executor.h"
#include "jit/text/parse.h"
#include "recording.h"

namespace uh::test {
namespace {

using namespace uh::jit;

Tensor ones(const Dims& sizes) {
  Tensor t = empty(sizes, DType::kFloat32);
  for (int64_t i = 0; i < t.numel(); ++i) t.data_as<float>()[i] = 1.0f;
  return t;
}

std::array<int64_t, 4> alive() {
  return {Function::alive(), Graph::alive(), class_count(), Code::alive()};
}

// Returns an object of a class with a parameter, a method, and a method that calls it.
IValue module(const Tensor& weight) {
  const Ref<ClassType> type = make_ref<ClassType>("__torch__.HoldsCell");
  const Ref<Methods> methods = type->methods();
  type->add_attribute({"w", tensor_type(), true, false});
  type->add_method("scale", make_ref<Function>("scale", parse(R"(
graph(%self : __torch__.HoldsCell, %x : Tensor):
  %w : Tensor = prim::GetAttr[name="w"](%self)
  %y : Tensor = aten::mul(%x, %w)
  return (%y)
)")));
  type->add_method("forward", make_ref<Function>("forward", parse(R"(
graph(%self : __torch__.HoldsCell, %x : Tensor):
  %y : Tensor = prim::CallMethod[name="scale"](%self, %x)
  %one : int = prim::Constant[value=1]()
  %z : Tensor = aten::add(%y, %y, %one)
  %l : Tensor[] = prim::ListConstruct(%z, %x)
  %n : int = prim::Constant[value=0]()
  %a : Tensor = aten::__getitem__(%l, %n)
  return (%a)
)")));
  IValue result = new_object(*type);
  result.object()->slots[0] = weight;
  result.object()->written();
  return result;
}

Tensor forward(const IValue& object, const Tensor& x) {
  const auto& type = static_cast<const ClassType&>(*object.object()->type);
  const Ref<Function> method = type.method("forward");
  Stack stack{object, x};
  method->call(stack);
  return *stack[0].get_if<Tensor>();
}

TEST(classes_methods_and_graphs_go_with_their_objects) {
  const auto before = alive();
  const Tensor weight = ones({3});
  for (int i = 0; i < 100; ++i) {
    const IValue object = module(weight);
    for (int k = 0; k < 4; ++k) CHECK_EQ(forward(object, ones({2, 3})).data_as<float>()[0], 2.0f);
    CHECK_EQ(class_count(), before[2] + 1);
  }
  CHECK(alive() == before, "something leaked");
  CHECK_EQ(weight.impl()->use_count(), 1);
}

TEST(a_class_without_objects_knows_no_method_any_more) {
  const Ref<ClassType> type = make_ref<ClassType>("__torch__.HoldsNothing");
  type->add_method("forward",
                   make_ref<Function>("forward", parse("graph(%x : Tensor):\n  return (%x)\n")));
  CHECK(!type->method("forward"), "the method had no owner");
  const Ref<Methods> methods = type->methods();
  type->add_method("forward",
                   make_ref<Function>("forward", parse("graph(%x : Tensor):\n  return (%x)\n")));
  CHECK(static_cast<bool>(type->method("forward")), "it was not kept");
}

// The holders of each tensor, according to a recording.
class Ledger {
 public:
  void process(const events::Record& r) {
    const auto kind = static_cast<events::Kind>(r.kind);
    const std::lock_guard guard(lock_);
    if (kind == events::Kind::kTENSOR_RETAIN || kind == events::Kind::kTENSOR_RELEASE) {
      const bool use = kind == events::Kind::kTENSOR_RETAIN;
      int& count = holders_[r.a][{r.b, r.c, r.e}];
      count += use ? 1 : -1;
      if (count < 0 || count > 1) wrong_ = message("tensor ", r.a, " is held ", count, " times");
      if (count == 0) holders_[r.a].erase({r.b, r.c, r.e});
      if (r.b >= static_cast<int64_t>(events::Holder::kRegister)) ++recorded_;
    }
    if (kind == events::Kind::kTENSOR_FREE) holders_.erase(r.a);
  }
  size_t holders(int64_t tensor) {
    const std::lock_guard guard(lock_);
    return holders_[tensor].size();
  }
  std::string wrong() { return wrong_; }
  int64_t recorded() { return recorded_; }

 private:
  std::mutex lock_;
  std::map<int64_t, std::map<std::tuple<int64_t, int64_t, int64_t>, int>> holders_;
  std::string wrong_;
  int64_t recorded_ = 0;
};

TEST(recorded_holders_are_all_released) {
  const auto before = alive();
  Ledger ledger;
  const Tensor weight = ones({3}), x = ones({2, 3});
  {
    Recording recording(1 << 16, 1 << 22, 4,
                        [&](const events::Record& r, std::string_view) { ledger.process(r); });
    Tensor retained;
    {
      const IValue object = module(weight);
      for (int k = 0; k < 4; ++k) retained = forward(object, x);
      const IValue list = make_container<List>(std::vector<IValue>{x, retained, x});
      list.list()->items.erase(list.list()->items.begin());
      list.list()->written();
      CHECK_EQ(x.impl()->use_count(), 2);  // recording takes no reference
      CHECK_EQ(weight.impl()->use_count(), 2);
    }
    recording.finish();
    CHECK_EQ(ledger.wrong(), "");
    CHECK(ledger.recorded() > 40, "few holders were recorded: ", ledger.recorded());
    for (const Tensor& t : {weight, x, retained}) CHECK_EQ(ledger.holders(t.id()), 0u);
  }
  CHECK(alive() == before, "something leaked");
}

}  // namespace
}  // namespace uh::test
