// PyTorch's text of graphs read back: what print.h writes.
//
// What: nested blocks, attributes, names, types, subgraphs (`with prim::FusionGroup_0 = graph...`);
// `# file:line:col` becomes a span whose Source has the name of the file and no text. An aten kind
// is resolved to the overload that takes the inputs' types.
// Invariant: print(parse(print(g))) == print(g). Whatever the text, parse() gives a graph that
// verify() accepts, or throws a RuntimeError with line, column and what was expected; its recursion
// and its memory are bounded by the text's length. If violated: a damaged file ends the process.
#pragma once

#include <string_view>
#include <vector>

#include "jit/ir/graph.h"

namespace uh::jit {

// Blocks within each other: a long row of elif is as many. More are an error where a graph is read,
// and so also where it is saved.
inline constexpr int kMaxBlocks = 500;

// `constants`: what CONSTANTS.c0, c1... stand for (Print::constants); without them they are
// refused.
GraphRef parse(std::string_view text, const std::vector<IValue>* constants = nullptr);

}  // namespace uh::jit
