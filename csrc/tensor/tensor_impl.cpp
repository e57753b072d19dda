#include "tensor/tensor_impl.h"

#include <optional>

#include "base/call_section.h"
#include "tensor/dense.h"
#include "tensor/holder_tracker.h"
#include "tensor/sparse_parts.h"
#include "tensor/thread_state.h"

namespace uh {

TensorImpl::TensorImpl(Ref<Storage> storage, Layout layout, DType dtype, Ref<OwnCounter> own,
                       const SparseParts& parts)
    : storage_(std::move(storage)),
      layout_(std::move(layout)),
      own_counter_(std::move(own)),
      dtype_(dtype) {
  inference_ = t_state.inference;
  hold_parts(parts);
  keys_.store((KeySet(parts.key()) | KeySet(Key::kADInplaceOrView)).bits(),
              std::memory_order_relaxed);
  refresh();
  if (events::on()) [[unlikely]] {
    storage_->held_by(events::Holder::kTensor, id_);
    announce(events::Kind::kTENSOR_NEW);
    record_parts(events::Kind::kTENSOR_RETAIN);
  }
}

TensorImpl::TensorImpl(Ref<Storage> storage, Layout layout, DType dtype, Ref<OwnCounter> own)
    : storage_(std::move(storage)),
      layout_(std::move(layout)),
      own_counter_(std::move(own)),
      dtype_(dtype) {
  const Key backend = key_of(storage_->device().type);
  keys_.store((KeySet(backend) | KeySet(Key::kADInplaceOrView)).bits(), std::memory_order_relaxed);
  inference_ = t_state.inference;
  refresh();
  if (events::on()) [[unlikely]] {
    storage_->held_by(events::Holder::kTensor, id_);
    announce(events::Kind::kTENSOR_NEW);
  }
}

TensorImpl::~TensorImpl() {
  if (!(events::on() | watched_)) [[likely]]
    return;
  if (watched_) forget(id_);
  if (!events::on()) return;
  if (base_) {
    events::emit(events::Kind::kTENSOR_RELEASE, base_->id(),
                 static_cast<int64_t>(events::Holder::kTensor), id_, base_->use_count() - 1);
  }
  if (sparse_) record_parts(events::Kind::kTENSOR_RELEASE);
  events::emit(events::Kind::kTENSOR_FREE, id_, storage_->id());
  storage_->dropped_by(events::Holder::kTensor, id_);
  storage_ = nullptr;  // first: the base may die with us, and record the Storage's count
}

// Note [Views carry the Autograd key]: a view is differentiable as soon as its base is, and the
// base may become so after the view was made (by an in-place operation). A tensor has no list of
// its views, so each has the key from the start; the Autograd kernels check if it matters.
void TensorImpl::set_base(Ref<TensorImpl> base, ViewOrigin origin) {
  base_ = std::move(base);
  view_origin_ = origin;
  set_history_version(version());
  if (!is_inference()) add_key(Key::kAutograd);
  if (events::on()) [[unlikely]] {
    events::emit(events::Kind::kTENSOR_RETAIN, base_->id(),
                 static_cast<int64_t>(events::Holder::kTensor), id_, base_->use_count());
  }
}

void TensorImpl::check_writable() const {
  if (!inference_ || t_state.inference) [[likely]]
    return;
  fail(ErrorKind::kRuntime,
       "Inplace update to inference tensor outside InferenceMode is not allowed. You can make a "
       "clone to get a normal tensor before doing inplace update.");
}

void TensorImpl::bump_version(int64_t call) {
  const int64_t current = counter().bump();
  if (events::on()) [[unlikely]] {
    events::emit(events::Kind::kVERSION_BUMP, counter().id(), current, id_, call);
  }
}

void TensorImpl::hold_parts(const SparseParts& parts) {
  storage_->set_without_bytes();
  sparse_ = std::make_unique<const SparseParts>(parts);
}

// Records the parts as references of this tensor, released when it dies.
void TensorImpl::record_parts(events::Kind kind) const {
  const bool released = kind == events::Kind::kTENSOR_RELEASE;
  sparse_->each([&](SparseParts::Role role, const Tensor& part) {
    events::emit(kind, part.id(), static_cast<int64_t>(events::Holder::kSparse), id_,
                 part.impl()->use_count() - released, static_cast<int64_t>(role));
  });
}

void TensorImpl::check_within_storage() const {
  check(!sparse_, "Cannot access data pointer of Tensor that doesn't have storage");
  if (numel_ == 0 || device() == Device::kMeta) return;
  int64_t last = layout_.offset;
  for (size_t i = 0; i < layout_.sizes.size(); ++i)
    last += (layout_.sizes[i] - 1) * layout_.strides[i];
  const int64_t width = itemsize(dtype_), needed = (last + 1) * width;
  check(needed <= static_cast<int64_t>(storage_->nbytes()), "setStorage: sizes ", layout_.sizes,
        ", strides ", layout_.strides, ", storage offset ", layout_.offset, ", and itemsize ",
        width, " requiring a storage size of ", needed, " are out of bounds for storage of size ",
        storage_->nbytes());
}

void TensorImpl::check_host_reads() const {
  check_within_storage();
  if (device() == Device::kCPU || numel_ == 0) return;
  throw HostReadError(
      device() == Device::kMeta
          ? "it reads the elements of a meta tensor, which has none"
          : message("it reads the elements of a tensor on the host, and they are on ",
                    name(device()), "; call it with the tensor's copy, x.cpu()"));
}

AutogradSlot* TensorImpl::offer_autograd(std::unique_ptr<AutogradSlot> slot) {
  AutogradSlot* expected_slot = nullptr;
  if (autograd_.slot.compare_exchange_strong(expected_slot, slot.get(), std::memory_order_acq_rel))
    return slot.release();
  return expected_slot;
}

bool TensorImpl::requires_grad() const {
  // Ask a view's base first: the view's history may be about to change.
  if (base_ && base_->requires_grad()) return true;
  const AutogradSlot* slot = autograd();
  return slot && slot->needs_gradient();
}

namespace {

// A Change of a tensor, unless it has a single reference and so is visible to one thread only.
class ChangeOfShared {
 public:
  explicit ChangeOfShared(const TensorImpl* impl) {
    if (impl->use_count() > 1) change_.emplace(impl);
  }

