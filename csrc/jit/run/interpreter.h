// Interpreter: runs Code with frames, registers and a stack.
//
// What: one loop over instructions. A call of a scripted function is a new frame of the same loop,
// so recursion costs no C++ stack; there are at most kMaxFrames. Two loops come from one template:
// while a recording is on, each step is told (JIT_STEP), otherwise nothing asks.
// Invariant: what is thrown out of run() says where in the program it happened ("Traceback of
// TorchScript"), and keeps the class of the error; the stack then is as long as without the
// arguments. An exception of the host language goes through as it is.
// Read next: interpreter_errors.cpp (tracebacks), interpreter_events.cpp (what a step tells).
#pragma once

#include <string>
#include <vector>

#include "events/recorder.h"
#include "jit/run/code.h"

namespace uh::jit {

class Executor;

constexpr size_t kMaxFrames = 10'000;
// Of one run as many steps are recorded; then a JIT_WARNING says that the rest is not.
constexpr int64_t kMaxRecordedSteps = 20'000;

// What `raise` and `assert` of scripted programs throw: torch.jit.Error.
inline constexpr ErrorKind kScriptError = ErrorKind::kScript;

// Takes the code's inputs off the stack and leaves its outputs there. `executor` gives other code
// when a guard does not hold; null where the code has no guards.
void run(const Code& code, Stack& stack, Executor* executor = nullptr);

struct Frame {
  const Code* code;
  Executor* executor;
  size_t pc = 0;
  size_t registers = 0;  // where its registers begin
  size_t stack = 0;      // how long the stack is without its arguments
  int64_t id = 0;        // of events; 0 while nothing is recorded
  int64_t steps = 0;
};

// "Traceback of TorchScript (most recent call last):" and the lines of each frame.
// `where`: the node of the last frame, where its instruction stands for several.
std::string traceback(const std::vector<Frame>& frames, const Node* where = nullptr);
// What Python calls an error of this kind.
std::string class_name(ErrorKind kind);
// Pops the operands of prim::RaiseException and throws: "RuntimeError: AssertionError: x", or with
// the class that the program names.
[[noreturn]] void raise_exception(Stack& stack, size_t n);
// One place: file, line, function, the lines around it and `~~~~ <--- HERE`.
std::string place_text(const Span& span, const std::string& function);

// Events with a text, then one function per event.
void emit_text(events::Kind kind, int64_t a, int64_t b, int64_t c, int64_t d,
               const std::string& text);
int64_t next_frame_id();
void record_frame(const Frame& frame, int64_t parent, const Stack& stack);
void record_step(const Frame& frame, const Instruction& instruction, const IValue* registers,
                 const Stack& stack);
void record_step_limit(const Frame& frame);
void record_frame_end(const Frame& frame, const Stack& stack, const std::string* error);
// A value in a few words, as the stack and the registers show it: tensors by number.
std::string short_json(const IValue& value);

}  // namespace uh::jit
