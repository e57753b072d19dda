// TensorImpl: the metadata that makes a tensor of some bytes.
//
// Sizes, strides and offset (in elements), dtype, device, key set, and a counted Storage.
// Invariant: element (i0, i1, ...) is at byte (offset + Σ i·stride) * itemsize of the Storage, and
// every such byte is inside it. If violated: kernels access memory out of bounds; alias() in
// tensor.h therefore only makes views of layouts that ops/view/layouts.h has checked. See Note
// [Version counter] in memory/version_counter.h. Read next: tensor.h (the handle).
#pragma once

#include <memory>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/ref.h"
#include "base/shape.h"
#include "memory/storage.h"
#include "tensor/key_set.h"

namespace uh {

// A tensor's autograd state. This layer only owns it; autograd/autograd_meta.h defines the
// contents.
class AutogradSlot {
 public:
  virtual ~AutogradSlot() = default;
  // True if the tensor's own flag or Node requires a gradient.
  virtual bool needs_gradient() const = 0;
};

// Creation of a view, which decides if it may be written in place (PyTorch's CreationMeta).
enum class ViewOrigin : int8_t { kDefault, kNoGrad, kMultiOutput, kInference, kCustomFunction };

struct Layout {
  Dims sizes;
  Dims strides;        // elements
  int64_t offset = 0;  // elements
};

struct SparseParts;  // tensor/sparse_parts.h

class TensorImpl final : public RefCounted {
 public:
  TensorImpl(Ref<Storage> storage, Layout layout, DType dtype, Ref<OwnCounter> own = nullptr);
  // A sparse tensor: the Storage has no bytes. Note [Sparse tensors] in tensor/sparse_parts.h.
  TensorImpl(Ref<Storage> storage, Layout layout, DType dtype, Ref<OwnCounter> own,
             const SparseParts& parts);
  ~TensorImpl() override;

  int64_t id() const { return id_; }
  Storage* storage() const { return storage_.get(); }
  const Ref<Storage>& storage_ref() const { return storage_; }
  const Dims& sizes() const { return layout_.sizes; }
  const Dims& strides() const { return layout_.strides; }
  int64_t offset() const { return layout_.offset; }
  const Layout& layout() const { return layout_; }
  DType dtype() const { return dtype_; }
  Device device() const { return storage_->device(); }
  KeySet keys() const { return KeySet(keys_.load(std::memory_order_relaxed)); }
  int64_t numel() const { return numel_; }
  int64_t ndim() const { return layout_.sizes.ndim(); }
  bool is_contiguous() const { return contiguous_; }
  // Note [Following an address]: the host cannot read the memory of another device, and
  // UntypedStorage.resize_ can make a Storage smaller than the tensors on it need. A Storage has no
  // list of its tensors, so each tensor checks when its bytes are accessed, and only if its Storage
  // is not plain: one branch otherwise.
  //
  // The address of the first element, for code of the host. Throws if the host cannot access it.
  std::byte* data() const {
    if (!storage_->is_plain()) [[unlikely]]
      check_host_reads();
    return first_element();
  }
  // The same for code of its device, which alone may follow it.
  std::byte* address() const {
    if (!storage_->is_plain()) [[unlikely]]
      check_within_storage();
    return first_element();
  }

  // Throws if an element is beyond the end of the Storage.
  void check_within_storage() const;

  // The tensors that a sparse tensor consists of; null for a strided one.
  const SparseParts* sparse() const { return sparse_.get(); }
  // Replaces the parts and sizes of a sparse tensor.
  void set_sparse(const SparseParts& parts, const Dims& sizes);

  // The tensor this one is a view of (never itself a view), or null.
  TensorImpl* base() const { return base_.get(); }
  void set_base(Ref<TensorImpl> base, ViewOrigin origin = ViewOrigin::kDefault);
  ViewOrigin view_origin() const { return view_origin_; }
  void set_view_origin(ViewOrigin origin) { view_origin_ = origin; }

  // The version of a view at which its Node was last created. Note [Views and history].
  int64_t history_version() const { return history_version_.load(std::memory_order_relaxed); }
  void set_history_version(int64_t version) {
    history_version_.store(version, std::memory_order_relaxed);
  }

