// Enum members: name, value and equality.
#include <algorithm>

#include "jit/builtins/register_builtin.h"
#include "jit/ir/type.h"

namespace uh::jit {
namespace {

const IValue& part(const IValue& member, size_t i) {
  if (!enum_of(member)) wrong_argument(member, "AnyEnumType");
  return member.object()->slots[i];
}

}  // namespace

void define_enums() {
  define("prim::EnumName(AnyEnumType e) -> str", boxed<[](const IValue& e) { return part(e, 0); }>);
  define("prim::EnumValue(AnyEnumType e) -> Any",
         boxed<[](const IValue& e) { return part(e, 1); }>);
  define("eq.enum(AnyEnumType a, AnyEnumType b) -> bool",
         boxed<[](const IValue& a, const IValue& b) { return equal(a, b); }>);
  define("__contains__.enum_list(AnyEnumType[] l, AnyEnumType item) -> bool",
         boxed<[](List& l, const IValue& item) {
           return std::any_of(l.items.begin(), l.items.end(),
                              [&](const IValue& each) { return equal(each, item); });
         }>);
  define("ne.enum(AnyEnumType a, AnyEnumType b) -> bool",
         boxed<[](const IValue& a, const IValue& b) { return !equal(a, b); }>);
}

}  // namespace uh::jit
