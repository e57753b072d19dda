// Parser for PyTorch's text format of graphs, as print.h writes it.
//
// Supports nested blocks, attributes, names, types, subgraphs (`with prim::FusionGroup_0 =
// graph...`); `# file:line:col` becomes a span whose Source has the file name but no text. An aten
// kind is resolved to the overload for the inputs' types. Invariant: print(parse(print(g))) ==
// print(g). For any text, parse() returns a graph that verify() accepts, or throws a RuntimeError
// with line, column and expectation; its recursion and memory are bounded by the text's length. If
// violated: a damaged file ends the process.
#pragma once

#include <string_view>
#include <vector>

#include "jit/ir/graph.h"

namespace uh::jit {

// Maximum nesting of blocks, which a long chain of elif reaches. Deeper graphs are an error when
// read, and therefore also when saved.
inline constexpr int kMaxBlocks = 500;

// `constants`: the values of CONSTANTS.c0, c1... (Print::constants); null: these are
// errors.
GraphRef parse(std::string_view text, const std::vector<IValue>* constants = nullptr);

}  // namespace uh::jit
