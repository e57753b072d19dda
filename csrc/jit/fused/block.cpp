#include "jit/fused/block.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "backend/cpu/isa.h"
#include "jit/assembler/vector_assembler.h"
#include "jit/fused/expression.h"
#include "jit/fused/steps.h"

namespace uh::jit::fused {
namespace {

using x86::Source;
using x86::VectorAssembler;

// Translates nodes into instructions. Values use registers from 0 upwards, uniform values from the
// last register downwards. Constants are in memory; conditions are in k2 to k7 of AVX-512, else in
// vector registers.
class Emitter {
 public:
  Emitter(const Expression& expression, bool doubles, Block& block)
      : nodes_(expression.nodes()),
        as_(doubles, isa() == Isa::kV4),
        doubles_(doubles),
        block_(block),
        last_(nodes_.size(), -1),
        reg_(nodes_.size(), -1),
        stores_(nodes_.size()) {
    for (const int item : block.writes) need(expression.of_item(item), kAlways);
    for (size_t i = nodes_.size(); i-- > 0;) {
      if (last_[i] < 0) continue;
      for (const int operand : {nodes_[i].a, nodes_[i].b, nodes_[i].c})
        need(operand, static_cast<int>(i));
    }
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (last_[i] >= 0 && nodes_[i].item >= 0) block.reads.push_back(nodes_[i].item);
    }
    for (size_t i = 0; i < block.writes.size(); ++i) {
      const auto id = static_cast<size_t>(expression.of_item(block.writes[i]));
      stores_[id].push_back(static_cast<int32_t>(block.reads.size() + i));
      // A value is stored as soon as it is computed, so it needs its register only for later reads.
      last_[id] = last_read(static_cast<int>(id));
    }
  }

  void emit() {
    as_.begin();
    int top = as_.registers() - 1;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (last_[i] < 0 || nodes_[i].op != ExprOp::kUniform) continue;
      if (top < as_.registers() / 4) throw NoBlock();
      reg_[i] = top--;
      as_.pointer(pointer_of(nodes_[i].item));
      as_.broadcast(reg_[i]);
    }
    for (int r = top; r >= 0; --r) free_.push_back(r);
    for (int k = 7; k >= 2; --k) free_masks_.push_back(k);
    const std::vector<int> free = free_, free_masks = free_masks_;
    as_.each_vector([&] {
      free_ = free;
      free_masks_ = free_masks;
      for (size_t i = 0; i < nodes_.size(); ++i) {
        if (last_[i] >= 0) node(i);
      }
    });
    put_rest_masks();
    block_.code = CodeMemory(as_.bytes);
    if (!block_.code) throw NoBlock();
  }

 private:
  static constexpr int kAlways = 1 << 30;

  static bool same(double x, double y) { return std::memcmp(&x, &y, sizeof x) == 0; }

  const ExprNode& at(int id) const { return nodes_[static_cast<size_t>(id)]; }
  bool is_number(int id) const { return at(id).op == ExprOp::kConstant; }
  int reg(int id) const { return reg_[static_cast<size_t>(id)]; }

  void need(int id, int by) {
    if (id >= 0) last_[static_cast<size_t>(id)] = std::max(last_[static_cast<size_t>(id)], by);
  }
  int last_read(int id) const {
    for (size_t i = nodes_.size(); i-- > 0;) {
      const ExprNode& n = nodes_[i];
      if (last_[i] >= 0 && (n.a == id || n.b == id || n.c == id)) return static_cast<int>(i);
    }
    return id;
  }
  int32_t pointer_of(int item) const {
    const auto it = std::find(block_.reads.begin(), block_.reads.end(), item);
    return static_cast<int32_t>(it - block_.reads.begin());
  }

  // ---- numbers

