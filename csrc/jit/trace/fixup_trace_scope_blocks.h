// Scopes: the nodes of each module in a trace, and their conversion to methods.
//
// While a submodule runs, nodes are added to the block of a prim::TracedModuleForward;
// Values may be used across blocks. make_methods converts this to PyTorch's form: each
// block becomes a method, and a prim::CallMethod replaces it. Invariant: afterwards no
// graph uses another's Values. Outside Values that a block used are inputs of the method,
// Values used outside are its results; parameters are read as attributes of the module if
// it has them, and are inputs otherwise. If violated: the verifier rejects the graph before
// it runs.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "jit/ir/graph.h"

namespace uh::jit {

// The path of a module or tensor from the traced module.
struct AttributeRef {
  const Object* owner;
  std::string attribute;
  TypeRef type;  // of the attribute
};

struct Scopes {
  const Object* self = nullptr;  // the traced module
  std::unordered_map<const Object*, AttributeRef> modules;
  // Placeholders for modules and their tensors until the end of the trace: outputs of nodes without
  // inputs, at the beginning of the graph.
  std::unordered_map<const Value*, AttributeRef> attributes;
  // Tensors that are several attributes, once for each further attribute. PyTorch handles them
  // first, which determines the order of its graphs.
  std::vector<Value*> shared;
  // The module of each prim::TracedModuleForward.
  std::unordered_map<const Node*, const Object*> calls;

  // "__module.block.linear", as printed.
  std::string path(const Object* module) const;
};

// The printable form of a module's name: only its letters, digits and _.
std::string plain_name(std::string name);

// Turns the blocks of called modules into methods, and inserts calls of them in `graph`.
void make_methods(Graph& graph, const Scopes& scopes);

// Hides a node's span in printed graphs: PyTorch prints none for nodes without source.
Node* hide_span(Node* node);

}  // namespace uh::jit
