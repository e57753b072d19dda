// verify: what must be true of a Graph before and after every pass, before it is compiled, and of
// every graph that was read from a file.
//
// Checked: uses and inputs name each other; a Value is made before it is used, in the same or an
// outer block; a call has all arguments of its schema, of the types that it takes, and its results;
// blocks fit their If or Loop; lists, tuples, attributes and methods exist and have the types that
// are claimed; a constant is of its type. What is known of tensors (sizes, dtypes) is a claim of
// shape propagation and not checked here.
#pragma once

#include <string>

#include "jit/ir/graph.h"

namespace uh::jit {

// Throws kInternal, quoting the node and saying what is wrong with it.
void verify(const Graph& graph);

// The same without looking up what is called: for a graph whose classes and functions are still
// being read.
void verify_alone(const Graph& graph);

// The Values that lead back to nothing, a line each: neither their node has a span nor they an
// origin. "" when there is none (Note [Origins]). Required of every output of every node and of
// parameters of inner blocks; the inputs of the graph are where its Values begin.
std::string lint_origins(const Graph& graph);

// True if a constant of this type may have the value; a tensor's dtype and sizes are compared.
bool constant_fits(const IValue& value, const Type& type);

}  // namespace uh::jit
