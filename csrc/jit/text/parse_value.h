// The values of constants and attributes in the text of graphs: `1`, `2.`, `"text"`, `[1, 2]`,
// `(1, "a")`, `{"a": 1}`, `{2.5}` (a tensor of one element), `CONSTANTS.c0`, `[int, Tensor]`.
#pragma once

#include <vector>

#include "jit/ir/graph.h"
#include "jit/text/parse_cursor.h"

namespace uh::jit {

Attribute read_attribute(Cursor& cursor, const std::vector<IValue>* constants);

// Converts a value to the type, which its text alone does not determine: 1 may be a bool, "cpu" a
// Device, [1, 2] an int[]. Throws at `from` if it does not fit.
IValue as_type(Cursor& cursor, size_t from, IValue value, const Type& type);

}  // namespace uh::jit
