// Access to graphs through their handles, shared by the files of the JIT's C ABI.
#pragma once

#include "base/error.h"
#include "capi/underhood_jit.h"
#include "jit/ir/graph.h"

namespace uh::jit {

inline Graph& graph_of(uh_graph handle) {
  check(handle != 0, "graph: the handle is 0");
  return *reinterpret_cast<Graph*>(handle);
}

inline Node* node_of(uh_graph handle, int64_t id) {
  Node* node = graph_of(handle).node(id);
  check(node != nullptr, "graph: node ", id, " does not exist");
  return node;
}

inline Span span_of(uh_source source, int line, int column, int end_line, int end_column) {
  Span span;
  span.source = Ref<Source>::share(reinterpret_cast<Source*>(source));
  span.line = line;
  span.column = column;
  span.end_line = end_line;
  span.end_column = end_column;
  return span;
}

}  // namespace uh::jit
