#include "jit/run/interpreter.h"

#include <algorithm>
#include <chrono>
#include <memory>

#include "base/error.h"
#include "events/recorder.h"
#include "jit/builtins/builtin.h"
#include "jit/function.h"
#include "jit/group/fusion_group.h"
#include "jit/run/executor.h"
#include "jit/run/interpreter_holders.h"
#include "jit/run/interrupt.h"
#include "jit/run/node_error.h"
#include "jit/scalar/program.h"
#include "jit/text/print.h"

namespace uh::jit {

std::atomic<void (*)()> g_interrupt{nullptr};

void poll_interrupt() {
  using Clock = std::chrono::steady_clock;
  constexpr auto kBetween = std::chrono::milliseconds(50);
  thread_local Clock::time_point requested{};
  const auto ask = g_interrupt.load(std::memory_order_acquire);
  if (!ask) return;
  const Clock::time_point now = Clock::now();
  if (now - requested < kBetween) return;
  requested = now;
  ask();
}

namespace {

constexpr uint32_t kTripsBetweenPolls = 64;

// The buffers of a run, reused for the thread's next run: calling a scripted function allocates
// nothing.
struct InterpreterState {
  Stack stack;
  std::vector<IValue> registers;
  std::vector<Frame> frames;
  Stack alone;  // for operators that need a separate stack
};

thread_local constinit InterpreterState* t_spare = nullptr;
struct SpareOwner {
  ~SpareOwner() { delete std::exchange(t_spare, nullptr); }
};

// A nested run (in an operator that calls back) gets a separate InterpreterState.
class MachineLease {
 public:
  MachineLease() : machine_(std::exchange(t_spare, nullptr)) {
    if (machine_) [[likely]]
      return;
    static thread_local SpareOwner owner;
    machine_ = new InterpreterState;
  }
  ~MachineLease() {
    if (t_spare) {
      delete machine_;
    } else {
      t_spare = machine_;
    }
  }
  MachineLease(const MachineLease&) = delete;
  MachineLease& operator=(const MachineLease&) = delete;
  InterpreterState& operator*() { return *machine_; }

