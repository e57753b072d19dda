// Properties of constants that passes need: which number, which list, and whether two are the same.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "jit/ir/graph.h"

namespace uh::jit {

// Same type and same bits, containers item by item: 1 is not 1.0, 0.0 not -0.0. Tensors,
// dictionaries and objects only as themselves.
bool same_constant(const IValue& a, const IValue& b);
size_t hash_of_constant(const IValue& value);
// True if no holder of the value can change it: numbers, strings, None, tuples of these.
bool is_immutable(const IValue& value);

// Nothing if the value is not a constant, or one of another type; a bool is not an int.
std::optional<int64_t> constant_int(const Value* value);
std::optional<bool> constant_bool(const Value* value);
std::optional<double> constant_float(const Value* value);
// A constant list or tuple of ints, an int, or a ListConstruct of constant ints. Ask AliasDb
// whether the list is written.
std::optional<std::vector<int64_t>> constant_ints(const Value* value);
bool is_constant_none(const Value* value);

}  // namespace uh::jit
