#include "ops/copy/any_device.h"

#include <cstring>

#include "generated/ops/copy.h"
#include "memory/device_registry.h"
#include "ops/copy/device_copy.h"
#include "ops/overlap.h"

namespace uh {

void write_elements(const Tensor& to, const Tensor& from) {
  if (to.is_meta()) return;
  if (is_host(to.device())) return copy_on_host(to, from);
  const Without<Key::kADInplaceOrView> below;
  ops::copy_(to, from, false);
}

Tensor dense_copy(const Tensor& self) {
  Tensor out = empty(self.sizes(), self.dtype(), self.device());
  write_elements(out, self);
  return out;
}

Tensor apart(const Tensor& written, const Tensor& read) {
  return share_bytes(written, read) ? dense_copy(read) : read;
}

Tensor zeros_on(const Dims& sizes, DType dtype, Device device) {
  Tensor out = empty(sizes, dtype, device);
  if (out.numel() == 0 || out.is_meta()) return out;
  if (is_host(device)) {
    std::memset(out.data(), 0, static_cast<size_t>(out.numel() * itemsize(dtype)));
    return out;
  }
  const Without<Key::kADInplaceOrView> below;
  ops::zero_(out);
  return out;
}

}  // namespace uh
