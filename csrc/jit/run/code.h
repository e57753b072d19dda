// Code: the instructions of a Graph, for an interpreter with registers and a stack, as in the talk
// "PyTorch under the hood".
//
// An instruction pops its operands from the stack and pushes its results; LOAD, MOVE and STORE
// transfer between stack and registers. A Value with a single, immediate use never leaves the
// stack. Any other is in a register from its definition to its last use, which is a MOVE: it
// empties the register, so that a tensor dies as early as in hand-written code. Invariant: a
// register holds one Value at a time; at every pc the stack has the same depth on all paths. Code
// is immutable once compiled, and keeps its graph alive. If violated: an operator gets another
// operator's arguments. Read next: compile.cpp (creates Code), interpreter.h (runs it).
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "jit/ir/graph.h"

namespace uh::jit {

class Builtin;
class Function;
class FusionGroup;
class ScalarProgram;

// UH_OPCODE(Name, "TEXT", meaning of `x`, meaning of `n`, description)
#define UH_OPCODES(UH_OPCODE)                                                                      \
  UH_OPCODE(Op, "OP", "operator", "arguments", "calls an operator")                                \
  UH_OPCODE(Load, "LOAD", "register", "", "pushes a register's value")                             \
  UH_OPCODE(Move, "MOVE", "register", "", "pushes a register's value and empties the register")    \
  UH_OPCODE(Store, "STORE", "register", "", "pops into a register")                                \
  UH_OPCODE(StoreN, "STOREN", "first register", "registers", "pops into registers in a row")       \
  UH_OPCODE(Drop, "DROP", "", "", "pops an unused value")                                          \
  UH_OPCODE(DropR, "DROPR", "register", "", "empties a register")                                  \
  UH_OPCODE(Const, "CONST", "constant", "", "pushes a constant")                                   \
  UH_OPCODE(Jump, "JUMP", "target", "", "jumps")                                                   \
  UH_OPCODE(JumpIfFalse, "JUMP_IF_FALSE", "target", "", "pops a bool and jumps when it is false")  \
  UH_OPCODE(Loop, "LOOP", "target", "first of two registers",                                      \
            "pops a bool; counts up; jumps if it is false or after the last iteration")            \
  UH_OPCODE(Call, "CALL", "function", "arguments", "enters a function in a new frame")             \
  UH_OPCODE(CallMethod, "CALL_METHOD", "function", "arguments", "enters a method")                 \
  UH_OPCODE(Return, "RETURN", "", "results", "leaves the frame")                                   \
  UH_OPCODE(List, "LIST", "", "items", "pops items, pushes a list")                                \
  UH_OPCODE(Tuple, "TUPLE", "", "items", "pops items, pushes a tuple")                             \
  UH_OPCODE(Dict, "DICT", "", "keys and values", "pops keys and values, pushes a dictionary")      \
  UH_OPCODE(Unpack, "UNPACK", "", "items", "pops a tuple or list, pushes its items")               \
  UH_OPCODE(TupleIndex, "TUPLE_INDEX", "", "", "pops a tuple and an int, pushes that item")        \
  UH_OPCODE(TupleSlice, "TUPLE_SLICE", "first item", "items", "pops a tuple, pushes part of it")   \
  UH_OPCODE(Object, "OBJECT", "type", "", "pushes a new object of a class")                        \
  UH_OPCODE(GetAttr, "GET_ATTR", "slot", "", "pops an object, pushes its attribute")               \
  UH_OPCODE(SetAttr, "SET_ATTR", "slot", "", "pops an object and a value, sets its attribute")     \
  UH_OPCODE(IsInstance, "ISINSTANCE", "type", "types", "pops a value, pushes true if it is one")   \
  UH_OPCODE(Raise, "RAISE", "", "operands", "pops message and class, and raises")                  \
  UH_OPCODE(Guard, "GUARD", "guard", "", "goes to BAIL_OUT if an argument does not match")         \
  UH_OPCODE(BailOut, "BAIL_OUT", "", "", "continues in less specialised code")                     \
  UH_OPCODE(Fused, "FUSED", "fusion group", "arguments", "runs a fusion group tile by tile")       \
  UH_OPCODE(Scalar, "SCALAR", "program", "arguments", "runs a scalar program, unboxed")

enum class Opcode : uint8_t {
#define UH_OPCODE(name, text, x, n, doc) k##name,
  UH_OPCODES(UH_OPCODE)
#undef UH_OPCODE
};
std::string_view text_of(Opcode op);

struct Instruction {
  Opcode op;
  uint16_t n = 0;
  int32_t x = 0;
};
static_assert(sizeof(Instruction) == 8);

// Tensor properties of an argument that specialised code relies on; GUARD checks them at its entry.
// Sizes are not included: a batch of another size runs the same code.
struct InputGuard {
  int32_t input = 0;
  DType dtype = DType::kUndefined;
  Device device = Device::kUndefined;
  int32_t rank = 0;
  bool requires_grad = false;