 private:
  std::optional<Change> change_;
};

[[maybe_unused]] const bool g_memory_is_known = [] {
  calls::g_memory_of = [](const void* object) -> const void* {
    return static_cast<const TensorImpl*>(object)->storage();
  };
  return true;
}();

}  // namespace

void TensorImpl::set_layout(Layout layout) {
  const ChangeOfShared change(this);
  layout_ = std::move(layout);
  refresh();
  if (events::on()) [[unlikely]]
    announce(events::Kind::kTENSOR_META);
}

void TensorImpl::set_storage(Ref<Storage> storage, Layout layout) {
  const ChangeOfShared change(this);
  // The version continues, as do those of the other views.
  if (!own_counter_) own_counter_ = storage_->share_counter();
  storage_->dropped_by(events::Holder::kTensor, id_);
  storage_ = std::move(storage);
  storage_->held_by(events::Holder::kTensor, id_);
  set_layout(std::move(layout));
}

void TensorImpl::set_data(const TensorImpl& source) {
  check(!sparse_ == !source.sparse_ &&
            (keys() & kSparseKeys).bits() == (source.keys() & kSparseKeys).bits(),
        "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have "
        "incompatible tensor type.");
  const ChangeOfShared change(this);
  if (sparse_) return set_sparse(*source.sparse_, source.sizes());
  dtype_ = source.dtype_;
  const KeySet keys = (this->keys() - kBackendKeys) | (source.keys() & kBackendKeys);
  keys_.store(keys.bits(), std::memory_order_relaxed);  // the new Storage may be on another device
  set_storage(source.storage_, source.layout_);
}

void TensorImpl::set_sparse(const SparseParts& parts, const Dims& sizes) {
  const ChangeOfShared change(this);
  if (events::on()) [[unlikely]]
    record_parts(events::Kind::kTENSOR_RELEASE);
  hold_parts(parts);
  dtype_ = parts.values.dtype();
  set_layout({sizes, contiguous_strides(sizes), 0});
  if (events::on()) [[unlikely]]
    record_parts(events::Kind::kTENSOR_RETAIN);
}

bool is_contiguous(const Layout& layout) {
  int64_t expected = 1;
  for (size_t i = layout.sizes.size(); i-- > 0;) {
    const int64_t size = layout.sizes[i];
    if (size == 1) continue;
    if (layout.strides[i] != expected) return false;
    expected *= size;
  }
  return true;
}

void TensorImpl::refresh() {
  numel_ = numel_of(layout_.sizes);
  contiguous_ = !sparse_ && (numel_ == 0 || uh::is_contiguous(layout_));
}

void TensorImpl::announce(events::Kind kind) const {
  const size_t n = layout_.sizes.size();
  int64_t fields[3 + 2 * 64];
  const size_t rank = n < 64 ? n : 64;
  fields[0] = counter().id();
  fields[1] = base_ ? base_->id() : 0;
  fields[2] = static_cast<int64_t>(rank);
  for (size_t i = 0; i < rank; ++i) {
    fields[3 + i] = layout_.sizes[i];
    fields[3 + rank + i] = sparse_ ? 0 : layout_.strides[i];
  }
  const bool is_coalesced = sparse_ && sparse_->is_coalesced;
  const int64_t layout = events::kLayoutDType.pack(static_cast<int64_t>(dtype_)) |
                         events::kLayoutDeviceType.pack(static_cast<int64_t>(device().type)) |
                         events::kLayoutWrappedNumber.pack(wrapped_number_) |
                         events::kLayoutCoalesced.pack(is_coalesced) |
                         events::kLayoutDeviceIndex.pack(device().index + 1) |
                         events::kLayoutKeys.pack(recorded_bits(keys()));
  events::emit_blob(kind, id_, storage_->id(), layout, layout_.offset, fields, (3 + 2 * rank) * 8);
}

}  // namespace uh
