// Printer for PyTorch's text format of graphs: str(graph), which parse.h reads back.
//
//   graph(%x.1 : Tensor):
//     %1 : int = prim::Constant[value=1]() # file.py:3:15
//     %2 : Tensor = aten::add(%x.1, %x.1, %1) # file.py:3:11
//     return (%2)
//
// A node with a subgraph is written by that graph's name, `prim::FusionGroup_0(...)`, and the
// subgraph follows at the end: `with prim::FusionGroup_0 = graph(...): ...`.
#pragma once

#include <string>
#include <vector>

#include "jit/ir/graph.h"

namespace uh::jit {

struct Print {
  bool with_source = true;
  // Receives the tensors of constants: the text then contains CONSTANTS.c0, and can be parsed with
  // these. Otherwise a tensor of one element is written {2.5}, a larger one <Tensor>, which cannot
  // be parsed.
  std::vector<IValue>* constants = nullptr;
};

std::string print(const Graph& graph, const Print& options = {});
// The line of a node for messages, without indentation and blocks.
std::string print(const Node& node, bool with_source = false);
// A constant: `1`, `2.5`, `2.`, `"text"`, `[1, 2]`, `(1, 2)`, `{"a": 1}`, `None`.
std::string print(const IValue& value, const Print& options = {});
std::string print(const Attribute& attribute, const Print& options = {});
// Prints a number with enough digits to be parsed exactly, "2." for an integer.
std::string number_of(double value);

}  // namespace uh::jit
