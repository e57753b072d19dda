#include "ops/resize_output.h"

#include "base/call_section.h"
#include "generated/ops/view.h"

namespace uh {

void resize_row_major(const Tensor& out, const Tensor& result) {
  if (out.sizes() == result.sizes()) return;
  const Change change(out.impl(), true);
  ops::resize_(out, result.sizes());
}

}  // namespace uh
