// PyTorch's text of graphs: what str(graph) shows, and parse.h reads back.
#pragma once

#include <string>

#include "jit/graph.h"

namespace uh::jit {

std::string print(const Graph& graph, bool with_source = true);
// One node as its line, without indentation and blocks: what messages quote.
std::string print(const Node& node, bool with_source = false);
// A constant or attribute: `1`, `2.5`, `"text"`, `[1, 2]`, `annotate(...)`; a tensor of one element
// as `{1}`, of more as `<Tensor>`.
std::string print(const IValue& value);
std::string print(const Attribute& attribute);

}  // namespace uh::jit
