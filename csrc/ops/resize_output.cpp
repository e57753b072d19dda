#include "ops/resize_output.h"

#include "base/call_section.h"
#include "generated/ops/view.h"

namespace uh {

void resize_row_major(const Tensor& out, const Tensor& made) {
  if (out.sizes() == made.sizes()) return;
  const Change change(out.impl(), true);
  ops::resize_(out, made.sizes());
}

}  // namespace uh