  // Null until the tensor takes part in differentiation.
  AutogradSlot* autograd() const { return autograd_.slot.load(std::memory_order_acquire); }
  // Returns the current slot: `slot`, or the one that another thread set first.
  AutogradSlot* offer_autograd(std::unique_ptr<AutogradSlot> slot);
  // True if it requires a gradient: by its own flag, its Node, or the base that it views.
  bool requires_grad() const;
  void add_key(Key key) { keys_.fetch_or(KeySet(key).bits(), std::memory_order_relaxed); }
  void remove_key(Key key) { keys_.fetch_and(~KeySet(key).bits(), std::memory_order_relaxed); }
  // Created in inference mode: never part of a graph, and without version tracking.
  bool is_inference() const { return inference_; }
  void set_inference(bool inference) { inference_ = inference; }
  // Throws if the write would have to be counted and cannot be.
  void check_writable() const;

  // The Python object of this tensor, if it exists. Accessed under Python's own lock, by the code
  // that makes such objects. Not a reference, except in Note [Kept objects].
  void* object() const { return object_.load(std::memory_order_relaxed); }
  void set_object(void* object) { object_.store(object, std::memory_order_relaxed); }
  // True while the tensor owns a reference on its Python object.
  bool keeps_object() const { return keeps_object_.load(std::memory_order_relaxed); }
  void set_keeps_object(bool keeps) { keeps_object_.store(keeps, std::memory_order_relaxed); }

  // Hides RefCounted's, which every Ref<TensorImpl> would call otherwise: Note [Kept objects].
  void release() {
    if (!drop()) return;
    if (keeps_object()) [[unlikely]]
      return return_to_host();
    delete this;
  }

  VersionCounter& counter() const {
    return own_counter_ ? own_counter_->counter : storage_->counter();
  }
  const Ref<OwnCounter>& own_counter() const { return own_counter_; }
  int64_t version() const { return counter().current(); }
  // Counts one in-place write by operator call `call`.
  void bump_version(int64_t call);

  // Set by holder_tracker.cpp under its lock: the destructor then removes the tensor from its
  // list.
  bool watched() const { return watched_; }
  void set_watched() { watched_ = true; }

  // Made from a number: it does not decide dtypes over tensors of the same category.
  bool wrapped_number() const { return wrapped_number_; }
  void set_wrapped_number(bool wrapped) { wrapped_number_ = wrapped; }

  // Replaces the metadata (resize_, set_, t_). Each is a Change (Note [Calls and changes]); code
  // that derives the new metadata from the old makes a Change around both.
  void set_layout(Layout layout);
  void set_storage(Ref<Storage> storage, Layout layout);
  // x.data = source: other memory, perhaps another dtype; versions and history stay.
  void set_data(const TensorImpl& source);

 private:
  std::byte* first_element() const {
    return static_cast<std::byte*>(storage_->data()) + layout_.offset * itemsize(dtype_);
  }
  void check_host_reads() const;
  void return_to_host();
  void refresh();  // recomputes what is derived from the layout
  void announce(events::Kind kind) const;
  void hold_parts(const SparseParts& parts);
  void record_parts(events::Kind kind) const;

  Ref<Storage> storage_;
  Layout layout_;
  Ref<TensorImpl> base_;
  Ref<OwnCounter> own_counter_;  // null: the Storage's
  struct Owner {
    ~Owner() { delete slot.load(std::memory_order_relaxed); }
    std::atomic<AutogradSlot*> slot{nullptr};
  };
  Owner autograd_;
  std::unique_ptr<const SparseParts> sparse_;
  std::atomic<void*> object_{nullptr};
  std::atomic<bool> keeps_object_{false};
  std::atomic<int64_t> history_version_{0};
  int64_t id_ = next_id(IdSpace::kTensor);
  int64_t numel_ = 0;
  std::atomic<uint32_t> keys_{0};
  DType dtype_;
  bool contiguous_ = true;
  bool wrapped_number_ = false;
  bool inference_ = false;
  bool watched_ = false;
  ViewOrigin view_origin_ = ViewOrigin::kDefault;
};

}  // namespace uh
