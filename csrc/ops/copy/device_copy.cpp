// Copies from, to and on devices. Bytes are copied unchanged; elements are converted and reordered
// on the host, unless a backend registers kernels for that.
#include "ops/copy/device_copy.h"

#include "generated/kernels/copy.h"
#include "generated/ops/copy.h"
#include "memory/device_registry.h"
#include "ops/copy/write_out.h"
#include "tensor/dense.h"

namespace uh {
namespace {

bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.sizes() == b.sizes() && a.strides() == b.strides() &&
         is_dense(a);
}

void move_bytes(const Tensor& to, const Tensor& from) {
  const ByteSpan span = byte_span(to);
  copy_bytes(to.address(), to.device(), from.address(), from.device(),
             static_cast<size_t>(span.hi - span.lo));
}

HostCopy host_copy = nullptr;

}  // namespace

void register_host_copy(HostCopy copy) { host_copy = copy; }
void copy_on_host(const Tensor& to, const Tensor& from) { host_copy(to, from); }

Tensor copy_to_host(const Tensor& self) {
  Tensor host = empty_strided(self.sizes(), self.strides(), self.dtype());
  move_bytes(host, self);
  return host;
}

void copy_from_host(const Tensor& self, const Tensor& host) { move_bytes(self, host); }

}  // namespace uh

namespace uh::kernels {

void copy_on_device(KeySet, const Tensor& self, const Tensor& src, bool non_blocking) {
  check_broadcasts_to(src.sizes(), self.sizes(), "copy_");
  check_kind(!src.is_meta(), ErrorKind::kNotImplemented,
             "cannot copy out of meta tensor; no data!");
  if (self.is_same(src) || self.numel() == 0) return;
  check_no_internal_overlap(self, "copy_");
  if (self.storage() != src.storage() && same_bytes(self, src)) {
    move_bytes(self, src);
  } else {
    const Tensor host = is_host(src.device()) ? src : copy_to_host(src);
    if (is_host(self.device())) {
      ops::copy_(self, host, non_blocking);
      return;  // copy_ has recorded it
    }
    const Tensor target = copy_to_host(self);  // includes the bytes between its elements
    ops::copy_(target, host, false);
    copy_from_host(self, target);
  }
  record_write(self);
}

Tensor to_copy_on_device(KeySet keys, const Tensor& self, DType dtype, Device device,
                         MemoryFormat format) {
  const DType target = dtype == DType::kUndefined ? self.dtype() : dtype;
  Tensor out =
      empty_like(self, target, device == Device::kUndefined ? self.device() : device, format);
  if (!out.is_meta()) copy_on_device(keys, out, self, false);
  return out;
}

Tensor pin_memory(KeySet, const Tensor& self, Device device) {
  check(is_host(self.device()) && !self.is_sparse(), "cannot pin '", name(self.device()),
        "' memory: only dense CPU tensors can be pinned");
  const auto pinned = backend_of(device.type).pinned_allocator;
  check(pinned, "device: ", name(device), " has no pinned memory");
  const auto bytes = static_cast<size_t>(self.numel() * itemsize(self.dtype()));
  Layout layout{self.sizes(), contiguous_strides(self.sizes()), 0};
  Tensor copy(
      make_ref<TensorImpl>(make_ref<Storage>(bytes, pinned(with_index(device)), Device::kCPU),
                           std::move(layout), self.dtype()));
  ops::copy_(copy, self, false);
  return copy;
}

Tensor clone_on_device(KeySet keys, const Tensor& self, MemoryFormat format) {
  return to_copy_on_device(keys, self, DType::kUndefined, Device::kUndefined, format);
}

}  // namespace uh::kernels
