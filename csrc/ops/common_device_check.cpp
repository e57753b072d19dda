#include "ops/common_device_check.h"

namespace uh {

void refuse_several_devices(const char* op, std::initializer_list<TensorArg> argument) {
  Device device = Device::kUndefined;  // of the first tensor
  for (const TensorArg& tensor_arg : argument) {
    for (const Tensor& t : tensor_arg.tensors()) {
      if (!t) continue;
      if (device == Device::kUndefined) device = t.device();
      if (t.device() == device || (t.ndim() == 0 && !t.is_meta())) continue;
      fail(ErrorKind::kRuntime, op,
           ": expected all tensors to be on the same device, but found at least two devices, ",
           name(device), " and ", name(t.device()));
    }
  }
}

}  // namespace uh
