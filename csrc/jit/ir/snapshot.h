// Snapshot: a Graph as JSON, with the ids of its nodes and values; used by events and Python.
//
// {"graph": id, "name", "block": B}
// B = {"id", "param", "return": numbers of its nodes, "params": [V], "nodes": [N], "returns": [id]}
// N = {"id", "kind", "schema"?, "scope"?, "attributes": {name: text}, "graphs"?: {name: snapshot},
//      "inputs": [id], "outputs": [V], "blocks": [B], "span": [file, line, column, end_line,
//      end_column] or null}
// V = {"id", "name", "type", "origins": [id]}
#pragma once

#include <string>

#include "jit/ir/graph.h"

namespace uh::jit {

std::string snapshot(const Graph& graph);
// The value of an attribute in an Edit: its text, or the snapshot of a graph.
std::string snapshot_of(const Attribute& attribute);

}  // namespace uh::jit
