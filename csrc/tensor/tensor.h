// Tensor: the handle that kernels and operators pass around; an owning pointer to a TensorImpl.
#pragma once

#include "base/scalar.h"
#include "tensor/memory_format.h"
#include "tensor/tensor_impl.h"

namespace uh {

class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(Ref<TensorImpl> impl) : impl_(std::move(impl)) {}
  // Retains a raw impl, as the C ABI passes it.
  static Tensor share(TensorImpl* impl) { return Tensor(Ref<TensorImpl>::share(impl)); }

  explicit operator bool() const { return static_cast<bool>(impl_); }
  TensorImpl* impl() const { return impl_.get(); }
  const Ref<TensorImpl>& ref() const { return impl_; }
  TensorImpl* leak() { return impl_.leak(); }

  int64_t id() const { return impl_->id(); }
  const Dims& sizes() const { return impl_->sizes(); }
  const Dims& strides() const { return impl_->strides(); }
  int64_t size(int64_t dim) const { return sizes()[static_cast<size_t>(dim)]; }
  int64_t stride(int64_t dim) const { return strides()[static_cast<size_t>(dim)]; }
  int64_t offset() const { return impl_->offset(); }
  int64_t ndim() const { return impl_->ndim(); }
  int64_t numel() const { return impl_->numel(); }
  DType dtype() const { return impl_->dtype(); }
  Device device() const { return impl_->device(); }
  KeySet keys() const { return impl_->keys(); }
  bool is_meta() const { return device() == Device::kMeta; }
  bool is_sparse() const { return impl_->sparse() != nullptr; }
  bool is_contiguous() const { return impl_->is_contiguous(); }
  std::byte* data() const { return impl_->data(); }
  std::byte* address() const { return impl_->address(); }
  template <class T>
  T* data_as() const {
    return reinterpret_cast<T*>(impl_->data());
  }
  Storage* storage() const { return impl_->storage(); }
  bool is_same(const Tensor& other) const { return impl() == other.impl(); }

 private:
  Ref<TensorImpl> impl_;
};

// A pointwise operand: a tensor, or a number that needs no tensor.
struct Operand {
  Tensor tensor;  // empty for a number
  Scalar number;

  Operand(Tensor t) : tensor(std::move(t)) {}
  Operand(Scalar s) : number(s) {}
  bool is_number() const { return !tensor; }
};

// Makes a tensor with undefined contents. Strides default to row-major.
Tensor empty(IntSpan sizes, DType dtype, Device device = Device::kCPU);
// The same without checks, for a layout that is known to be dense; its offset is ignored.
Tensor empty_dense(const Layout& dense, int64_t numel, DType dtype);
Tensor empty_strided(IntSpan sizes, IntSpan strides, DType dtype, Device device = Device::kCPU);
Tensor empty(IntSpan sizes, DType dtype, Device device, MemoryFormat format);
// A tensor of the same sizes, and of the same strides if these are dense and do not overlap
// (torch.preserve_format).
Tensor empty_like(const Tensor& self, DType dtype);
Tensor empty_like(const Tensor& self, DType dtype, Device device);
Tensor empty_like(const Tensor& self, DType dtype, Device device, MemoryFormat format);
Dims strides_like(const Layout& layout);  // those of empty_like

// Makes another TensorImpl for the same bytes: it shares Storage and version counter. Checks that
// every element is inside the Storage. The ADInplaceOrView kernel decides if it counts as a view
// (base, VIEW event).
Tensor alias(const Tensor& self, Layout layout);
Tensor alias(const Tensor& self, Layout layout, DType dtype, Ref<OwnCounter> own);

// Bytes [lo, hi) of the Storage that the tensor's elements span; empty for an empty tensor.
struct ByteSpan {
  int64_t lo, hi;
};
ByteSpan byte_span(const Tensor& self);

// Records that the running operator call has written `self`'s elements.
void record_write(const Tensor& self);

// True if the tensor is a permutation of a contiguous one: no gaps, no overlap.
bool is_dense(const Tensor& self);

// True if two elements of the tensor have the same bytes (as after expand).
bool has_internal_overlap(const Tensor& self);

// The dtype of tensors made from Python floats; float32 unless set.
DType default_dtype();
void set_default_dtype(DType dtype);

}  // namespace uh
