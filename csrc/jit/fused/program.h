// FusedKernel: a group of pointwise operators as straight-line steps, run tile by tile.
//
// A Builder takes inputs, operators and outputs; build() returns a program that is independent of
// the graph. run() computes the outputs in one pass over memory: all steps run on some 500 elements
// while these are in the L1 cache. Invariant: a step is the very loop that the operator runs
// eagerly (generated from its yaml expression, per dtype and instruction set), or machine code of
// the same operations, rounding by rounding (block.h). So every output but a reduction equals
// eager's bit for bit, including 16-bit floats (rounded at every step). Exceptions: which of two
// NaNs results is unspecified, and glibc's functions differ in the last bit between eager's vector
// and scalar loops. Output strides are eager's, too. If violated: fusing a graph changes its
// results.
//
// Use by prim::FusionGroup:
//   can_fuse("aten::mul.Tensor", {{{TermKind{DType::kFloat32}, Scalar(2.0)}}})   while it grows
//   Builder b;                                              once, when the group is compiled
//   Term x = b.input({DType::kFloat32});                    {dtype, has no dimensions}
//   Term y = *b.step("aten::mul.Tensor", {{x, Scalar(2.0)}});
//   b.output(y);  or  b.reduce("aten::sum", y, 1);
//   ProgramRef program = b.build();
//   run(*program, inputs, outputs);                         at every launch
// There is one argument per argument of the operator's schema, defaults included. A guard must have
// checked that the inputs have the assumed dtypes and zero_dim flags (matches()), are on one
// device, and that neither gradients nor a trace are required: run() bypasses the dispatcher.
// Read next: build.cpp (which operators are steps), launch.cpp (the loop), step_operators.h (the
// generated table).
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ops/pointwise.h"

namespace uh::jit::fused {

class FusedKernel;
using ProgramRef = std::shared_ptr<FusedKernel>;

// The properties that dtype promotion depends on.
struct TermKind {
  DType dtype;
  bool zero_dim = false;  // decides no dtype over a tensor that has dimensions
  bool operator==(const TermKind&) const = default;
};

// A value that steps read: an input, a number, or the result of a step.
struct Term {
  int id = -1;
};

// One argument of an operator: nothing (None), a term, a number, a dtype, or a string.
using StepArgument = std::variant<std::monostate, Term, Scalar, DType, std::string>;
// The same without a Builder: a tensor is represented by its kind.
using StepArgumentKind = std::variant<std::monostate, TermKind, Scalar, DType, std::string>;

// Returns the kind of the operator's result; nullopt if it cannot be a step: it is not pointwise,
// has no loop for these dtypes, rejects them, or may fail while it runs (integer division). The
// name is "aten::add.Tensor" or "add.Tensor".
std::optional<TermKind> can_fuse(std::string_view op, std::span<const StepArgumentKind> arguments);

class Builder {
 public:
  Builder();
  ~Builder();
  Builder(Builder&&) noexcept;

  // Inputs and numbers are passed to run() in the order of these calls.
  Term input(TermKind kind);
  // A number that is known only at run time. It promotes like a number.
  Term number(Scalar::Kind kind);

  // Returns nullopt and adds nothing if the operator cannot be a step, or the program would be too
  // long.
  std::optional<Term> step(std::string_view op, std::span<const StepArgument> arguments);
  TermKind kind(Term term) const;

  // run() returns outputs in the order of these calls.
  void output(Term term);
  // Adds a reduction that has a fold ("aten::sum"; yaml key `fold`) over the last `dims`
  // dimensions, or over all of them (kAllDims). Returns false and adds nothing if there is no fold,
  // the elements are not floating, or the dimensions differ from those of the program's other
  // reductions.
  static constexpr int kAllDims = -1;
  bool reduce(std::string_view op, Term term, int dims, bool keepdim = false);

  // The builder is empty afterwards.
  ProgramRef build();

 private:
  bool is_tensor(Term term) const;
  // Adds the steps of an operator that is not a single step.
  std::optional<Term> expand(std::string_view op, std::span<const StepArgument> arguments);

  ProgramRef program_;
};

// Statistics of a launch, for the recorder.
struct Launch {
  int64_t elements = 0;  // of the space that is walked
  int64_t tile = 0;      // elements per tile
  int64_t tiles = 0;
  int64_t threads = 1;
  int64_t gathered = 0;  // inputs that are copied tile by tile because of their memory order
  int64_t l1_bytes = 0;  // of registers and gathered tiles
  int64_t ns = 0;        // duration of run()
};

// True if programs run on the device.
inline bool runs_on(Device device) {
  return device.type == DeviceType::kCPU || device.type == DeviceType::kOpenCL;
}
// Returns true if the program was built for inputs of these dtypes and kinds.
bool matches(const FusedKernel& program, std::span<const Tensor> inputs);

// Computes the outputs, on the device of the inputs. Inputs broadcast against each other. Throws a
// RuntimeError if they do not, or if an input does not match the program.
void run(const FusedKernel& program, std::span<const Tensor> inputs, std::span<Tensor> outputs,
         std::span<const Scalar> numbers = {}, Launch* launch = nullptr);

size_t input_count(const FusedKernel& program);
size_t output_count(const FusedKernel& program);

// JSON for the explorer: {"inputs": [{"dtype", "zero_dim", "used"}], "numbers", "outputs":
// [{"dtype", "tree": {"step", "op", "dtype", "operands": [tree or {"leaf"}]}; of reductions
// "reduce", "dims"}], "steps": [{"op", "computes", "dtype", "operands", "parameters", "to",
// "expr"}], "units": [{"kind": "loop" | "block", "reads", "writes", "code_bytes"}], "registers":
// [bytes per element], "tile", "l1_bytes", and per element "read_bytes", "written_bytes",
// "eager_bytes"}; with a launch also {"launch": {"elements", "tile", "tiles", "threads",
// "gathered", "l1_bytes"}}.
std::string describe(const FusedKernel& program, const Launch* launch = nullptr);

}  // namespace uh::jit::fused
