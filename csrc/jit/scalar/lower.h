// Lowering of nodes to the instructions of a ScalarProgram.
#pragma once

#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "jit/scalar/program.h"

namespace uh::jit {

std::optional<ScalarType> scalar_type(const Type& type);

enum class Comparison : uint8_t { kEq, kNe, kLt, kLe, kGt, kGe };
// Nothing if the node is not a comparison of two numbers.
std::optional<Comparison> comparison_of(const Node& node);

// True for a node without numeric results that matters only if the program fails: part of the
// message of a raise.
bool is_cold(const Node& node);

// Emits the instructions of one program: control flow here, operators in operators.cpp.
class ScalarLowering {
 public:
  ScalarLowering();

  void input(const Value* value);
  void loop(const Node& node);
  void body(const Block& block);
  void finish(const std::vector<const Value*>& outputs);
  Ref<ScalarProgram> take() { return std::move(program_); }

 private:
  // The operands of a comparison, both floats or both ints. b > a and b >= a are a < b and a <= b.
  struct Compared {
    Comparison comparison;
    bool floats;
    Slot a, b;
  };
  using Label = int32_t;
  using Slots = std::unordered_map<const Value*, Slot>;

  // ---- slots
  Slot slot(const Value* value);
  Slot fresh(ScalarType type);
  Slot constant(ScalarType type, int64_t bits);
  Slot integer(int64_t value) { return constant(ScalarType::kInt, value); }
  Slot real(double value);
  ScalarType type(Slot s) const { return program_->types[s]; }
  std::optional<int64_t> known(Slot s) const;
  Slot as_float(Slot s);
  Compared compared(const Node& node);

  // ---- instructions
  Label label();
  void bind(Label label);
  void emit(ScalarOp op, Slot dst, Slot a = 0, Slot b = 0, int32_t x = 0);
  Slot result(ScalarOp op, ScalarType type, Slot a, Slot b = 0, int32_t x = 0);
  void move(Slot to, Slot from);
  void jump(Label to) { emit(ScalarOp::kJump, 0, 0, 0, to); }
  int32_t site(const Node& node);
  // Leaves the program through the node's own operator if a == b.
  void trap_if_equal(ScalarOp compare, Slot a, Slot b, const Node& node);

  // ---- control flow (lower.cpp)
  void block(const Block& block);
  void branches(const Node& node);
  std::vector<Slot> begin_carrying(const Node& loop);
  Slots carry_on(const Block& body, const std::vector<Slot>& carried);
  Slot truth_of(const Value* condition);
  void branch(const Value* condition, Label yes, Label no, bool yes_is_next);
  void compare(const Node& node, Label yes, Label no, bool yes_is_next);
  bool defers(const Node& node);
  bool uses_changed(const Value* condition, const Node& loop);

  // ---- operators (operators.cpp)
  void operation(const Node& node);
  Slot arithmetic(const Node& node, std::string_view name);
  Slot division(const Node& node, std::string_view name);
  Slot integer_division(const Node& node, bool quotient, Slot a, Slot b);
  Slot comparison(const Node& node);
  Slot bits(const Node& node, std::string_view name);
  Slot conversion(const Node& node, std::string_view name);
  Slot function(const Node& node, std::string_view name);
  Slot power(const Node& node);
  Slot range_length(const Node& node);
  Slot boxed(const Node& node);
  Slot or_boxed(const Node& node, Slot result_slot, Slot a, Slot b);
  void cold(const Node& node, Label label, Slot dst, Label back);

  struct Trap {
    Label label;
    int32_t site;
    Slot dst;
    Label back;  // -1: does not come back
  };

  Ref<ScalarProgram> program_;
  Slots slots_;
  std::unordered_map<const Node*, bool> deferred_;
  std::vector<int32_t> labels_;  // position of each
  std::vector<Trap> traps_;      // emitted after everything else
};

}  // namespace uh::jit
