// InterpreterHolders: the references of a recorded run of the interpreter, slot by slot, reported
// as it changes.
//
// What: after each step the slots that the instruction can have changed are compared with what was
// said of them; so a view can say "register 3 (%h) of frame 7" of a tensor that no name knows.
// Invariant: there is none while nothing is recorded, and it takes no reference.
#pragma once

#include "jit/run/interpreter.h"

namespace uh::jit {

class InterpreterHolders {
 public:
  void entered(const Frame& frame, const Stack& stack);  // the arguments are its own now
  void stepped(const Frame& frame, const Instruction& instruction, const IValue* registers,
               const Stack& stack);
  void left(const Frame& frame);  // its registers are empty
  // Nothing is held any more. The values on `out` from `first` on are passed to the caller.
  void ended(const Stack& out, size_t first);

 private:
  struct Slot {
    size_t at;  // place in the machine's stack, or among its registers
    TensorUse use;
  };
  using Slots = std::vector<Slot>;  // ascending
  // The slots of [low, high) are `fresh` now.
  void change(Slots& recorded, size_t low, size_t high, const Slots& fresh);
  void stack(const Frame& frame, const Stack& stack);
  void registers(const Frame& frame, size_t first, size_t n, const IValue* registers);
  void tell();

  Slots stack_, registers_;
  std::vector<TensorUse> dropped_, taken_;  // since the last tell()
};

}  // namespace uh::jit
