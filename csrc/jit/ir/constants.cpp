#include "jit/ir/constants.h"

#include <bit>
#include <string>

namespace uh::jit {
namespace {

// Compares items of lists or tuples, in either storage form; false if a value is neither.
bool same_items(const std::vector<IValue>& a, const std::vector<IValue>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (!same_constant(a[i], b[i])) return false;
  return true;
}

uint64_t bits(double d) { return std::bit_cast<uint64_t>(d); }

bool same_scalar(const Scalar& a, const Scalar& b) {
  if (a.kind() != b.kind()) return false;
  if (a.is_complex())
    return bits(a.to_complex().re) == bits(b.to_complex().re) &&
           bits(a.to_complex().im) == bits(b.to_complex().im);
  return a.is_float() ? bits(a.to_double()) == bits(b.to_double()) : a.to_int() == b.to_int();
}

template <class T>
std::optional<T> constant_of(const Value* value) {
  const IValue* constant = value ? value->constant() : nullptr;
  const T* exact = constant ? constant->get_if<T>() : nullptr;
  return exact ? std::optional<T>(*exact) : std::nullopt;
}

}  // namespace

bool same_constant(const IValue& a, const IValue& b) {
  if (a.variant().index() != b.variant().index()) return false;
  if (const auto* d = a.get_if<double>()) return bits(*d) == bits(*b.get_if<double>());
  if (const auto* s = a.get_if<Scalar>()) return same_scalar(*s, *b.get_if<Scalar>());
  if (const auto* t = a.get_if<Tensor>()) return t->impl() == b.get_if<Tensor>()->impl();
  if (const auto* floats = a.get_if<std::vector<double>>()) {
    const auto& others = *b.get_if<std::vector<double>>();
    if (floats->size() != others.size()) return false;
    for (size_t i = 0; i < others.size(); ++i)
      if (bits((*floats)[i]) != bits(others[i])) return false;
    return true;
  }
  if (a.list() && b.list()) return same_items(a.list()->items, b.list()->items);
  if (a.tuple() && b.tuple()) return same_items(a.tuple()->items, b.tuple()->items);
  if (a.list() || a.tuple()) return false;
  if (enum_of(a)) return equal(a, b);
  if (a.dict() || a.object()) return a.dict() == b.dict() && a.object() == b.object();
  return !a.get_if<std::vector<Tensor>>() && equal(a, b);
}

size_t hash_of_constant(const IValue& value) {
  const auto mix = [](size_t seed, size_t more) { return seed * 1099511628211U + more; };
  size_t seed = value.variant().index();
  if (const auto* i = value.get_if<int64_t>()) return mix(seed, static_cast<size_t>(*i));
  if (const auto* d = value.get_if<double>()) return mix(seed, bits(*d));
  if (const auto* b = value.get_if<bool>()) return mix(seed, *b);
  if (const auto* s = value.get_if<std::string>()) return mix(seed, std::hash<std::string>()(*s));
  if (const auto* t = value.get_if<Tensor>()) return mix(seed, std::hash<const void*>()(t->impl()));
  if (const auto* items = items_of(value))
    for (const IValue& item : *items) seed = mix(seed, hash_of_constant(item));
  return seed;
}

bool is_immutable(const IValue& value) {
  if (const Tuple* tuple = value.tuple()) {
    for (const IValue& item : tuple->items)
      if (!is_immutable(item)) return false;
    return true;
  }
  if (enum_of(value)) return true;
  return !value.get_if<Tensor>() && !value.list() && !value.dict() && !value.object() &&
         !value.get_if<Dims>() && !value.get_if<std::vector<Tensor>>() &&
         !value.get_if<std::vector<double>>();
}

std::optional<int64_t> constant_int(const Value* value) { return constant_of<int64_t>(value); }
std::optional<bool> constant_bool(const Value* value) { return constant_of<bool>(value); }
std::optional<double> constant_float(const Value* value) { return constant_of<double>(value); }

std::optional<std::vector<int64_t>> constant_ints(const Value* value) {
  if (!value) return std::nullopt;
  std::vector<int64_t> ints;
  if (value->node()->is("prim::ListConstruct")) {
    for (const Value* input : value->node()->inputs()) {
      const std::optional<int64_t> i = constant_int(input);
      if (!i) return std::nullopt;
      ints.push_back(*i);
    }
    return ints;
  }
  const IValue* constant = value->constant();
  if (!constant) return std::nullopt;
  if (const auto* i = constant->get_if<int64_t>()) return std::vector<int64_t>{*i};
  if (const auto* dims = constant->get_if<Dims>())
    return std::vector<int64_t>(dims->begin(), dims->end());
  const auto* items = items_of(*constant);
  if (!items) return std::nullopt;
  for (const IValue& item : *items) {
    const auto* i = item.get_if<int64_t>();
    if (!i) return std::nullopt;
    ints.push_back(*i);
  }
  return ints;
}

bool is_constant_none(const Value* value) {
  if (!value) return false;
  if (value->type()->is(TypeKind::kNone)) return true;
  const IValue* constant = value->constant();
  return constant && constant->is_none();
}

}  // namespace uh::jit
