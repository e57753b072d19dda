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
struct AttributeRef {
  const Object* owner;
  std::string attribute;
  TypeRef type;  // of the attribute
};

struct Scopes {
  const Object* self = nullptr;  // the module that is traced
  std::unordered_map<const Object*, AttributeRef> modules;
  // Placeholders for modules and tensors of modules until the end of the trace: outputs of nodes
  // without inputs, at the beginning of the graph.
  std::unordered_map<const Value*, AttributeRef> attributes;
  // Tensors that are several attributes, once for each further attribute. PyTorch handles them
  // first, as the order of its graphs shows.
  std::vector<Value*> shared;
  // The module of each prim::TracedModuleForward.
  std::unordered_map<const Node*, const Object*> calls;

  // "__module.block.linear", as printed.
  std::string path(const Object* module) const;
};

// A module may have any name; printed names have only its letters, digits and _.
std::string plain_name(std::string name);

// Turns the blocks of called modules into methods, and leaves calls in `graph`.
void make_methods(Graph& graph, const Scopes& scopes);

// Hides the span of a node in printed graphs: PyTorch has none for nodes without source.
Node* hide_span(Node* node);

}  // namespace uh::jit
