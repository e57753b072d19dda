// Storage: the physical bytes that any number of tensors describe.
//
// What: a DataPtr, its size in bytes, the allocator it came from, and the holders' count.
// Invariant: one Storage owns its memory alone; tensors that share bytes share the Storage object.
// If violated: a write through one view would not be seen by the version counter of another.
// See Note [Use counts add up] below for why every retain names its holder.
#pragma once

#include "base/device.h"
#include "base/ids.h"
#include "base/ref.h"
#include "events/recorder.h"
#include "memory/allocator.h"
#include "memory/version_counter.h"

namespace uh {

// Note [Use counts add up]: a Storage is held by TensorImpls and by exports (NumPy, DLPack) only,
// and each holder announces itself with its kind and id. The explorer's sum over holders therefore
// equals use_count(); a difference would be a leak in the engine itself.
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
  // The counter as an object that outlives the Storage. Note [Version counter].
  Ref<OwnCounter> share_counter();

  // Note [Exports pin a Storage]: an array of NumPy or another library knows the address of the
  // bytes and not the Storage, so the bytes stay where they are once one was exported: for good,
  // as in PyTorch.
  bool resizable() const { return !foreign() && !pinned_; }
  void pin() { pinned_ = true; }

  // Grows or shrinks, keeping the common prefix. Throws unless the Storage is resizable.
  void resize(size_t nbytes);
  // True where the host may follow the address of every tensor without a look at anything else.
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
  // To be called just before the reference is released.
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
  bool pinned_ = false;
  bool is_plain_ = true;
  int64_t id_ = next_id(IdSpace::kStorage);
  VersionCounter counter_;
  std::atomic<OwnCounter*> shared_counter_{nullptr};  // counts instead of counter_, once there
};

}  // namespace uh
