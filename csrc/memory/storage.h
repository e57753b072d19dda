// Storage: physical bytes, described by any number of tensors.
//
// A DataPtr, its size in bytes, its allocator, and the holders' count. Invariant: each Storage is
// the only owner of its memory; tensors that share bytes share the Storage. If violated: the
// version counter of one view would miss writes through another. Note [Use counts add up] below
// explains why every retain names its holder.
#pragma once

#include <atomic>

#include "base/device.h"
#include "base/ids.h"
#include "base/ref.h"
#include "events/recorder.h"
#include "memory/allocator.h"
#include "memory/version_counter.h"

namespace uh {

// Note [Use counts add up]: only TensorImpls and exports (NumPy, DLPack) hold a Storage, and each
// holder records its kind and id. The explorer's sum over holders therefore equals use_count(); a
// difference would be a leak in the engine itself.
class Storage final : public RefCounted {
 public:
  Storage(size_t nbytes, Allocator& allocator, Device device)
      : data_(allocator.allocate(nbytes)),
        nbytes_(nbytes),
        allocator_(&allocator),
        device_(device),
        is_plain_(device.type == DeviceType::kCPU) {
    announce();
  }
  // Memory that belongs to another owner; the DataPtr's deleter releases it.
  Storage(DataPtr data, size_t nbytes) : data_(std::move(data)), nbytes_(nbytes) { announce(); }
  ~Storage() override;

  int64_t id() const { return id_; }
  void* data() const { return data_.get(); }
  size_t nbytes() const { return nbytes_; }
  Device device() const { return device_; }
  Allocator* allocator() const { return allocator_; }
  bool foreign() const { return allocator_ == nullptr; }
  VersionCounter& counter() {
    OwnCounter* shared = shared_counter_.load(std::memory_order_acquire);
    return shared ? shared->counter : counter_;
  }
  // The counter as a separate object that may outlive the Storage. Note [Version counter].
  Ref<OwnCounter> share_counter();

  // Note [Exports pin a Storage]: an array of NumPy or another library has the address of the
  // bytes but no reference to the Storage, so the bytes never move once exported, as in
  // PyTorch.
  bool resizable() const { return !foreign() && !pinned_.load(std::memory_order_relaxed); }
  void pin() { pinned_.store(true, std::memory_order_relaxed); }

  // Grows or shrinks, keeping the common prefix. Throws unless the Storage is resizable.
  void resize(size_t nbytes);
  // True if the host may access the bytes of every tensor without further checks.
  // Note [Following an address] in tensor/tensor_impl.h.
  bool is_plain() const { return is_plain_; }
  // A sparse tensor's Storage has no bytes at all.
  void set_without_bytes() { is_plain_ = false; }

  void held_by(events::Holder kind, int64_t holder) {
    if (events::on()) [[unlikely]] {
      events::emit(events::Kind::kSTORAGE_RETAIN, id_, static_cast<int64_t>(kind), holder,
                   use_count());
    }
  }
  // Must be called just before the reference is released.
  void dropped_by(events::Holder kind, int64_t holder) {
    if (events::on()) [[unlikely]] {
      events::emit(events::Kind::kSTORAGE_RELEASE, id_, static_cast<int64_t>(kind), holder,
                   use_count() - 1);
    }
  }

 private:
  void announce();

  DataPtr data_;
  size_t nbytes_;
  Allocator* allocator_ = nullptr;
  Device device_ = Device::kCPU;
  std::atomic<bool> pinned_ = false;  // several threads may export it at once
  bool is_plain_ = true;
  int64_t id_ = next_id(IdSpace::kStorage);
  VersionCounter counter_;
  std::atomic<OwnCounter*> shared_counter_{nullptr};  // replaces counter_ once set
};

}  // namespace uh