 private:
  InterpreterState* machine_;
};

// Fast path for a Tensor, the most common alternative of the variant.
void push_copy(Stack& stack, const IValue& value) {
  if (const Tensor* t = value.get_if<Tensor>()) {
    stack.emplace_back(*t);
  } else if (const int64_t* i = value.get_if<int64_t>()) {
    stack.emplace_back(*i);
  } else {
    stack.push_back(value);
  }
}
void push_moved(Stack& stack, IValue& value) {
  if (Tensor* t = value.get_if<Tensor>()) {
    stack.emplace_back(std::move(*t));
  } else {
    stack.push_back(std::move(value));
    value = IValue();
  }
}
void pop_into(Stack& stack, IValue& target) {
  IValue& top = stack.back();
  Tensor* from = top.get_if<Tensor>();
  Tensor* to = target.get_if<Tensor>();
  if (from && to) {
    *to = std::move(*from);
  } else {
    target = std::move(top);
  }
  stack.pop_back();
}
// Releases the value; the register may keep an empty Tensor.
void empty_register(IValue& value) {
  if (Tensor* t = value.get_if<Tensor>()) {
    if (*t) *t = Tensor();
  } else if (!value.is_none()) {
    value = IValue();
  }
}

std::vector<IValue> popped(Stack& stack, size_t n) {
  const auto from = stack.end() - static_cast<std::ptrdiff_t>(n);
  std::vector<IValue> items(std::make_move_iterator(from), std::make_move_iterator(stack.end()));
  stack.erase(from, stack.end());
  return items;
}
IValue popped(Stack& stack) {
  IValue value = std::move(stack.back());
  stack.pop_back();
  return value;
}

void unpack(Stack& stack, size_t n) {
  const IValue packed = popped(stack);
  const auto fits = [&](size_t size, const char* noun) {
    check(size == n, "Expected ", n, " elements in a ", noun, " but found ", size);
  };
  if (const Tuple* tuple = packed.tuple()) {
    fits(tuple->items.size(), "tuple");
    stack.insert(stack.end(), tuple->items.begin(), tuple->items.end());
  } else if (const List* list = packed.list()) {
    fits(list->items.size(), "list");
    stack.insert(stack.end(), list->items.begin(), list->items.end());
  } else if (const auto* tensors = packed.get_if<std::vector<Tensor>>()) {
    fits(tensors->size(), "list");
    stack.insert(stack.end(), tensors->begin(), tensors->end());
  } else if (const Dims* ints = packed.get_if<Dims>()) {
    fits(ints->size(), "list");
    stack.insert(stack.end(), ints->begin(), ints->end());
  } else if (const auto* floats = packed.get_if<std::vector<double>>()) {
    fits(floats->size(), "list");
    stack.insert(stack.end(), floats->begin(), floats->end());
  } else {
    fail(ErrorKind::kType, "Expected ", n, " values to unpack, but found a ", packed.type_name());
  }
}

void tuple_index(Stack& stack) {
  const auto index = from_value<int64_t>(popped(stack));
  const IValue value = popped(stack);
  const Tuple* tuple = value.tuple();
  if (!tuple) fail(ErrorKind::kType, "Expected a tuple to index, but found a ", value.type_name());
  const auto n = static_cast<int64_t>(tuple->items.size());
  check_kind(index >= -n && index < n, ErrorKind::kIndex, "Tuple index ", index,
             " is out of range for a tuple of ", n);
  stack.push_back(tuple->items[static_cast<size_t>(index < 0 ? index + n : index)]);
}

void tuple_slice(Stack& stack, size_t first, size_t n) {
  const IValue value = popped(stack);
  const auto from = value.tuple()->items.begin() + static_cast<std::ptrdiff_t>(first);
  stack.push_back(
      make_container<Tuple>(std::vector<IValue>(from, from + static_cast<std::ptrdiff_t>(n))));
}

void make_dict(Stack& stack, size_t n) {
  Ref<Dict> dict = make_ref<Dict>();
  std::vector<IValue> items = popped(stack, n);
  for (size_t i = 0; i + 1 < n; i += 2) dict->put(std::move(items[i]), std::move(items[i + 1]));
  stack.emplace_back(Ref<Container>(std::move(dict)));
}

Object& object_of(const IValue& value) {
  Object* object = value.object();
  if (!object) [[unlikely]] {
    fail(ErrorKind::kRuntime, "Expected an object with attributes, but found a ",
         value.type_name());
  }
  return *object;
}

// Reads a slot; an object has as many slots as its class had attributes when it was created or last
// set.
const IValue& attribute_of(const Object& object, size_t slot, const Node* node) {
  if (slot >= object.slots.size()) [[unlikely]] {
    fail(ErrorKind::kRuntime, static_cast<const Type&>(*object.type).text(), ": attribute '",
         node->text_attribute("name"), "' was not set");
  }
  return object.slots[slot];
}

}  // namespace

void raise_exception(Stack& stack, size_t n) {
  const IValue kind = n > 1 ? popped(stack) : IValue();
  const IValue text = popped(stack);
  const auto* name = kind.get_if<std::string>();
  const auto* format = text.get_if<std::string>();
  throw Error(kScriptError, message(name ? *name : std::string("RuntimeError"), ": ",
                                    format ? *format : print(text)));
}

class Interpreter {
 public:
  explicit Interpreter(InterpreterState& machine, InterpreterHolders* uses)
      : machine_(machine), stack_(machine.stack), uses_(uses) {}

  template <bool kRecorded>
  void enter(const Code& code, Executor* executor) {
    check(machine_.frames.size() < kMaxFrames,
          "maximum recursion depth exceeded: ", machine_.frames.size(),
          " frames of scripted functions call each other");
    Frame frame{&code, executor};
    if (!machine_.frames.empty()) {
      const Frame& caller = machine_.frames.back();
      frame.registers = caller.registers + caller.code->register_count_;
    }
    frame.stack = stack_.size() - code.input_count_;
    const size_t expected = frame.registers + code.register_count_;
    if (machine_.registers.size() < expected) machine_.registers.resize(expected);
    if constexpr (kRecorded) {
      frame.id = next_frame_id();
      record_frame(frame, machine_.frames.empty() ? 0 : machine_.frames.back().id, stack_);
      uses_->entered(frame, stack_);
    }
    machine_.frames.push_back(frame);
  }

  template <bool kRecorded>
  void go();

