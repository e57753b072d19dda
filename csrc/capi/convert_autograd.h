// Conversions between handles of the C ABI and autograd's Nodes.
#pragma once

#include <string>
#include <string_view>

#include "autograd/node.h"
#include "autograd/saved_tensor.h"
#include "capi/convert.h"
#include "capi/underhood_autograd.h"

namespace uh {

inline autograd::Node* node_of(uh_node node) { return reinterpret_cast<autograd::Node*>(node); }
inline Ref<autograd::Node> take_node(uh_node node) {
  return Ref<autograd::Node>::share(node_of(node));
}
inline uh_node give_node(Ref<autograd::Node> node) {
  return reinterpret_cast<uh_node>(node.leak());
}
// The saved tensor of that name, or null; `saved_tensors[1]` selects a list element.
autograd::SavedTensor* find_saved(autograd::Node& node, std::string_view name);

// The leaf's next graph gets a new AccumulateGrad; earlier graphs keep theirs, which expects
// gradients like the tensor that was.
void forget_accumulator(const Tensor& leaf);

// True once the host language shuts down: none of its functions may be called.
bool is_host_finalizing();

}  // namespace uh
