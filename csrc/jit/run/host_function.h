// HostFunction: a function of the host language that compiled code calls (prim::PythonOp).
//
// The node's attribute `name` is its name, and holds it as an object. Arguments are boxed; the
// result is checked against the declared type. Invariant: its effects are unknown: passes never
// move, merge, remove or pre-evaluate it.
#pragma once

#include <functional>
#include <string>

#include "dispatch/operator.h"
#include "jit/ir/type.h"

namespace uh::jit {

class HostFunction final : public RefCounted {
 public:
  using Call = std::function<IValue(const Stack& arguments)>;
  HostFunction(std::string name, TypeRef returns, Call call)
      : op_(*this), name_(std::move(name)), returns_(std::move(returns)), call_(std::move(call)) {}

  const std::string& name() const { return name_; }
  // Called by the interpreter with a stack that has only the arguments.
  OperatorInfo& op() { return op_; }

 private:
  class Op final : public OperatorInfo {
   public:
    explicit Op(HostFunction& owner) : OperatorInfo(any_schema()), owner_(owner) {
      set_name_space("prim");
    }
    void call_boxed(Stack& stack) override { owner_.run(stack); }

   private:
    static const FunctionSchema& any_schema() {
      static const auto schema = parse_schema("PythonOp(...) -> Any");
      return *schema;
    }
    HostFunction& owner_;
  };

  void run(Stack& stack) const {
    IValue result = call_(stack);
    check_kind(is_instance(result, *returns_), ErrorKind::kType, name_,
               "() was declared to return ", returns_->annotation(), " and returned ",
               type_of(result)->annotation());
    stack.clear();
    stack.push_back(std::move(result));
  }

  Op op_;
  const std::string name_;
  const TypeRef returns_;
  const Call call_;
};

}  // namespace uh::jit
