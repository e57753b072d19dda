// Side effects of a node and the memory that its outputs share, derived from its kind and schema
// alone. alias_analysis.h tracks memory through a graph.
#pragma once

#include <vector>

#include "jit/ir/graph.h"

namespace uh::jit {

// The memory of a node's outputs.
enum class Role : int8_t {
  kNothing,   // no output holds memory
  kConstant,  // exists before the run
  kList,
  kDict,
  kObject,   // a new object
  kSame,     // an output is one of the inputs
  kTakeOut,  // an output is part of an input
  kSetAttr,
  kBlocks,    // If, Loop
  kFresh,     // new tensors
  kOperator,  // as its schema declares
  kBuiltin,   // of lists and dictionaries
  kCall,      // a call whose callee is not examined
};
Role role_of(const Node& node);

// True if removing the node is not observable when its outputs are unused: it has no side effects,
// and neither it nor a node in its blocks writes.
bool is_pure(const Node& node);
// The inputs that the node writes, including those that its schema does not declare (the running
// mean of batch_norm).
std::vector<Value*> written_inputs(const Node& node);

// True if a result may be an argument, or a view of one, without a declaration in the schema:
// reshape, contiguous.
bool may_return_argument(const OperatorInfo& op);
// True if it writes the tensors in the lists of written_inputs(): optimiser steps.
bool writes_items(const Node& node);
// True if it may change the shapes of the tensors that it writes.
bool changes_shape(const Node& node);

// True if swapping the first two inputs leaves the result and its layout
// unchanged.
bool commutes(const Node& node);

}  // namespace uh::jit
