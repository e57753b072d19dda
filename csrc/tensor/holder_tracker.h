// HolderTracker: one holder's references, reported to the recorder.
//
// A slot that is filled and emptied (a register, a list item, an attribute) has no constructor
// and destructor that could record it. The owner of such slots passes their contents to its
// tracker, which records the differences from the last update as TENSOR_RELEASE and
// TENSOR_RETAIN. Invariant: used only while recording, and takes no reference: recording changes
// no count. Nothing is recorded for a tensor that has been freed: its TENSOR_FREE ended its
// uses.
#pragma once

#include <memory>
#include <vector>

#include "events/recorder.h"
#include "tensor/tensor.h"

namespace uh {

// One reference: its holder, position and tensor. events::Holder explains holder and position.
struct TensorUse {
  events::Holder kind;
  int64_t holder, position, tensor;
};

// Records references that were dropped and added, after all of them were. `passing`: tensors to
// which another holder has a reference that it is about to release, once per reference.
void record_references(const std::vector<TensorUse>& dropped, const std::vector<TensorUse>& added,
                       const std::vector<int64_t>& passing = {});
// Makes the tensor's count available by its id.
void watch(TensorImpl& impl);
void forget(int64_t tensor);

// Records again, without it, counts that included a temporary reference
// (USE_COUNT). Called when no temporary references exist: after compiling, tracing
// or loading.
void settle_counts();

class HolderTracker {
 public:
  HolderTracker(events::Holder kind, int64_t holder) : kind_(kind), holder_(holder) {}
  // Releases all. Must be declared before the slots, so that it is destroyed after them.
  ~HolderTracker();
  HolderTracker(const HolderTracker&) = delete;
  HolderTracker& operator=(const HolderTracker&) = delete;

  struct Reference {
    int64_t index;
    const Tensor* tensor;
  };
  // Reports all present references, in a stable order.
  void update(const std::vector<Reference>& references);
  // Adds one reference.
  void take(int64_t index, const Tensor& tensor);

  // Returns a number for a holder without an id.
  static int64_t next_number();

 private:
  const events::Holder kind_;
  const int64_t holder_;
  std::vector<TensorUse> recorded_;
};

}  // namespace uh