  Source number(double value) {
    const auto known =
        std::find_if(numbers_.begin(), numbers_.end(), [&](double n) { return same(n, value); });
    const size_t index = static_cast<size_t>(known - numbers_.begin());
    if (known == numbers_.end()) numbers_.push_back(value);
    const auto width = static_cast<size_t>(as_.number_bytes());
    const size_t offset = static_cast<size_t>(as_.first_number()) + index * width;
    std::byte* to = constants(offset + width) + offset;
    const auto narrow = static_cast<float>(value);
    const size_t item = doubles_ ? sizeof value : sizeof narrow;
    for (size_t at = 0; at < width; at += item)
      std::memcpy(to + at, doubles_ ? static_cast<const void*>(&value) : &narrow, item);
    return {.offset = static_cast<int32_t>(offset)};
  }
  // The block's constants, resized to at least `bytes`.
  std::byte* constants(size_t bytes) {
    block_.constants.resize(std::max(block_.constants.size(), (bytes + 7) / 8));
    return reinterpret_cast<std::byte*>(block_.constants.data());
  }
  // A vector of ones and one of zeros, from which tail masks are loaded.
  void put_rest_masks() {
    const auto both = static_cast<size_t>(as_.first_number());
    if (both != 0) std::memset(constants(both), 0xFF, both / 2);
  }
  // The table of keep_nan(), stored bit by bit as a number of the block.
  Source nan_stays() {
    return number(doubles_ ? std::bit_cast<double>(int64_t{VectorAssembler::kNanStays})
                           : double{std::bit_cast<float>(VectorAssembler::kNanStays)});
  }
  Source source(int id) { return is_number(id) ? number(at(id).number) : Source{reg(id)}; }

  // ---- registers

  static int take(std::vector<int>& free) {
    if (free.empty()) throw NoBlock();
    const int reg = free.back();
    free.pop_back();
    return reg;
  }
  bool dies(int id, size_t i) const {
    const ExprOp op = at(id).op;
    return last_[static_cast<size_t>(id)] == static_cast<int>(i) && op != ExprOp::kConstant &&
           op != ExprOp::kUniform;
  }
  // Frees the registers of operands whose last use is node i, except that of `except`.
  void release(size_t i, int except = -1) {
    const ExprNode& n = nodes_[i];
    const int ids[] = {n.a, n.b, n.c};
    for (int k = 0; k < 3; ++k) {
      const int id = ids[k];
      if (id < 0 || id == except || !dies(id, i) || std::find(ids, ids + k, id) != ids + k)
        continue;
      (at(id).condition() ? masks() : free_).push_back(reg(id));
    }
  }
  std::vector<int>& masks() { return as_.wide() ? free_masks_ : free_; }
  int take_value() { return take(free_); }
  void put(int to, double value) { as_.broadcast(to, number(value).offset); }
  // The register of a value; -1 for a number in memory.
  int register_of(int id) const { return is_number(id) ? -1 : reg(id); }
  // A register that holds the value of `id` and may be overwritten.
  int over(int id, size_t i) {
    if (dies(id, i)) return reg(id);
    const int to = take_value();
    is_number(id) ? put(to, at(id).number) : as_.move(to, reg(id));
    return to;
  }

  // ---- nodes

  void node(size_t i) {
    const ExprNode& n = nodes_[i];
    if (n.op == ExprOp::kConstant && !stores_[i].empty()) throw NoBlock();
    if (n.op == ExprOp::kConstant) return;
    if (n.op != ExprOp::kUniform) reg_[i] = n.condition() ? condition(n, i) : value(n, i);
    for (const int32_t pointer : stores_[i]) {
      as_.pointer(pointer);
      as_.store_vector(reg_[i]);
    }
    // Stored, without uses inside the block.
    if (last_[i] == static_cast<int>(i) && n.op != ExprOp::kUniform) free_.push_back(reg_[i]);
  }

