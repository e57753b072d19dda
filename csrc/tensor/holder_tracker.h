// HolderTracker: what one holder says that it holds, told to the recorder.
//
// What: a slot that is written and emptied (a register, an item of a list, an attribute) has no
// constructor and destructor that could tell of it. Whoever has such slots keeps one and shows
// it what is in them now; what is not as it was said last is told as UNUSE and USE.
// Invariant: made and used only while a recording is on, and takes no reference: every count is
// what it is without. A tensor that has gone is not spoken of again: its TENSOR_FREE ended its
// uses.
#pragma once

#include <memory>
#include <vector>

#include "events/recorder.h"
#include "tensor/tensor.h"

namespace uh {

// One reference: whose, where in it, to what. See events::Holder for what holder and place are.
struct TensorUse {
  events::Holder kind;
  int64_t holder, place, tensor;
};

// Tells of references that went and came, after all of them did. `passing`: tensors that somebody
// else has a reference to who is about to give it up, once for each.
void record_references(const std::vector<TensorUse>& dropped, const std::vector<TensorUse>& taken,
                       const std::vector<int64_t>& passing = {});
// From here on the count of this tensor can be asked for by its number.
void watch(TensorImpl& impl);
void forget(int64_t tensor);

// What was told while somebody else had a reference for a moment is told again without it (COUNT).
// Called where nothing passes on tensors: at the end of what compiled, traced or loaded.
void settle_counts();

class HolderTracker {
 public:
  HolderTracker(events::Holder kind, int64_t holder) : kind_(kind), holder_(holder) {}
  // All of it is let go of. To be a member before what it tells of, so that it goes after that.
  ~HolderTracker();
  HolderTracker(const HolderTracker&) = delete;
  HolderTracker& operator=(const HolderTracker&) = delete;

  struct Found {
    int64_t place;
    const Tensor* tensor;
  };
  // All that is held now, in a stable order.
  void now(const std::vector<Found>& matches);
  // One more.
  void take(int64_t index, const Tensor& tensor);

  // A number for a holder that has none of its own.
  static int64_t next_number();

 private:
  const events::Holder kind_;
  const int64_t holder_;
  std::vector<TensorUse> told_;
};

}  // namespace uh
