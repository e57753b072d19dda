// Lists that the graph both constructs and reads, known Nones, casts that do not change the type.
#include "jit/builtins/builtin.h"
#include "jit/peephole/rules.h"

namespace uh::jit {
namespace {

bool list_length(Peephole& p, Node* node) {
  const std::vector<Value*>* items = p.items(node->input(0));
  if (!items) return false;
  return p.constant(node, static_cast<int64_t>(items->size()), "len([a, b]) -> 2",
                    {node->input(0)->node()}, "the list is never written");
}

bool item(Peephole& p, Node* node) {
  const std::vector<Value*>* items = p.items(node->input(0));
  const std::optional<int64_t> i = constant_int(node->input(1));
  if (!items || !i) return false;
  const int64_t n = static_cast<int64_t>(items->size());
  if (*i < -n || *i >= n) return false;
  return p.same_object(node, (*items)[static_cast<size_t>(*i < 0 ? *i + n : *i)], "[a, b][0] -> a",
                       {node->input(0)->node()}, "the list is never written");
}

bool unpacked(Peephole& p, Node* node) {
  const std::vector<Value*>* items = p.items(node->input(0));
  return items && items->size() == node->outputs().size() &&
         p.same_parts(node, *items, "a, b = [x, y] -> x, y", {node->input(0)->node()},
                      "the list is never written");
}

bool may_be_none(const Type& type) { return is_subtype(*make_type(TypeKind::kNone), type); }

// Folds `x is None` if the type of x decides it.
bool is_none(Peephole& p, Node* node) {
  const Type &a = *node->input(0)->type(), &b = *node->input(1)->type();
  const bool is = node->is("aten::__is__");
  if (a.is(TypeKind::kNone) && b.is(TypeKind::kNone))
    return p.constant(node, is, is ? "None is None -> True" : "None is not None -> False");
  const bool never =
      (a.is(TypeKind::kNone) && !may_be_none(b)) || (b.is(TypeKind::kNone) && !may_be_none(a));
  return never && p.constant(node, !is, is ? "x is None -> False" : "x is not None -> True", {},
                             "its type has no None");
}

bool cast_to_its_type(Peephole& p, Node* node) {
  return is_subtype(*node->input(0)->type(), *unshaped(node->output()->type())) &&
         p.same_object(node, node->input(0), "unchecked_cast(x) -> x", {},
                       "it has this type already");
}

}  // namespace

const PeepholeRules& container_rules() {
  static const auto* rules = new PeepholeRules{
      {{"aten::len"}, list_length},
      {{"aten::__getitem__", "aten::select"}, item},
      {{"prim::ListUnpack"}, unpacked},
      {{"aten::__is__", "aten::__isnot__"}, is_none},
      {{"prim::unchecked_cast"}, cast_to_its_type},
  };
  return *rules;
}

}  // namespace uh::jit
