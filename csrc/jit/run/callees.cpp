#include "jit/run/callees.h"

#include "base/error.h"
#include "jit/function.h"
#include "jit/text/print.h"

namespace uh::jit {
namespace {

const ClassType& class_of(const Node& node) {
  const Type& type = *node.input(0)->type();
  if (!type.is(TypeKind::kClass))
    fail(ErrorKind::kRuntime, "compile: ", print(node), " of a ", type.text());
  return static_cast<const ClassType&>(type);
}

}  // namespace

Ref<Function> callee_of(const Node& node) {
  for (const auto& [name, attribute] : node.input(0)->node()->attributes())
    if (attribute.object)
      return Ref<Function>::share(static_cast<Function*>(attribute.object.get()));
  fail(ErrorKind::kRuntime, "compile: callee is not a function: ", print(node));
}

Ref<Function> method_of(const Node& node) {
  const ClassType& type = class_of(node);
  const std::string name = node.text_attribute("name");
  Ref<Function> match = type.method(name);
  check(static_cast<bool>(match), "compile: ", type.name(), " has no method '", name, "'");
  return match;
}

size_t slot_of(const Node& node) {
  const ClassType& type = class_of(node);
  const std::string name = node.text_attribute("name");
  const int64_t slot = type.slot(name);
  check(slot >= 0, "compile: ", type.name(), " has no attribute '", name, "'");
  return static_cast<size_t>(slot);
}

}  // namespace uh::jit
