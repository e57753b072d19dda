#include "jit/run/interpreter_holders.h"

#include <algorithm>
#include <limits>

namespace uh::jit {
namespace {

constexpr size_t kEnd = std::numeric_limits<size_t>::max();
constexpr int kPcShift = 16;  // bits of a register's index in a position: see events::Holder

}  // namespace

void InterpreterHolders::change(Slots& recorded, size_t low, size_t high, const Slots& fresh) {
  const auto before = [](const Slot& slot, size_t at) { return slot.at < at; };
  const auto first = std::lower_bound(recorded.begin(), recorded.end(), low, before);
  const auto last = std::lower_bound(first, recorded.end(), high, before);
  // Unchanged slots keep their recorded entries.
  Slots current;
  auto old = first;
  for (const Slot& slot : fresh) {
    while (old != last && old->at < slot.at) dropped_.push_back((old++)->use);
    if (old != last && old->at == slot.at && old->use.tensor == slot.use.tensor &&
        old->use.holder == slot.use.holder) {
      current.push_back(*old++);
    } else {
      if (old != last && old->at == slot.at) dropped_.push_back((old++)->use);
      taken_.push_back(slot.use);
      current.push_back(slot);
    }
  }
  while (old != last) dropped_.push_back((old++)->use);
  const auto at = recorded.erase(first, last);
  recorded.insert(at, current.begin(), current.end());
}

void InterpreterHolders::stack(const Frame& frame, const Stack& stack) {
  Slots fresh;
  for (size_t i = frame.stack; i < stack.size(); ++i) {
    each_tensor(stack[i], [&](const Tensor& t) {
      watch(*t.impl());
      const auto depth = static_cast<int64_t>(i - frame.stack);
      fresh.push_back({i, {events::Holder::kOperand, frame.id, depth, t.id()}});
    });
  }
  change(stack_, frame.stack, kEnd, fresh);
}

void InterpreterHolders::registers(const Frame& frame, size_t first, size_t n,
                                   const IValue* registers) {
  Slots fresh;
  for (size_t r = first; r < first + n; ++r) {
    each_tensor(registers[r], [&](const Tensor& t) {
      watch(*t.impl());
      const auto slot_key = static_cast<int64_t>(r | frame.pc << kPcShift);
      fresh.push_back(
          {frame.registers + r, {events::Holder::kRegister, frame.id, slot_key, t.id()}});
    });
  }
  change(registers_, frame.registers + first, frame.registers + first + n, fresh);
}

void InterpreterHolders::record() {
  record_references(dropped_, taken_);
  dropped_.clear();
  taken_.clear();
}

void InterpreterHolders::entered(const Frame& frame, const Stack& on) {
  stack(frame, on);
  record();
}

void InterpreterHolders::stepped(const Frame& frame, const Instruction& i, const IValue* constant,
                                 const Stack& on) {
  switch (i.op) {
    case Opcode::kStore:
    case Opcode::kMove:
    case Opcode::kDropR: registers(frame, static_cast<size_t>(i.x), 1, constant); break;
    case Opcode::kStoreN: registers(frame, static_cast<size_t>(i.x), i.n, constant); break;
    default: break;
  }
  stack(frame, on);
  record();
}

void InterpreterHolders::left(const Frame& frame) {
  change(registers_, frame.registers, kEnd, {});
  record();
}

void InterpreterHolders::ended(const Stack& out, size_t first) {
  change(registers_, 0, kEnd, {});
  change(stack_, 0, kEnd, {});
  std::vector<int64_t> passing;
  for (size_t i = first; i < out.size(); ++i)
    each_tensor(out[i], [&](const Tensor& t) { passing.push_back(t.id()); });
  record_references(dropped_, taken_, passing);
}

}  // namespace uh::jit
