#include "ops/one_device.h"

namespace uh {

void refuse_several_devices(const char* op, const std::vector<Tensor>& tensors) {
  if (tensors.empty()) return;
  const Device device = tensors.front().device();
  for (const Tensor& t : tensors) {
    if (t.device() == device || (t.ndim() == 0 && !t.is_meta())) continue;
    fail(ErrorKind::kRuntime, op,
         ": expected all tensors to be on the same device, but found at least two devices, ",
         name(device), " and ", name(t.device()));
  }
}

}  // namespace uh