  // Called after an error, to release all tensors of the run.
  void clear() {
    for (IValue& value : machine_.registers) value = IValue();
    machine_.alone.clear();
    machine_.stack.clear();
    machine_.frames.clear();
  }

 private:
  void call(const Code::Operator& op, size_t n) {
    if (op.builtin) {
      op.builtin->call(stack_, n);
      return;
    }
    const size_t first = stack_.size() - n;
    if (op.alone) {
      // Moved out of the state: the operator may re-enter, and run another program.
      Stack alone = std::move(machine_.alone);
      alone.clear();
      std::move(stack_.begin() + static_cast<std::ptrdiff_t>(first), stack_.end(),
                std::back_inserter(alone));
      stack_.resize(first);
      op.info->call_boxed(alone);
      std::move(alone.begin(), alone.end(), std::back_inserter(stack_));
      machine_.alone = std::move(alone);
    } else {
      op.info->call_boxed(stack_);
    }
    if (op.lists)
      for (size_t i = first; i < stack_.size(); ++i) stack_[i] = with_lists(std::move(stack_[i]));
  }

  InterpreterState& machine_;
  Stack& stack_;
  InterpreterHolders* const uses_;  // null unless recording
  uint32_t trips_ = 0;
  int64_t steps_ = 0;
};

template <bool kRecorded>
void Interpreter::go() {
  Stack& stack = stack_;
  Frame* frame;
  const Code* code;
  const Instruction* first;
  const Instruction* at;
  IValue* registers;
  const auto reload = [&] {
    frame = &machine_.frames.back();
    code = frame->code;
    first = code->instructions_.data();
    at = first + frame->pc;
    registers = machine_.registers.data() + frame->registers;
  };
  // Recorded before the frame changes: the step belongs to the frame that executed it.
  const auto step = [&](const Instruction& i) {
    if constexpr (kRecorded) {
      ++frame->steps;
      uses_->stepped(*frame, i, registers, stack);
      if (++steps_ > kMaxRecordedSteps || !events::on()) return;
      record_step(*frame, i, registers, stack);
      if (steps_ == kMaxRecordedSteps) record_step_limit(*frame);
    }
  };
  reload();
  for (;;) {
    const Instruction i = *at;
    const auto x = static_cast<size_t>(i.x);
    frame->pc = static_cast<size_t>(at - first);
    ++at;
    switch (i.op) {
      case Opcode::kOp: call(code->operators_[x], i.n); break;
      case Opcode::kLoad: push_copy(stack, registers[x]); break;
      case Opcode::kMove: push_moved(stack, registers[x]); break;
      case Opcode::kStore: pop_into(stack, registers[x]); break;
      case Opcode::kStoreN:
        for (size_t k = i.n; k-- > 0;) pop_into(stack, registers[x + k]);
        break;
      case Opcode::kDrop: stack.pop_back(); break;
      case Opcode::kDropR: empty_register(registers[x]); break;
      case Opcode::kConst: push_copy(stack, code->constants_[x]); break;
      case Opcode::kJump: at = first + x; break;
      case Opcode::kJumpIfFalse: {
        const bool truth = from_value<bool>(stack.back());
        stack.pop_back();
        if (!truth) at = first + x;
        break;
      }
      case Opcode::kLoop: {
        if (++trips_ % kTripsBetweenPolls == 0) poll_interrupt();
        const bool more = from_value<bool>(stack.back());
        stack.pop_back();
        int64_t& trip = *registers[i.n].get_if<int64_t>();
        ++trip;
        if (!more || trip >= from_value<int64_t>(registers[i.n + 1])) at = first + x;
        break;
      }
      case Opcode::kCall:
      case Opcode::kCallMethod: {
        if (++trips_ % kTripsBetweenPolls == 0) poll_interrupt();
        step(i);
        Executor& callee = code->functions_[x]->executor();
        enter<kRecorded>(callee.code_for(stack, kRecorded), &callee);
        reload();
        continue;
      }
      case Opcode::kReturn: {
        step(i);
        if constexpr (kRecorded) {
          if (events::on()) record_frame_end(*frame, stack, nullptr);
        }
        for (size_t k = 0; k < code->register_count_; ++k) empty_register(registers[k]);
        if constexpr (kRecorded) uses_->left(*frame);
        machine_.frames.pop_back();
        if (machine_.frames.empty()) return;
        reload();
        ++at;  // past the CALL
        continue;
      }
      case Opcode::kList: stack.push_back(make_container<List>(popped(stack, i.n))); break;
      case Opcode::kTuple: stack.push_back(make_container<Tuple>(popped(stack, i.n))); break;
      case Opcode::kDict: make_dict(stack, i.n); break;
      case Opcode::kUnpack: unpack(stack, i.n); break;
      case Opcode::kTupleIndex: tuple_index(stack); break;
      case Opcode::kTupleSlice: tuple_slice(stack, x, i.n); break;
      case Opcode::kObject: {
        stack.push_back(new_object(static_cast<ClassType&>(*code->types_[x][0])));
        break;
      }
      case Opcode::kGetAttr: {
        IValue value = attribute_of(object_of(stack.back()), x, code->node(frame->pc));
        stack.back() = std::move(value);
        break;
      }
      case Opcode::kSetAttr: {
        IValue value = popped(stack);
        Object& object = object_of(stack.back());
        if (object.slots.size() <= x) object.slots.resize(x + 1);
        object.slots[x] = std::move(value);
        object.written();
        stack.pop_back();
        break;
      }
      case Opcode::kIsInstance: {
        const IValue value = popped(stack);
        const auto& types = code->types_[x];
        stack.emplace_back(std::any_of(types.begin(), types.end(),
                                       [&](const TypeRef& t) { return is_instance(value, *t); }));
        break;
      }
      case Opcode::kRaise: raise_exception(stack, i.n);
      case Opcode::kGuard: {
        const InputGuard& guard = code->guards_[x];
        const IValue& value = stack[frame->stack + static_cast<size_t>(guard.input)];
        const bool holds = guard.holds(value);
        if constexpr (kRecorded) frame->executor->record_guard(*frame, guard, value, holds);
        if (!holds) at = first + code->bail_out_;
        break;
      }
      case Opcode::kBailOut: {
        step(i);
        frame->code = &frame->executor->bail_out(*frame, stack, kRecorded);
        frame->pc = 0;
        const size_t expected = frame->registers + frame->code->register_count_;
        if (machine_.registers.size() < expected) machine_.registers.resize(expected);
        reload();
        continue;
      }
      case Opcode::kFused: code->groups_[x]->run(stack, frame->id); break;
      case Opcode::kScalar: code->programs_[x]->run(stack); break;
    }
    step(i);
  }
}

void run(const Code& code, Stack& stack, Executor* executor) {
  MachineLease lease;
  InterpreterState& machine = *lease;
  const auto first = stack.end() - static_cast<std::ptrdiff_t>(code.input_count());
  for (auto it = first; it != stack.end(); ++it) push_moved(machine.stack, *it);
  stack.erase(first, stack.end());
  std::unique_ptr<InterpreterHolders> uses;
  if (events::on()) [[unlikely]]
    uses = std::make_unique<InterpreterHolders>();
  Interpreter interpreter(machine, uses.get());
  try {
    if (uses) [[unlikely]] {
      interpreter.enter<true>(code, executor);
      interpreter.go<true>();
    } else {
      interpreter.enter<false>(code, executor);
      interpreter.go<false>();
    }
  } catch (const Error& error) {
    const std::vector<Frame>& frames = machine.frames;
    const std::string error_message = error.what();
    if (events::on())
      for (size_t i = frames.size(); i-- > 0;)
        record_frame_end(frames[i], machine.stack, &error_message);
    const auto* inner = dynamic_cast<const NodeError*>(&error);
    const std::string trace =
        frames.empty() ? std::string() : traceback(frames, inner ? inner->node : nullptr);
    interpreter.clear();
    if (uses) uses->ended(stack, stack.size());
    if (error.kind() == ErrorKind::kForeign || trace.empty()) throw;
    const std::string name = error.kind() == kScriptError ? "" : class_name(error.kind()) + ": ";
    throw Error(error.kind(),
                message("The following operation failed in the TorchScript interpreter.\n", trace,
                        name, error_message, "\n"));
  } catch (...) {
    interpreter.clear();
    if (uses) uses->ended(stack, stack.size());
    throw;
  }
  const size_t results = stack.size();
  for (IValue& value : machine.stack) push_moved(stack, value);
  machine.stack.clear();
  if (uses) [[unlikely]]
    uses->ended(stack, results);
}

}  // namespace uh::jit
