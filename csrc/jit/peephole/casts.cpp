// Casts: to the tensor's own dtype, and lossless round trips.
#include "jit/peephole/rules.h"

namespace uh::jit {
namespace {

std::optional<DType> constant_dtype(const Value* value) {
  const IValue* constant = value ? value->constant() : nullptr;
  if (!constant) return std::nullopt;
  if (constant->is_none()) return DType::kUndefined;
  if (const auto* dtype = constant->get_if<DType>()) return *dtype;
  const auto* code = constant->get_if<int64_t>();
  return code ? std::optional<DType>(dtype_of_pytorch_code(*code)) : std::nullopt;
}

// The effect of a to() with constant arguments: it keeps device and order, and may return x itself.
struct Cast {
  DType dtype = DType::kUndefined;  // kUndefined: that of x
};

std::optional<Cast> cast_of(const Node* node, bool ignore_copy) {
  if (!node->is("aten::to") || !node->input("copy")) return std::nullopt;
  if (!ignore_copy && constant_bool(node->input("copy")) != false) return std::nullopt;
  if (node->input("memory_format") && !is_constant_none(node->input("memory_format")))
    return std::nullopt;
  if (const Value* device = node->input("device"); device && !is_constant_none(device)) {
    const IValue* constant = device->constant();
    const auto* expected = constant ? constant->get_if<Device>() : nullptr;
    const TensorProperties* facts = facts_of(node->input(0));
    if (!expected || !facts || facts->device != *expected) return std::nullopt;
  }
  if (const Value* other = node->input("other")) {
    const TensorProperties *from = facts_of(node->input(0)), *to = facts_of(other);
    if (!from || !to || from->device != to->device || from->device == Device::kUndefined ||
        to->dtype == DType::kUndefined)
      return std::nullopt;
    return Cast{to->dtype};
  }
  const std::optional<DType> dtype = constant_dtype(node->input("dtype"));
  return dtype ? std::optional<Cast>(Cast{*dtype}) : std::nullopt;
}

bool cast_to_its_dtype(Peephole& p, Node* node) {
  const std::optional<Cast> cast = cast_of(node, false);
  if (!cast) return false;
  Value* x = node->input(0);
  const bool same = cast->dtype == DType::kUndefined || cast->dtype == known_dtype(x);
  return same && p.same_object(node, x, "x.to(dtype) -> x", {}, "x has this dtype already");
}

bool cast_like_its_like(Peephole& p, Node* node) {
  const TensorProperties *x = facts_of(node->input(0)), *other = facts_of(node->input(1));
  return x && other && x->dtype != DType::kUndefined && x->device != Device::kUndefined &&
         x->dtype == other->dtype && x->device == other->device &&
         p.same_object(node, node->input(0), "x.type_as(y) -> x", {}, "x has the dtype of y");
}

bool cast_to_its_device(Peephole& p, Node* node) {
  const TensorProperties* facts = facts_of(node->input(0));
  return facts && facts->device == Device::kCPU &&
         p.same_object(node, node->input(0), "x.cpu() -> x", {}, "x is on the cpu");
}

int precision(DType dtype) {  // bits of integers that it represents exactly, without the sign
  switch (dtype) {
    case DType::kBool: return 1;
    case DType::kInt8: return 7;
    case DType::kUInt8:
    case DType::kBFloat16: return 8;
    case DType::kFloat16: return 11;
    case DType::kInt16: return 15;
    case DType::kFloat32: return 24;
    case DType::kInt32: return 31;
    case DType::kFloat64: return 53;
    case DType::kInt64: return 63;
    default: return 0;
  }
}

// True if every value of `from` is representable in `to`.
bool is_exact(DType from, DType to) {
  if (from == DType::kUndefined || to == DType::kUndefined || is_complex(from) || is_complex(to))
    return false;
  if (from == to) return true;
  if (is_floating(from))
    return to == DType::kFloat64 || (to == DType::kFloat32 && from != DType::kFloat64);
  if (to == DType::kBool || to == DType::kUInt8) return from == DType::kBool;
  return precision(from) <= precision(to);
}

bool cast_twice(Peephole& p, Node* node) {
  Node* inner = node->input(0)->node();
  const std::optional<Cast> last = cast_of(node, true), first = cast_of(inner, true);
  if (!last || !first || last->dtype == DType::kUndefined || first->dtype == DType::kUndefined)
    return false;
  if (node->input("other") || inner->input("other")) return false;
  Value* x = inner->input(0);
  const DType from = known_dtype(x);
  if (!is_exact(from, first->dtype)) return false;
  if (last->dtype == from) {
    return constant_bool(node->input("copy")) == false && is_dense(x) &&
           p.same(node, x, "x.to(wider).to(dtype) -> x", {inner}, "the wider dtype loses nothing");
  }
  // A float out of an integer's range has an undefined result, for either dtype.
  if (is_integral(last->dtype) && is_floating(first->dtype)) return false;
  if (p.alias().has_writers(x) || p.alias().has_writers(inner->output())) return false;
  return p.reach_through(node, 0, x, "x.to(wider).to(dtype) -> x.to(dtype)", {inner},
                         "the wider dtype loses nothing");
}

}  // namespace

const PeepholeRules& cast_rules() {
  static const auto* rules = new PeepholeRules{
      {{"aten::to"}, cast_to_its_dtype},
      {{"aten::to"}, cast_twice},
      {{"aten::type_as"}, cast_like_its_like},
      {{"aten::cpu"}, cast_to_its_device},
  };
  return *rules;
}

}  // namespace uh::jit
