// Tensor: the handle that kernels and operators pass around; a counted pointer to a TensorImpl.
#pragma once

#include "base/scalar.h"
#include "tensor/memory_format.h"
#include "tensor/tensor_impl.h"

namespace uh {

class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(Ref<TensorImpl> impl) : impl_(std::move(impl)) {}
  // Shares a raw impl, as the C ABI hands it in.
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

// A pointwise operand: a tensor, or a bare number, which needs no tensor.
struct Operand {
  Tensor tensor;  // empty for a number
  Scalar number;

  Operand(Tensor t) : tensor(std::move(t)) {}
  Operand(Scalar s) : number(s) {}
  bool is_number() const { return !tensor; }
};

// A new tensor with undefined contents. Strides default to row-major.
Tensor empty(IntSpan sizes, DType dtype, Device device = Device::kCPU);
// The same without any check, for a layout that is known to be dense: offset is taken as 0.
Tensor empty_dense(const Layout& dense, int64_t numel, DType dtype);
Tensor empty_strided(IntSpan sizes, IntSpan strides, DType dtype, Device device = Device::kCPU);
Tensor empty(IntSpan sizes, DType dtype, Device device, MemoryFormat format);
// Same sizes, same memory order where the strides are dense and do not overlap
// (torch.preserve_format).
Tensor empty_like(const Tensor& self, DType dtype);
Tensor empty_like(const Tensor& self, DType dtype, Device device);
Tensor empty_like(const Tensor& self, DType dtype, Device device, MemoryFormat format);

// A new description of the same bytes: shares Storage and version counter. Checks that every
// element lies inside the Storage. Whether it counts as a view (base, VIEW event) is decided by
// the ADInplaceOrView kernel, not here.
Tensor alias(const Tensor& self, Layout layout);
Tensor alias(const Tensor& self, Layout layout, DType dtype, Ref<OwnCounter> own);

// Bytes [lo, hi) of the Storage that the tensor's elements span; empty for zero elements.
struct ByteSpan {
  int64_t lo, hi;
};
ByteSpan byte_span(const Tensor& self);

// Records that `self`'s elements have been written, by the operator call that is
// running.
void record_write(const Tensor& self);

// Without gaps and overlap in some order of the dimensions: a permutation of a contiguous tensor.
bool is_dense(const Tensor& self);

// True when some element's bytes are described twice by the tensor itself (as after expand).
bool has_internal_overlap(const Tensor& self);

// PyTorch's default dtype for floats made from Python floats; float32 unless set.
DType default_dtype();
void set_default_dtype(DType dtype);

}  // namespace uh