  int condition(const ExprNode& n, size_t i) {
    const int to = as_.wide() ? take(free_masks_) : take_value();
    if (n.op == ExprOp::kCompare && is_number(n.a))
      as_.compare(to, reg(n.b), source(n.a), swapped(n.mode));
    else if (n.op == ExprOp::kCompare)
      as_.compare(to, reg(n.a), source(n.b), n.mode);
    else
      n.op == ExprOp::kAnd ? as_.both(to, reg(n.a), reg(n.b)) : as_.either(to, reg(n.a), reg(n.b));
    release(i);
    return to;
  }
  // The predicate that gives the same result with swapped operands.
  static uint8_t swapped(uint8_t predicate) {
    switch (predicate) {
      case 17: return 30;
      case 30: return 17;
      case 18: return 29;
      case 29: return 18;
      default: return predicate;
    }
  }

  int value(const ExprNode& n, size_t i) {
    switch (n.op) {
      case ExprOp::kMulAdd:
      case ExprOp::kNegMulAdd:
      case ExprOp::kMulSub: return joined(n, i);
      case ExprOp::kAdd:
      case ExprOp::kMul:
      case ExprOp::kAtMost: {
        const bool swapped = register_of(n.a) < 0;
        return two(n, i, swapped ? n.b : n.a, swapped ? n.a : n.b);
      }
      case ExprOp::kLimit: return two(n, i, n.a, n.b);
      case ExprOp::kSub:
      case ExprOp::kDiv:
        if (register_of(n.a) >= 0) return two(n, i, n.a, n.b);
        return over_first(i, n.a, [&](int to) { arithmetic(n.op, to, to, source(n.b)); });
      case ExprOp::kChoose:
        if (register_of(n.c) < 0)
          return over_first(i, n.c, [&](int to) { as_.blend(to, reg(n.a), source(n.b), to); });
        return choose(n, i);
      case ExprOp::kKeepNan:
        if (is_number(n.b)) throw NoBlock();
        return over_first(i, n.a, [&](int to) { as_.keep_nan(to, reg(n.b), nan_stays()); });
      case ExprOp::kCopySign: return with_sign(n, i);
      case ExprOp::kAbs: return without_sign(n, i);
      default: return unary(n, i);
    }
  }

  // The operands are read before the result is written, so it may overwrite one of them.
  int unary(const ExprNode& n, size_t i) {
    if (n.a >= 0 && is_number(n.a)) throw NoBlock();
    release(i);
    const int to = take_value();
    switch (n.op) {
      case ExprOp::kItem:
        as_.pointer(pointer_of(n.item));
        as_.load_vector(to);
        return to;
      case ExprOp::kSqrt: as_.sqrt(to, {reg(n.a)}); return to;
      case ExprOp::kNeg: as_.bit_xor(to, reg(n.a), number(-0.0)); return to;
      case ExprOp::kRound: as_.round(to, {reg(n.a)}, n.mode); return to;
      case ExprOp::kShiftLeft: as_.shift_left(to, reg(n.a), n.mode); return to;
      default: throw NoBlock();
    }
  }
  int without_sign(const ExprNode& n, size_t i) {
    const int to = take_value();
    put(to, -0.0);
    as_.bit_clear(to, to, source(n.a));
    release(i);
    return to;
  }
  int with_sign(const ExprNode& n, size_t i) {
    if (is_number(n.b)) throw NoBlock();
    const int to = take_value();
    put(to, -0.0);
    if (as_.wide()) {
      as_.choose_bits(to, reg(n.b), source(n.a));
      release(i);
      return to;
    }
    const int sign = take_value();
    as_.bit_and(sign, to, {reg(n.b)});
    as_.bit_clear(to, to, source(n.a));
    as_.bit_or(to, to, {sign});
    free_.push_back(sign);
    release(i);
    return to;
  }
  int two(const ExprNode& n, size_t i, int a, int b) {
    const int left = register_of(a);
    if (left < 0) throw NoBlock();
    const Source right = source(b);
    release(i);
    const int to = take_value();
    n.op == ExprOp::kLimit ? as_.limit(to, left, right, n.mode) : arithmetic(n.op, to, left, right);
    return to;
  }
  int choose(const ExprNode& n, size_t i) {
    const int mask = reg(n.a), no = register_of(n.c);
    const Source yes = source(n.b);
    release(i);
    const int to = take_value();
    as_.blend(to, mask, yes, no);
    return to;
  }
  void arithmetic(ExprOp op, int to, int a, Source b) {
    switch (op) {
      case ExprOp::kAdd: return as_.add(to, a, b);
      case ExprOp::kSub: return as_.sub(to, a, b);
      case ExprOp::kMul: return as_.mul(to, a, b);
      case ExprOp::kDiv: return as_.div(to, a, b);
      case ExprOp::kAtMost: return as_.at_most(to, a, b);
      default: throw NoBlock();
    }
  }
  // The result overwrites the register of operand `first`, or a copy of it.
  template <class Instruction>
  int over_first(size_t i, int first, const Instruction& instruction) {
    const int to = over(first, i);
    instruction(to);
    release(i, first);
    return to;
  }

