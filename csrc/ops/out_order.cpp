#include "ops/out_order.h"

#include "generated/ops/view.h"

namespace uh {

void resize_row_major(const Tensor& out, const Tensor& made) {
  if (!(out.sizes() == made.sizes())) ops::resize_(out, made.sizes());
}

}  // namespace uh
