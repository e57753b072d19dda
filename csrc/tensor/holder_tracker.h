// HolderTracker: one holder's references, reported to the recorder.
//
// What: a slot that is written and emptied (a register, an item of a list, an attribute) has no
// constructor and destructor that could record it. The owner of such slots has a tracker and shows
// it their contents; differences from the last report are recorded as TENSOR_RELEASE and
// TENSOR_RETAIN. Invariant: made and used only while a recording is on, and takes no reference:
// every count is what it is without. A tensor that has gone is not spoken of again: its TENSOR_FREE
// ended its uses.
#pragma once

#include <memory>
#include <vector>

#include "events/recorder.h"
#include "tensor/tensor.h"

namespace uh {

// One reference: whose, where in it, to what. See events::Holder for what holder and position are.
struct TensorUse {
  events::Holder kind;
  int64_t holder, position, tensor;
};

// Records references that were dropped and added, after all of them were. `passing`: tensors to
// which another holder has a reference that it is about to release, once for each.
void record_references(const std::vector<TensorUse>& dropped, const std::vector<TensorUse>& added,
                       const std::vector<int64_t>& passing = {});
// Makes the count of this tensor available by its number.
void watch(TensorImpl& impl);
void forget(int64_t tensor);

// Counts that were recorded while another holder had a reference for a moment are recorded again
// without it (USE_COUNT).
// Called where nothing passes on tensors: at the end of what compiled, traced or loaded.
void settle_counts();

class HolderTracker {
 public:
  HolderTracker(events::Holder kind, int64_t holder) : kind_(kind), holder_(holder) {}
  // Releases all. To be a member before the slots, so that it is destroyed after them.
  ~HolderTracker();
  HolderTracker(const HolderTracker&) = delete;
  HolderTracker& operator=(const HolderTracker&) = delete;

  struct Reference {
    int64_t index;
    const Tensor* tensor;
  };
  // All that is held at present, in a stable order.
  void update(const std::vector<Reference>& references);
  // One more.
  void take(int64_t index, const Tensor& tensor);

  // A number for a holder without an id.
  static int64_t next_number();

 private:
  const events::Holder kind_;
  const int64_t holder_;
  std::vector<TensorUse> recorded_;
};

}  // namespace uh
