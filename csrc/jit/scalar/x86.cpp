// Emits the machine code of a ScalarProgram.
#include "jit/scalar/x86.h"

#include <algorithm>

namespace uh::jit {

#if defined(__x86_64__)
namespace x86 {

std::vector<uint8_t> Emitter::run() {
  choose_registers();
  for (size_t n = 0; n < p_.instructions.size(); ++n) labels_.push_back(a_.label());
  exit_ = a_.label();
  pending_ = a_.label();
  std::vector<bool> looped(p_.instructions.size(), false);
  for (size_t n = 0; n < p_.instructions.size(); ++n)
    if (jumps(p_.instructions[n].op) && static_cast<size_t>(p_.instructions[n].x) <= n)
      looped[static_cast<size_t>(p_.instructions[n].x)] = true;
  prologue();
  for (at_ = 0; at_ < p_.instructions.size(); ++at_) {
    if (looped[at_]) a_.align(32);
    a_.bind(labels_[at_]);
    instruction(p_.instructions[at_]);
  }
  for (size_t k = 0; k < later_.size(); ++k) later_[k]();
  epilogue();
  a_.finish();
  return std::move(a_.bytes);
}

void Emitter::choose_registers() {
  const size_t n = p_.types.size();
  std::vector<bool> crosses(n, false);
  for (size_t k = 0; k < p_.instructions.size(); ++k)
    if (calls(p_.instructions[k].op))
      flow_.live_out[k].each([&](Slot s) {
        if (s != p_.instructions[k].dst) crosses[s] = true;
      });
  std::vector<Slot> order;
  for (size_t s = 0; s < n; ++s)
    if (flow_.weight[s] > 0 && !p_.is_constant[s]) order.push_back(static_cast<Slot>(s));
  std::stable_sort(order.begin(), order.end(),
                   [&](Slot x, Slot y) { return flow_.weight[x] > flow_.weight[y]; });
  for (const Slot s : order) {
    uint32_t used = 0;
    flow_.clash[s].each([&](Slot other) {
      if (!locations_[other].is_memory() && is_float(other) == is_float(s))
        used |= uint32_t{1} << locations_[other].code;
    });
    const auto try_one = [&](int code) {
      if (used >> code & 1) return false;
      locations_[s] = is_float(s) ? Operand::vector(code) : Operand::general(code);
      return true;
    };
    if (is_float(s)) {
      for (int code = 0; code < kVectors && !try_one(code);) ++code;
      continue;
    }
    const auto try_all = [&](const auto& codes) {
      return std::any_of(std::begin(codes), std::end(codes), try_one);
    };
    if (crosses[s]) {
      if (!try_all(kKept)) try_all(kLost);
    } else {
      if (!try_all(kLost)) try_all(kKept);
    }
  }
}

void Emitter::instruction(const ScalarInstruction& i) {
  const auto go = [&](Condition c) { a_.jump_if(c, labels_[static_cast<size_t>(i.x)]); };
  switch (i.op) {
    case Op::kMove:
      if (is_float(i.dst)) {
        const int to = float_target(i.dst);
        a_.load_float(to, location(i.a));
        float_done(i.dst, to);
      } else {
        const int to = target(i.dst);
        load(to, i.a);
        done(i.dst, to);
      }
      break;
    case Op::kAddI: integer_op(i, Assembler::kAdd, true); break;
    case Op::kSubI: integer_op(i, Assembler::kSub, false); break;
    case Op::kAndI: integer_op(i, Assembler::kAnd, true); break;
    case Op::kOrI: integer_op(i, Assembler::kOr, true); break;
    case Op::kXorI: integer_op(i, Assembler::kXor, true); break;
    case Op::kMulI: multiply(i); break;
    case Op::kFloorDivI: divide(i, true); break;
    case Op::kModI: divide(i, false); break;
    case Op::kShlI: shift(i, Assembler::kLeft); break;
    case Op::kShrI: shift(i, Assembler::kRight); break;
    case Op::kMinI: best(i, kGreater); break;
    case Op::kMaxI: best(i, kLess); break;
    case Op::kNegI:
    case Op::kNotI: {
      const int to = target(i.dst);
      load(to, i.a);
      i.op == Op::kNegI ? a_.negate(to) : a_.invert(to);
      done(i.dst, to);
      break;
    }
    case Op::kAbsI:
      load(rax, i.a);
      a_.load(rdx, Operand::general(rax));
      a_.negate(rax);
      a_.move_if(kSign, rax, Operand::general(rdx));
      done(i.dst, rax);
      break;
    case Op::kNotB:
      load(rax, i.a);
      a_.arithmetic(Assembler::kXor, Operand::general(rax), 1);
      done(i.dst, rax);
      break;
    case Op::kAddF: real(i, 0x58); break;
    case Op::kMulF: real(i, 0x59); break;
    case Op::kSubF: real(i, 0x5C); break;
    case Op::kMinF: real(i, 0x5D); break;
    case Op::kDivF: real(i, 0x5E); break;
    case Op::kMaxF: real(i, 0x5F); break;
    case Op::kNegF: with_mask(i, INT64_MIN, true); break;
    case Op::kAbsF: with_mask(i, INT64_MAX, false); break;
    case Op::kSqrtF: {
      const int to = float_target(i.dst);
      a_.load_float(to, location(i.a));
      a_.float_op(0x51, to, Operand::vector(to));
      float_done(i.dst, to);
      break;
    }
    case Op::kFloorF:
    case Op::kCeilF:
    case Op::kTruncF:
    case Op::kRoundF: {
      const int to = float_target(i.dst);
      a_.load_float(to, location(i.a));
      const int nearest = 8, down = 9, up = 10, to_zero = 11;
      a_.round_float(to, Operand::vector(to),
                     i.op == Op::kRoundF   ? nearest
                     : i.op == Op::kFloorF ? down
                     : i.op == Op::kCeilF  ? up
                                           : to_zero);
      float_done(i.dst, to);
      break;
    }
    case Op::kIntToFloat: {
      const int to = float_target(i.dst);
      a_.clear_float(to);  // avoids a false dependency on the old value
      a_.float_of(to, location(i.a));
      float_done(i.dst, to);
      break;
    }
    case Op::kFloatToInt: {
      const int to = target(i.dst);
      a_.int_of(to, location(i.a));
      done(i.dst, to);
      break;
    }
    case Op::kEqI:
      compare(i.a, i.b);
      truth(i.dst, kEqual);
      break;
    case Op::kNeI:
      compare(i.a, i.b);
      truth(i.dst, kNotEqual);
      break;
    case Op::kLtI:
      compare(i.a, i.b);
      truth(i.dst, kLess);
      break;
    case Op::kLeI:
      compare(i.a, i.b);
      truth(i.dst, kLessOrEqual);
      break;
    // a < b is b > a: condition "above" is false for NaN, too.
    case Op::kLtF:
      compare_float(i.b, i.a);
      truth(i.dst, kAbove);
      break;
    case Op::kLeF:
      compare_float(i.b, i.a);
      truth(i.dst, kNotBelow);
      break;
    case Op::kEqF:
    case Op::kNeF: {
      const bool equal = i.op == Op::kEqF;
      compare_float(i.a, i.b);
      a_.set(equal ? kNotParity : kParity, rax);
      a_.set(equal ? kEqual : kNotEqual, rcx);
      a_.widen_byte(rax, rax);
      a_.widen_byte(rcx, rcx);
      a_.arithmetic(equal ? Assembler::kAnd : Assembler::kOr, rax, Operand::general(rcx));
      done(i.dst, rax);
      break;
    }
    case Op::kCall1:
      call_function(i, reinterpret_cast<const void*>(p_.functions1[static_cast<size_t>(i.x)]),
                    false);
      break;
    case Op::kCall2:
      call_function(i, reinterpret_cast<const void*>(p_.functions2[static_cast<size_t>(i.x)]),
                    true);
      break;
    case Op::kCallI2:
      call_integer(i, reinterpret_cast<const void*>(p_.int_functions2[static_cast<size_t>(i.x)]));
      break;
    case Op::kBoxed: call_operator(i); break;
    case Op::kJump:
      if (static_cast<size_t>(i.x) != at_ + 1) a_.jump(labels_[static_cast<size_t>(i.x)]);
      break;
    case Op::kIfEqI:
      compare(i.a, i.b);
      go(kEqual);
      break;
    case Op::kIfNeI:
      compare(i.a, i.b);
      go(kNotEqual);
      break;
    case Op::kIfLtI:
      compare(i.a, i.b);
      go(kLess);
      break;
    case Op::kIfLeI:
      compare(i.a, i.b);
      go(kLessOrEqual);
      break;
    case Op::kIfLtF:
      compare_float(i.b, i.a);
      go(kAbove);
      break;
    case Op::kIfLeF:
      compare_float(i.b, i.a);
      go(kNotBelow);
      break;
    case Op::kIfNotLtF:
      compare_float(i.b, i.a);
      go(kBelowOrEqual);
      break;
    case Op::kIfNotLeF:
      compare_float(i.b, i.a);
      go(kBelow);
      break;
    case Op::kIfEqF: {
      const auto no = a_.label();
      compare_float(i.a, i.b);
      a_.jump_if(kParity, no);
      go(kEqual);
      a_.bind(no);
      break;
    }
    case Op::kIfNeF:
      compare_float(i.a, i.b);
      go(kParity);
      go(kNotEqual);
      break;
    case Op::kPoll: poll(); break;
    case Op::kTrap:
      save_captured(i.x);
      a_.load(rax, int64_t{i.x});
      a_.jump(exit_);
      break;
    case Op::kReturn:
      for (const auto& port : p_.outputs) save(port.slot);
      a_.load(rax, kNativeDone);
      a_.jump(exit_);
      break;
  }
}

}  // namespace x86

void make_native(ScalarProgram& program) {
  // Rounding instructions need SSE4.1.
  if (!native_programs() || !__builtin_cpu_supports("sse4.1")) return;
  program.native = CodeMemory(x86::Emitter(program).run());
}
#else
void make_native(ScalarProgram&) {}
#endif

}  // namespace uh::jit
