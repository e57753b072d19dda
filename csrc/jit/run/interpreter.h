// Interpreter: runs Code with frames, registers and a stack.
//
// One loop over instructions. A call of a scripted function adds a frame to the same loop, so
// recursion uses no C++ stack; there are at most kMaxFrames. One template generates two loops: one
// records each step (JIT_STEP), the other does not check for a recording. Invariant: an error
// thrown by run() keeps its class and gains the position in the program ("Traceback of
// TorchScript"); the stack then has no arguments. An exception of the host language is rethrown
// unchanged. Read next: interpreter_errors.cpp (tracebacks), interpreter_events.cpp (the events of
// a step).
#pragma once

#include <string>
#include <vector>

#include "events/recorder.h"
#include "jit/run/code.h"

namespace uh::jit {

class Executor;

constexpr size_t kMaxFrames = 10'000;
// The maximum of recorded steps per run; then a JIT_WARNING says that later steps are missing.
constexpr int64_t kMaxRecordedSteps = 20'000;

// The error of `raise` and `assert` in scripted programs: torch.jit.Error.
inline constexpr ErrorKind kScriptError = ErrorKind::kScript;

// Pops the code's inputs from the stack and pushes its outputs. `executor` provides other code if a
// guard fails; null if the code has no guards.
void run(const Code& code, Stack& stack, Executor* executor = nullptr);

struct Frame {
  const Code* code;
  Executor* executor;
  size_t pc = 0;
  size_t registers = 0;  // the index of its first register
  size_t stack = 0;      // the length of the stack without its arguments
  int64_t id = 0;        // of events; 0 unless recording
  int64_t steps = 0;
};

// "Traceback of TorchScript (most recent call last):" and the lines of each frame.
// `failed`: the failed node of the last frame, if its instruction runs several nodes.
std::string traceback(const std::vector<Frame>& frames, const Node* failed = nullptr);
// The name of Python's class for this kind of error.
std::string class_name(ErrorKind kind);
// Pops the operands of prim::RaiseException and throws: "RuntimeError: AssertionError: x", or with
// the class that the program names.
[[noreturn]] void raise_exception(Stack& stack, size_t n);
// A traceback entry: file, line, function, the lines around the span and `~~~~ <--- HERE`.
std::string highlight(const Span& span, const std::string& function);

// Records an event with a string; below is one function per event.
void emit_text(events::Kind kind, int64_t a, int64_t b, int64_t c, int64_t d,
               const std::string& text);
int64_t next_frame_id();
void record_frame(const Frame& frame, int64_t parent, const Stack& stack);
void record_step(const Frame& frame, const Instruction& instruction, const IValue* registers,
                 const Stack& stack);
void record_step_limit(const Frame& frame);
void record_frame_end(const Frame& frame, const Stack& stack, const std::string* error);

}  // namespace uh::jit