  // An FMA: overwrites the addend, or a factor if the addend is a
  // number.
  int joined(const ExprNode& n, size_t i) {
    const bool swapped = is_number(n.a);
    const int a = swapped ? n.b : n.a, b = swapped ? n.a : n.b;
    if (is_number(a)) throw NoBlock();
    if (!is_number(n.c)) {
      return over_first(i, n.c, [&](int to) {
        if (n.op == ExprOp::kMulAdd) return as_.fma_add(to, reg(a), source(b));
        if (n.op == ExprOp::kMulSub) return as_.fma_sub(to, reg(a), source(b));
        as_.fma_negated(to, reg(a), source(b));
      });
    }
    // to * factor + number: overwrites a constant factor, or one without a later use.
    const int base = is_number(b) || dies(b, i) ? b : a, factor = base == b ? a : b;
    return over_first(i, base, [&](int to) {
      const Source addend = source(n.c);
      if (n.op == ExprOp::kMulAdd) return as_.fma_add_number(to, reg(factor), addend);
      if (n.op == ExprOp::kMulSub) return as_.fma_sub_number(to, reg(factor), addend);
      as_.fma_negated_number(to, reg(factor), addend);
    });
  }

  const std::vector<ExprNode>& nodes_;
  VectorAssembler as_;
  bool doubles_;
  Block& block_;
  std::vector<int> last_, reg_;
  std::vector<std::vector<int32_t>> stores_;  // pointers to which a node's value is stored
  std::vector<int> free_, free_masks_;
  std::vector<double> numbers_;  // in memory
};

}  // namespace

bool is_simple(const FusedKernel& program, const Step& step) {
#if defined(__x86_64__)
  if (isa() == Isa::kV2 || !step.op) return false;
  const TermKind result_kind = program.kind(step.result);
  if (result_kind.dtype != step.dtype || result_kind.zero_dim) return false;
  return (step.dtype == DType::kFloat32 && step.op->postfix[0]) ||
         (step.dtype == DType::kFloat64 && step.op->postfix_double[0]);
#else
  (void)program, (void)step;
  return false;
#endif
}

std::unique_ptr<Block> compile_block(const FusedKernel& program, std::span<const int> steps,
                                     std::vector<int> writes) {
  const auto step = [&](int id) -> const Step& { return program.steps[static_cast<size_t>(id)]; };
  const bool doubles = step(steps[0]).dtype == DType::kFloat64;
  auto block = std::make_unique<Block>();
  block->writes = std::move(writes);
  try {
    Expression expression(program, doubles);
    for (const int id : steps) expression.add(step(id));
    expression.finish(isa() == Isa::kV4);
    Emitter(expression, doubles, *block).emit();
  } catch (const NoBlock&) {
    return nullptr;
  }
  return block;
}

}  // namespace uh::jit::fused
