// Scopes: which nodes of a trace belong to which module, and how they become its methods.
//
// What: while a submodule runs, nodes go into the block of a prim::TracedModuleForward; Values are
// used wherever they are known, also across blocks. make_methods turns that into PyTorch's graphs:
// each block becomes a method, and a prim::CallMethod replaces it.
// Invariant: afterwards a graph uses only what is its own. What a block used from outside is an
// input of the method, what was used of it outside is its result; parameters are read by attribute
// where the module has them, and are inputs where it has not.
// If violated: the verifier refuses the graph before it runs.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "jit/ir/graph.h"

namespace uh::jit {

// The path of a module or tensor within the traced module.
struct Place {
  const Object* owner;
  std::string attribute;
  TypeRef type;  // of the attribute
};

struct Scopes {
  const Object* self = nullptr;  // the module that is traced
  std::unordered_map<const Object*, Place> modules;
  // Values that stand for modules and tensors of modules until the end: made by nodes without
  // inputs, at the beginning.
  std::unordered_map<const Value*, Place> attributes;
  // Tensors that lie in several places, as often as they were found again: PyTorch looks at these
  // first, which the order of its graphs shows.
  std::vector<Value*> found_again;
  // The module of each prim::TracedModuleForward.
  std::unordered_map<const Node*, const Object*> calls;

  // "__module.block.linear", as printed.
  std::string path(const Object* module) const;
};

// Modules may have any name; a text has letters, digits and _ of it.
std::string plain_name(std::string name);

// Makes the methods of all that was called, and leaves calls in `graph`.
void make_methods(Graph& graph, const Scopes& scopes);

// This node's span is not printed: PyTorch has none for nodes without source.
Node* without_place(Node* node);

}  // namespace uh::jit
