// What the generated ADInplaceOrView kernels do with the result of a view operator.
#pragma once

#include <vector>

#include "dispatch/operator.h"

namespace uh {

// Makes `view` a view of `self` (of self's own base, if self is one) and tells so.
void as_view(const Tensor& self, const Tensor& view, const OperatorInfo& op);
void as_view(const Tensor& self, const std::vector<Tensor>& views, const OperatorInfo& op);
// The same for what shares memory but is no part of the other's history: detach.
void mark_alias(const Tensor& self, const Tensor& view, const OperatorInfo& op);

}  // namespace uh
