// The parts of a FusedKernel: items, steps that compute them, and registers.
//
// Invariant: a unit reads results of earlier units; register r holds one item from the unit that
// computes it to the last unit that reads it. An output is written to its own memory and needs no
// register. If violated: a step reads another item's data.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "backend/cpu/reduce/reducer.h"
#include "jit/fused/block.h"
#include "jit/fused/program.h"
#include "jit/fused/step_operators.h"

namespace uh::jit::fused {

inline constexpr size_t kMaxInputs = 32;
inline constexpr size_t kMaxNumbers = 32;  // counted once per dtype
inline constexpr size_t kMaxOutputs = 16;
inline constexpr size_t kMaxSteps = 128;
inline constexpr size_t kMaxOperands = 3;

// The value of a Term.
struct Item {
  enum class ItemKind : int8_t {
    kInput,   // index: among the inputs
    kGiven,   // index: among the numbers of a launch
    kNumber,  // index: among numbers
    kStep,    // index: among steps
  };
  ItemKind is;
  TermKind kind;
  int index;
  int output = -1;    // of a step: index of its output, if any
  int reg = -1;       // of a step that is not an output but is read
  int last_use = -1;  // the last unit that reads it; the number of units for an output
};

// A number in the dtype that a step reads: a constant, or a number of the launch.
struct Number {
  Scalar value;
  int launch_index = -1;  // among the launch's numbers, or -1
  DType dtype;
  Slot slot{};  // of the constant
};

struct Step {
  const StepOperator* op = nullptr;  // null: a conversion
  LoopFn loop = nullptr;
  std::shared_ptr<const Params> params;
  DType dtype = DType::kFloat32;  // computed in
  size_t arity = 0;
  std::array<int, kMaxOperands> operands{};     // items
  std::array<int, kMaxOperands> unconverted{};  // the same before conversion
  int result = -1;                              // item
  ResultStrides strides = ResultStrides::kLoop;
  bool live = false;  // an output depends on it
};

// A call per tile: a step's loop, or a block of steps.
struct Unit {
  std::vector<int> steps;
  std::unique_ptr<Block> block;  // null: the loop of the only step

  std::vector<int> reads(const FusedKernel& program) const;  // items, without duplicates
  std::vector<int> writes(const FusedKernel& program) const;
};

struct Output {
  int item;
  const FoldOperator* reduction = nullptr;
  const Fold* fold = nullptr;  // of the reduction
  DType dtype;                 // of the result
  bool keepdim = false;
};

struct OpenclText;  // on_opencl.h

class FusedKernel {
 public:
  FusedKernel() = default;
  // Makes the program of some of the outputs.
  FusedKernel(const FusedKernel& original, const std::vector<int>& outputs);

  std::vector<Item> items;
  std::vector<Step> steps;
  std::vector<Number> numbers;
  std::vector<Output> outputs;
  std::vector<int> inputs;          // items
  std::vector<int> launch_numbers;  // items: the numbers of a launch
  std::vector<Scalar::Kind> given_kinds;
  int reduced_dims = 0;  // of reduction outputs; or Builder::kAllDims
  bool reduces() const;
  TermKind kind(int id) const { return items[static_cast<size_t>(id)].kind; }
  bool is_number(int id) const;  // constant, or of a launch

  // For the Builder: find or add an item.
  int number_item(const Number& expected);
  int converted(int id, DType dtype, bool copy = false);
  int add_conversion(int id, DType dtype);  // a new one
  int add(Step step, TermKind result_kind);

  // Finds the live steps, groups them into units and assigns registers. Called once, after the last
  // step and output were added.
  void plan();
  std::vector<Unit> units;         // in execution order: Note [Phases]
  std::vector<int64_t> registers;  // bytes per element
  size_t live_steps = 0;
  bool all_inputs_used = false;

  // Note [Outputs of several shapes]: if an output is smaller than the space that all inputs
  // broadcast to, the outputs of each shape are computed by a separate program with the steps that
  // they need. It is built and cached at the first such launch.
  const FusedKernel& with_outputs(const std::vector<int>& selected) const;

  // The program in OpenCL C; null where the device does not compute it.
  const OpenclText* opencl_text(Device device) const;

 private:
  void mark_live();
  void schedule();
  void allocate();
  bool in_place(const Unit& unit, int id) const;

  mutable std::mutex mutex_;
  mutable std::vector<std::pair<std::vector<int>, std::unique_ptr<FusedKernel>>> parts_;
  mutable std::vector<std::pair<Device, const OpenclText*>> opencl_texts_;
};

}  // namespace uh::jit::fused
