// Properties of constants: numbers, lists, and equality.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "jit/ir/graph.h"

namespace uh::jit {

// True for the same type and the same bits, containers item by item: 1 is not 1.0, 0.0 not -0.0.
// Tensors, dictionaries and objects are compared by identity.
bool same_constant(const IValue& a, const IValue& b);
size_t hash_of_constant(const IValue& value);
// True if no holder of the value can change it: numbers, strings, None, tuples of these.
bool is_immutable(const IValue& value);

// Nullopt if the value is not a constant of that type; a bool is not an int.
std::optional<int64_t> constant_int(const Value* value);
std::optional<bool> constant_bool(const Value* value);
std::optional<double> constant_float(const Value* value);
// The ints of a constant list or tuple, of an int, or of a ListConstruct of constants. The caller
// must check with AliasDb that the list is not written.
std::optional<std::vector<int64_t>> constant_ints(const Value* value);
bool is_constant_none(const Value* value);

}  // namespace uh::jit
