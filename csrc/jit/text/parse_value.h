// Parser for the values of constants and attributes in graphs: `1`, `2.`, `"text"`, `[1, 2]`, `(1,
// "a")`, `{"a": 1}`, `{2.5}` (a one-element tensor), `CONSTANTS.c0`, `[int, Tensor]`.
#pragma once

#include <vector>

#include "jit/ir/graph.h"
#include "jit/text/parse_cursor.h"

namespace uh::jit {

Attribute read_attribute(Cursor& cursor, const std::vector<IValue>* constants);

// Converts a value to the type, which its text does not determine: 1 may be a bool, "cpu" a Device,
// [1, 2] an int[]. Throws an error at `from` on a mismatch.
IValue as_type(Cursor& cursor, size_t from, IValue value, const Type& type);

}  // namespace uh::jit
