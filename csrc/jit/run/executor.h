// Executor: chooses and compiles the Code that a call of a Function runs.
//
// The first call compiles the graph, optimised for any input (the general code), and profiles:
// after kProfiledRuns calls with tensors of the same dtypes, ranks and requires_grad, a copy of
// the graph with these properties in its types is optimised and compiled, with GUARDs at its
// entry. If a guard fails, BAIL_OUT continues with another specialisation or the general code.
// Sizes are not specialised: a batch of another size runs the same code. Tensors within tuples,
// lists and modules have no guards: fusion groups check their inputs. Invariant: compiled code,
// at most kMaxSpecialisations, lives as long as the Executor; a running frame points to it
// without a reference. General code accepts every input. Read next: pipeline.h (the passes),
// interpreter.h.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "jit/run/code.h"
#include "jit/run/interpreter.h"

namespace uh::jit {

class Executor {
 public:
  static constexpr int64_t kProfiledRuns = 2;
  static constexpr size_t kMaxSpecialisations = 4;
  static constexpr size_t kMaxProfiles = 16;

  Executor(Function& function);
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  int64_t function_id() const;
  // Pops the arguments, which must be the whole stack, and pushes the result.
  void run(Stack& stack);

  // The code that a call with the arguments on top of the stack starts with. `recorded`: code whose
  // every step can be recorded (no scalar programs).
  const Code& code_for(const Stack& stack, bool recorded) {
    const Plan* plan = current_.load(std::memory_order_acquire);
    if (plan && !recorded) [[likely]]
      return *plan->code;
    return slow_code_for(stack, recorded);
  }
  // A guard of the frame's code has failed: returns the code to continue with, and records the
  // reason.
  const Code& bail_out(const Frame& frame, const Stack& stack, bool recorded);
  void record_guard(const Frame& frame, const InputGuard& guard, const IValue& value, bool holds);

  // The specialised graph for these arguments, as after enough profiled calls; optimised now if
  // necessary.
  GraphRef graph_for(const Stack& arguments);
  // "input x: Float(*, *), specialised for Float(*)"; empty if the guards hold.
  std::string mismatch(const Code& code, const IValue* arguments) const;

  const Code& general_code();
  size_t specialised_count() const;

 private:
  // A variant of the code: general (no guards) or specialised.
  struct Plan {
    std::vector<InputGuard> guards;
    GraphRef graph;
    CodeRef code;
    CodeRef watched;  // without scalar programs; compiled at first use
    bool fits(const IValue* arguments) const;
  };
  struct Profile {
    std::vector<InputGuard> seen;
    int64_t runs = 0;
  };

  const Code& slow_code_for(const Stack& stack, bool recorded);
  const Code& code_of(Plan& plan, bool recorded);
  const IValue* arguments_of(const Stack& stack) const;
  std::vector<InputGuard> guards_for(const IValue* arguments) const;
  GraphRef graph_for_any_input() const;
  Plan& general();
  // Counts a call; returns the plan for its arguments, perhaps a new one; null for the general one.
  Plan* profile(const IValue* arguments);
  GraphRef specialised_graph(const std::vector<InputGuard>& guards) const;
  Plan& specialise(const std::vector<InputGuard>& guards, int64_t runs);

  Function& function_;
  const size_t input_count_;
  std::vector<int32_t> tensors_;   // the inputs that have guards
  bool computes_tensors_ = false;  // otherwise specialising is useless
  std::atomic<const Plan*> current_{nullptr};
  mutable std::recursive_mutex lock_;
  std::unique_ptr<Plan> general_;
  std::vector<std::unique_ptr<Plan>> specialised_;
  std::vector<Profile> profiles_;
};

}  // namespace uh::jit
