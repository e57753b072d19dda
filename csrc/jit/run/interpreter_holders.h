// InterpreterHolders: records the references of the interpreter's slots whenever they change.
//
// After each step it compares the slots that the instruction may have changed with their last
// recorded content. So a view can show "register 3 (%h) of frame 7" as the holder of a tensor
// without a Python name. Invariant: it exists only during a recording, and takes no reference.
#pragma once

#include "jit/run/interpreter.h"

namespace uh::jit {

class InterpreterHolders {
 public:
  void entered(const Frame& frame, const Stack& stack);  // the frame now owns the arguments
  void stepped(const Frame& frame, const Instruction& instruction, const IValue* registers,
               const Stack& stack);
  void left(const Frame& frame);  // its registers are empty
  // The run has released everything. The values on `out` from `first` on are passed to the caller.
  void ended(const Stack& out, size_t first);

 private:
  struct Slot {
    size_t at;  // index in the stack or the registers
    TensorUse use;
  };
  using Slots = std::vector<Slot>;  // sorted by index
  // Replaces the slots of [low, high) by `fresh`.
  void change(Slots& recorded, size_t low, size_t high, const Slots& fresh);
  void stack(const Frame& frame, const Stack& stack);
  void registers(const Frame& frame, size_t first, size_t n, const IValue* registers);
  void record();

  Slots stack_, registers_;
  std::vector<TensorUse> dropped_, taken_;  // since the last record()
};

}  // namespace uh::jit
