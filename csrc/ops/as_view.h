// Helpers of generated ADInplaceOrView kernels, for the results of view operators.
#pragma once

#include <vector>

#include "dispatch/operator.h"

namespace uh {

// Makes `view` a view of `self` (of self's base if self is a view) and records it.
void as_view(const Tensor& self, const Tensor& view, const OperatorInfo& op);
void as_view(const Tensor& self, const std::vector<Tensor>& views, const OperatorInfo& op);
// Records a tensor that shares memory with `self` but not its history: detach.
void mark_alias(const Tensor& self, const Tensor& view, const OperatorInfo& op);

}  // namespace uh
