// SavedTensor: a tensor that a Node needs for its gradient, with the version it was saved at.
//
// Note [Saved outputs]: a Node that saved its own output would form a reference cycle with it. It
// saves another TensorImpl over the same bytes instead, without a Node, and unpack() adds the
// Node.
//
// Note [Saved and written]: the Node of an in-place form would also form a cycle if it saved an
// argument that shares the written tensor's version counter (`a.mul_(a)`, or a view of the written
// base). That argument's version changes as the form runs, so unpacking it always throws; a
// TensorImpl without a Node and a base is enough for the message.
#pragma once

#include <atomic>

#include "autograd/node.h"

namespace uh::autograd {

// The object that the pack hook of saved_tensors_hooks returned for a tensor.
class Packed : public RefCounted {
 public:
  virtual Tensor unpack() = 0;
  virtual void* object() const = 0;  // the host's object, for `_raw_saved_self`
};
// Called at every save; null: this thread has no hooks, and the tensor itself is saved.
using PackFn = Ref<Packed> (*)(const Tensor&);
void set_pack(PackFn pack, bool active);

class SavedTensor {
 public:
  SavedTensor() = default;
  // Saves an input, which may be undefined. `written`: the tensor that the owner's operator writes.
  void save(const Node& owner, const Tensor& input, const Tensor& written = Tensor());
  // Saves a result of the owner.
  void save_output(const Node& owner, const Tensor& result);
  // Returns the saved tensor; throws if it was written since, or released. `as_output`: a result of
  // the owner gets its grad_fn even in no-grad mode.
  Tensor unpack(Node& owner, bool as_output = false) const;
  void release(const Node& owner, int64_t slot);

  // The present content: another thread's pass may release it at any time.
  bool defined(const Node& owner) const;
  Tensor tensor(const Node& owner) const;
  Ref<Packed> packed(const Node& owner) const;
  // For callers that hold the owner's lock.
  const Ref<Packed>& packed_within() const { return packed_; }
  int64_t version() const { return version_; }
  bool was_defined() const { return was_defined_; }
  void replace(const Node& owner, Ref<Packed> packed);

 private:
  // `input`: the tensor that is passed to a pack hook.
  void keep(const Node& owner, const Tensor& tensor, const Tensor& input);
  // The Node whose output the tensor is, for a message: "Mul"; empty for a leaf.
  std::string maker(Node& owner, const Tensor& retained, uint32_t& output) const;
  [[noreturn]] void stale(Node& owner, const Tensor& retained, int64_t current) const;

  Tensor tensor_;
  Ref<Packed> packed_;
  Ref<Node> node_;  // the grad_fn of a packed or detached tensor
  int64_t version_ = 0;
  uint32_t output_ = 0;
  bool is_output_ = false;
  bool was_defined_ = false;
  bool requires_grad_ = false;
  // The argument's new history after the operator wrote; see Note [Saved and written].
  enum class Rewritten : int8_t { kNo, kItself, kBase, kView } rewritten_ = Rewritten::kNo;
};

// Throws: the Node's saved values were released by an earlier pass.
[[noreturn]] void fail_released(const Node& owner);

// A pointwise operand: a tensor or a number.
struct SavedOperand {
  // PyTorch wraps the number of some operators (`x * 2`) as a tensor, which it saves and releases;
  // a second pass therefore throws here, too, although the number is still available.
  enum class State : uint8_t { kTensor, kNumber, kWrappedNumber, kReleased };
  SavedTensor tensor;
  Scalar number;
  std::atomic<State> state{State::kTensor};

  void save(const Node& owner, const Operand& operand, const Tensor& written = Tensor(),
            bool wraps_numbers = false) {
    if (!operand.is_number()) return tensor.save(owner, operand.tensor, written);
    number = operand.number;
    state = wraps_numbers ? State::kWrappedNumber : State::kNumber;
  }
  Operand unpack(Node& owner) const {
    if (tensor.was_defined()) return tensor.unpack(owner);
    if (state.load(std::memory_order_relaxed) == State::kReleased) fail_released(owner);
    return number;
  }
  void release_number() {
    if (state == State::kWrappedNumber) state = State::kReleased;
  }
};

void save_all(const Node& owner, const std::vector<Tensor>& tensors,
              std::vector<SavedTensor>& saved, const Tensor& written = Tensor());
std::vector<Tensor> unpack_all(Node& owner, const std::vector<SavedTensor>& saved,
                               bool as_output = false);

}  // namespace uh::autograd
