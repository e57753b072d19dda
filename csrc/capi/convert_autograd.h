// Between the C ABI's numbers and autograd's Nodes.
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
// The saved tensor of that name; of a list, `saved_tensors[1]` names one. Null: there is none.
autograd::SavedTensor* find_saved(autograd::Node& node, std::string_view name);

// Whether the host language is ending, so that nothing of its may be called.
bool host_gone();

}  // namespace uh
