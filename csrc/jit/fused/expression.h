// Expression: the computation of several steps as one graph of vector operations.
//
// The postfix of each step (StepOperator::postfix) is parsed into nodes; equal values of two steps
// share a node. Invariant: a node comes after its operands.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace uh::jit::fused {

class FusedKernel;
struct Step;

enum class ExprOp : uint8_t {
  kItem,      // an item, element by element
  kUniform,   // an item with one value for all elements
  kConstant,  // a number
  kAdd,
  kSub,
  kMul,
  kDiv,
  kSqrt,
  kAbs,
  kNeg,
  kRound,      // mode: as encoded in the instruction
  kMulAdd,     // a * b + c, rounded once: Note [Joined products]
  kNegMulAdd,  // c - a * b
  kMulSub,     // a * b - c
  kShiftLeft,  // the bits of a, shifted by mode
  kAtMost,     // the smaller of a and b as integers
  kCopySign,   // a with the sign of b
  kCompare,    // mode: as encoded in the instruction
  kAnd,
  kOr,
  kChoose,  // a ? b : c
  // Single instructions of AVX-512: see Expression::finish().
  kLimit,    // the smaller of |a| and |b|; mode: its sign
  kKeepNan,  // b if that is a NaN, else a
};

struct ExprNode {
  ExprOp op;
  int a = -1, b = -1, c = -1;
  int item = -1;
  double number = 0;
  uint8_t mode = 0;

  bool operator==(const ExprNode& other) const;
  bool condition() const {
    return op == ExprOp::kCompare || op == ExprOp::kAnd || op == ExprOp::kOr;
  }
};

// Thrown if steps cannot be compiled as a block; caught by compile_block.
struct NoBlock {};

class Expression {
 public:
  Expression(const FusedKernel& program, bool doubles);

  void add(const Step& step);
  // Called after the last step: merges nodes that the machine computes in one instruction. `wide`:
  // AVX-512.
  void finish(bool wide);
  // The node of a program item, or -1.
  int of_item(int id) const { return values_[static_cast<size_t>(id)]; }
  const std::vector<ExprNode>& nodes() const { return nodes_; }

 private:
  int leaf(int item);

  const FusedKernel& program_;
  bool doubles_;
  std::vector<ExprNode> nodes_;
  std::vector<int> values_;
};

}  // namespace uh::jit::fused
