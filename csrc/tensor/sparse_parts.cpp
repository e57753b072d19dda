#include "tensor/sparse_parts.h"

namespace uh {

Tensor sparse_tensor(const Dims& sizes, const SparseParts& parts) {
  checked_numel(sizes, "sparse tensor");
  auto storage = make_ref<Storage>(DataPtr(), 0);
  Layout layout{sizes, contiguous_strides(sizes), 0};
  const auto own = [](const Tensor& part) { return alias(part, part.impl()->layout()); };
  const SparseParts shared{own(parts.indices), own(parts.values),
                           parts.is_csr() ? own(parts.crow_indices) : Tensor(), parts.is_coalesced};
  return Tensor(make_ref<TensorImpl>(std::move(storage), std::move(layout), parts.values.dtype(),
                                     nullptr, shared));
}

}  // namespace uh
