// verify: the invariants of a Graph, checked before and after every pass, before compilation, and
// after reading a file.
//
// Checked: uses and inputs refer to each other; a Value is defined before its uses, in the same or
// an outer block; a call has all arguments of its schema, of matching types, and its results;
// blocks match their If or Loop; lists, tuples, attributes and methods exist and have the stated
// types; a constant matches its type. Tensor properties (sizes, dtypes) are claims of shape
// propagation and not checked here.
#pragma once

#include <string>

#include "jit/ir/graph.h"

namespace uh::jit {

// Throws kInternal with the node and the violation.
void verify(const Graph& graph);

// The same without looking up callees: for a graph whose classes and functions are still being
// read.
void verify_alone(const Graph& graph);

// Lists the Values without provenance, one per line: neither their node has a span nor they an
// origin. "" if there are none (Note [Origins]). Provenance is required of every output of every
// node and of parameters of inner blocks; the graph's inputs need none.
std::string lint_origins(const Graph& graph);

// True if a constant of this type may have the value; a tensor's dtype and sizes are compared.
bool constant_fits(const IValue& value, const Type& type);

}  // namespace uh::jit
