// ScalarProgram: a loop, or a complete graph, of int, float and bool, compiled to unboxed code:
// machine code on x86-64, else instructions of a portable machine with 8-byte slots.
//
// Instructions have three slots each (`a = b op c`); compare-and-branch is one instruction. A Value
// is a slot; moves between iterations are merged away (liveness.h). Both machines run the same
// instructions: run.cpp interprets them, x86.cpp compiles them. Invariant: results and errors are
// those of the interpreter, bit for bit. Operations that can fail are not done here: a division by
// zero or a raise leaves the program by a Site, which calls the node's own operator on boxed
// values, with the interpreter's message and the node's source line. Loops poll for Ctrl+C. If
// violated: a program's result depends on whether it is recorded.
// Read next: lower.cpp (graph to instructions).
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "jit/assembler/code_memory.h"
#include "jit/ir/graph.h"

namespace uh::jit {

enum class ScalarType : uint8_t { kInt, kFloat, kBool };

// UH_SCALAR(Name, shape): D = writes dst, A and B = reads a and b, X = x is a jump target.
// clang-format off
#define UH_SCALAR_OPS(UH_SCALAR)                                                                   \
  UH_SCALAR(Move, "DA")                                                                            \
  UH_SCALAR(AddI, "DAB") UH_SCALAR(SubI, "DAB") UH_SCALAR(MulI, "DAB")                             \
  UH_SCALAR(FloorDivI, "DAB") UH_SCALAR(ModI, "DAB")                                               \
  UH_SCALAR(AndI, "DAB") UH_SCALAR(OrI, "DAB") UH_SCALAR(XorI, "DAB")                              \
  UH_SCALAR(ShlI, "DAB") UH_SCALAR(ShrI, "DAB")                                                    \
  UH_SCALAR(MinI, "DAB") UH_SCALAR(MaxI, "DAB")                                                    \
  UH_SCALAR(NegI, "DA") UH_SCALAR(NotI, "DA") UH_SCALAR(AbsI, "DA")                                \
  UH_SCALAR(AddF, "DAB") UH_SCALAR(SubF, "DAB") UH_SCALAR(MulF, "DAB") UH_SCALAR(DivF, "DAB")      \
  UH_SCALAR(MinF, "DAB") UH_SCALAR(MaxF, "DAB")                                                    \
  UH_SCALAR(NegF, "DA") UH_SCALAR(AbsF, "DA") UH_SCALAR(SqrtF, "DA")                               \
  UH_SCALAR(FloorF, "DA") UH_SCALAR(CeilF, "DA") UH_SCALAR(TruncF, "DA") UH_SCALAR(RoundF, "DA")   \
  UH_SCALAR(IntToFloat, "DA") UH_SCALAR(FloatToInt, "DA")                                          \
  UH_SCALAR(EqI, "DAB") UH_SCALAR(NeI, "DAB") UH_SCALAR(LtI, "DAB") UH_SCALAR(LeI, "DAB")          \
  UH_SCALAR(EqF, "DAB") UH_SCALAR(NeF, "DAB") UH_SCALAR(LtF, "DAB") UH_SCALAR(LeF, "DAB")          \
  UH_SCALAR(NotB, "DA")                                                                            \
  UH_SCALAR(Call1, "DA") UH_SCALAR(Call2, "DAB") UH_SCALAR(CallI2, "DAB") UH_SCALAR(Boxed, "D")    \
  UH_SCALAR(Jump, "X")                                                                             \
  UH_SCALAR(IfEqI, "ABX") UH_SCALAR(IfNeI, "ABX") UH_SCALAR(IfLtI, "ABX") UH_SCALAR(IfLeI, "ABX")  \
  UH_SCALAR(IfEqF, "ABX") UH_SCALAR(IfNeF, "ABX") UH_SCALAR(IfLtF, "ABX") UH_SCALAR(IfLeF, "ABX")  \
  UH_SCALAR(IfNotLtF, "ABX") UH_SCALAR(IfNotLeF, "ABX")                                            \
  UH_SCALAR(Poll, "") UH_SCALAR(Trap, "") UH_SCALAR(Return, "")
// clang-format on

enum class ScalarOp : uint8_t {
#define UH_SCALAR(name, shape) k##name,
  UH_SCALAR_OPS(UH_SCALAR)
#undef UH_SCALAR
};
std::string_view text_of(ScalarOp op);
std::string_view shape_of(ScalarOp op);
inline bool writes(ScalarOp op) { return shape_of(op).starts_with('D'); }
bool reads_a(ScalarOp op);
bool reads_b(ScalarOp op);
bool jumps(ScalarOp op);  // x is the target
inline bool falls_through(ScalarOp op) {
  return op != ScalarOp::kJump && op != ScalarOp::kTrap && op != ScalarOp::kReturn;
}

using Slot = uint16_t;
struct ScalarInstruction {
  ScalarOp op;
  Slot dst = 0, a = 0, b = 0;
  int32_t x = 0;  // a jump target, a function of Call, a site of Boxed and Trap
};

using Function1 = double (*)(double);
using Function2 = double (*)(double, double);
using IntFunction2 = int64_t (*)(int64_t, int64_t);

// A call of a node's own operator, with its operands in these slots.
struct ScalarSite {
  const Node* node;
  std::vector<std::pair<const Value*, Slot>> captured;
};

class ScalarProgram final : public RefCounted {
 public:
  // Pops the inputs off the stack and pushes the outputs.
  void run(Stack& stack) const;
  std::string text() const;

  struct Port {
    Slot slot;
    ScalarType type;
  };
  std::vector<ScalarInstruction> instructions;
  std::vector<Port> inputs, outputs;
  std::vector<int64_t> initial;   // of every slot: constants, else 0
  std::vector<bool> is_constant;  // slots that are never written
  std::vector<ScalarType> types;  // of every slot
  std::vector<ScalarSite> sites;
  std::vector<Function1> functions1;
  std::vector<Function2> functions2;
  std::vector<IntFunction2> int_functions2;
  CodeMemory native;

  // Calls the site's operator on the slots' values and writes the result to `dst`.
  void call_site(size_t site, int64_t* slots, Slot dst) const;

 private:
  void run_portable(int64_t* slots) const;
  void run_native(int64_t* slots) const;
};

// For tests: programs compiled from now on run on the portable machine only.
void set_native_programs(bool on);
bool native_programs();

// Sets program.native; does nothing on other processors.
void make_native(ScalarProgram& program);

}  // namespace uh::jit
