// The effects of a node besides its outputs, and the memory that these share: known from its kind
// and schema alone. alias_analysis.h follows the memory through a graph.
#pragma once

#include <vector>

#include "jit/ir/graph.h"

namespace uh::jit {

// The memory of a node's outputs.
enum class Role : int8_t {
  kNothing,   // no output holds memory
  kConstant,  // what it gives was there before
  kList,
  kDict,
  kObject,   // a new one
  kSame,     // an output is one of the inputs
  kTakeOut,  // an output is something in the inputs
  kSetAttr,
  kBlocks,    // If, Loop
  kFresh,     // new tensors
  kOperator,  // as its schema says
  kBuiltin,   // of lists and dictionaries
  kCall,      // a call whose callee is not examined
};
Role role_of(const Node& node);

// Nothing is noticed when the node is not there and its outputs are not used: it has no side
// effects, and neither it nor a node in its blocks writes.
bool is_pure(const Node& node);
// The arguments that the node itself writes, including those that its schema does not declare (the
// running mean of batch_norm).
std::vector<Value*> written_inputs(const Node& node);

// True if a result of the operator may be an argument, or a view of one, though its schema does not
// say so: reshape, contiguous.
bool may_return_argument(const OperatorInfo& op);
// True if it writes the tensors in the lists of written_inputs(): the steps of optimisers.
bool writes_items(const Node& node);
// True if it may change the shapes of the tensors that it writes.
bool changes_shape(const Node& node);

// True if swapping the first two inputs changes nothing, not even the layout
// of the result.
bool commutes(const Node& node);

}  // namespace uh::jit