  bool holds(const IValue& value) const;
  bool operator==(const InputGuard&) const = default;
  // "Float(*, *, requires_grad=0, device=cpu)"
  std::string text() const;
};
// The guard that matches this value; rank -1, which no guard has, if it is not a tensor.
InputGuard guard_of(const IValue& value, int32_t input);

class Code final : public RefCounted {
 public:
  ~Code() override;

  int64_t id() const { return id_; }
  const std::string& name() const { return name_; }
  const GraphRef& graph() const { return graph_; }
  const std::vector<Instruction>& instructions() const { return instructions_; }
  // The node of an instruction; null for the code's own (RETURN, GUARD).
  const Node* node(size_t pc) const { return nodes_[pc]; }
  // The Value that LOAD, MOVE, STORE, DROPR, CONST transfer; null for others.
  const Value* value(size_t pc) const { return values_[pc]; }
  const std::vector<IValue>& constants() const { return constants_; }
  const std::vector<InputGuard>& guards() const { return guards_; }
  size_t input_count() const { return input_count_; }
  size_t output_count() const { return output_count_; }
  bool has_scalar_programs() const { return !programs_.empty(); }

  // One instruction: `MOVE 3 (%x.1)`, `OP aten::mul.Tensor`.
  std::string text(size_t pc) const;
  // All instructions, numbered, one per line.
  std::string text() const;
  // {"name", "registers", "watched", "instructions": [{"text", "op", "x", "n", "node", "value",
  //  "span"}], "constants": [text], "guards": [{"input", "text"}]}
  // watched: variant for recordings of every step. Without a recording, loops of numbers are
  // machine code.
  std::string json() const;
  // Records this code, once per recording.
  void record(int64_t function) const;
  static int64_t alive();  // the number of live Codes

 private:
  friend class Compiler;
  friend class Interpreter;
  Code(GraphRef graph, std::string name);
  void record_constants();

  const int64_t id_;
  const GraphRef graph_;
  const std::string name_;
  std::vector<Instruction> instructions_;
  std::vector<const Node*> nodes_;
  std::vector<const Value*> values_;
  std::unique_ptr<HolderTracker> holders_;  // destroyed after the constants that it reports
  std::vector<IValue> constants_;
  struct Operator {
    OperatorInfo* info;
    const Builtin* builtin;  // null for an operator
    bool alone;              // needs a stack that has only its arguments
    bool lists;              // returns plain arrays, which programs use as lists
    bool operator==(const Operator& other) const { return info == other.info; }
  };
  std::vector<Operator> operators_;
  std::vector<Ref<Function>> functions_;
  std::vector<std::vector<TypeRef>> types_;
  std::vector<InputGuard> guards_;
  std::vector<Ref<ScalarProgram>> programs_;
  std::vector<Ref<FusionGroup>> groups_;
  std::vector<Ref<RefCounted>> forks_;  // own the operators that the code calls
  size_t register_count_ = 0, input_count_ = 0, output_count_ = 0;
  size_t bail_out_ = 0;                           // pc of BAIL_OUT
  bool watched_ = false;                          // compiled without scalar programs
  mutable std::atomic<uint64_t> recorded_in_{0};  // the last recording that contains it
};
using CodeRef = Ref<Code>;

struct CompileOptions {
  std::vector<InputGuard> guards;
  bool scalar_programs = true;  // unbox loops of numbers; false: steps can be recorded
};

// Throws a RuntimeError that names the node if the graph has one that cannot be run.
CodeRef compile(const GraphRef& graph, std::string name, const CompileOptions& options = {});

}  // namespace uh::jit
