// Integer instructions in machine code.
#include "jit/scalar/x86.h"

#if defined(__x86_64__)
namespace uh::jit::x86 {

void Emitter::integer_op(const ScalarInstruction& i, Assembler::Arithmetic op, bool commutes) {
  Slot x = i.a, y = i.b;
  if (commutes && known(x)) std::swap(x, y);
  int to = target(i.dst);
  const bool sums = op == Assembler::kAdd || op == Assembler::kSub;
  if (sums && is_short(y) && location(x).kind == Operand::kGeneral && !in(x, to) &&
      p_.initial[y] != INT32_MIN) {
    a_.sum_with(to, location(x).code, op == Assembler::kAdd ? value(y) : -value(y));
    return done(i.dst, to);
  }
  if (op == Assembler::kAdd && location(x).kind == Operand::kGeneral &&
      location(y).kind == Operand::kGeneral && !in(x, to) && !in(y, to)) {
    a_.sum(to, location(x).code, location(y).code);
    return done(i.dst, to);
  }
  if (in(y, to) && !in(x, to)) {
    if (commutes) {
      std::swap(x, y);
    } else {
      to = rax;
    }
  }
  load(to, x);
  if (is_short(y)) {
    a_.arithmetic(op, Operand::general(to), value(y));
  } else {
    a_.arithmetic(op, to, location(y));
  }
  done(i.dst, to);
}

void Emitter::multiply(const ScalarInstruction& i) {
  Slot x = i.a, y = i.b;
  if (known(x)) std::swap(x, y);
  int to = target(i.dst);
  if (is_short(y) && !known(x)) {
    a_.multiply(to, location(x), value(y));
    return done(i.dst, to);
  }
  if (in(y, to)) std::swap(x, y);
  load(to, x);
  a_.multiply(to, location(y));
  done(i.dst, to);
}

void Emitter::shift(const ScalarInstruction& i, Assembler::Shift op) {
  if (known(i.b)) {
    const int to = target(i.dst);
    load(to, i.a);
    a_.shift(op, to, static_cast<int>(p_.initial[i.b] & 63));
    return done(i.dst, to);
  }
  load(rcx, i.b);
  load(rax, i.a);
  a_.shift_by_rcx(op, rax);
  done(i.dst, rax);
}

// Python's division of any two numbers with a nonzero divisor: dividend in rax, divisor in rcx; the
// quotient is left in rax, or the remainder in rdx.
void Emitter::any_division(bool quotient, bool may_be_minus_one) {
  const auto end = a_.label();
  if (may_be_minus_one) {
    const auto other = a_.label();
    a_.arithmetic(Assembler::kCompare, Operand::general(rcx), -1);
    a_.jump_if(kNotEqual, other);
    quotient ? a_.negate(rax) : a_.load(rdx, int64_t{0});
    a_.jump(end);
    a_.bind(other);
  }
  a_.byte(0x48);  // cqo
  a_.byte(0x99);
  a_.op(0, true, {0xF7}, 7, Operand::general(rcx));
  a_.test(rdx, rdx);
  a_.jump_if(kEqual, end);
  if (quotient) {
    a_.arithmetic(Assembler::kXor, rdx, Operand::general(rcx));
    a_.jump_if(kNotSign, end);
    a_.arithmetic(Assembler::kSub, Operand::general(rax), 1);
  } else {
    a_.load(rax, Operand::general(rdx));
    a_.arithmetic(Assembler::kXor, rax, Operand::general(rcx));
    a_.jump_if(kNotSign, end);
    a_.arithmetic(Assembler::kAdd, rdx, Operand::general(rcx));
  }
  a_.bind(end);
}

// Division by a constant d, with 2^(l-1) < d < 2^l: for 0 <= n < 2^63 the quotient is the part
// above bit 63 + l of n * ceil(2^(63 + l) / d), as the error of the factor, less than d / 2^(63 +
// l), is too small to reach the next integer. For a negative n Python's quotient is ~(~n / d).
void Emitter::divide_by_known(const ScalarInstruction& i, bool quotient) {
  const auto negative = a_.label(), end = a_.label();
  const auto by = static_cast<uint64_t>(p_.initial[i.b]);
  const int l = 64 - __builtin_clzll(by);
  const auto factor =
      static_cast<uint64_t>((static_cast<unsigned __int128>(1) << (63 + l)) / by + 1);
  const auto quotient_of_rcx = [this, factor, l] {  // result in rdx
    a_.load(rax, static_cast<int64_t>(factor));
    a_.op(0, true, {0xF7}, 4, Operand::general(rcx));  // rdx: upper half of rax * rcx
    if (l > 1) a_.shift(Assembler::kRightUnsigned, rdx, l - 1);
  };
  const auto remainder = [this, i] {  // result in rcx
    if (is_short(i.b)) {
      a_.multiply(rax, Operand::general(rdx), value(i.b));
    } else {
      load(rax, i.b);
      a_.multiply(rax, Operand::general(rdx));
    }
    a_.arithmetic(Assembler::kSub, rcx, Operand::general(rax));
  };
  load(rcx, i.a);
  a_.test(rcx, rcx);
  a_.jump_if(kSign, negative);
  quotient_of_rcx();
  if (!quotient) remainder();
  a_.bind(end);
  done(i.dst, quotient ? rdx : rcx);
  later_.push_back([this, i, quotient, quotient_of_rcx, remainder, negative, end] {
    a_.bind(negative);
    a_.invert(rcx);
    quotient_of_rcx();
    a_.invert(rdx);
    if (!quotient) {
      a_.invert(rcx);
      remainder();
    }
    a_.jump(end);
  });
}

// Most programs divide non-negative 32-bit numbers: that division takes two thirds of the
// time.
void Emitter::divide(const ScalarInstruction& i, bool quotient) {
  if (known(i.b) && p_.initial[i.b] > 1 && (p_.initial[i.b] & (p_.initial[i.b] - 1)) != 0)
    return divide_by_known(i, quotient);
  const auto slow = a_.label(), end = a_.label();
  load(rax, i.a);
  load(rcx, i.b);
  a_.load(rdx, Operand::general(rax));
  a_.arithmetic(Assembler::kOr, rdx, Operand::general(rcx));
  a_.shift(Assembler::kRightUnsigned, rdx, 32);
  a_.jump_if(kNotEqual, slow);
  a_.op(0, false, {0xF7}, 6, Operand::general(rcx));  // edx is 0
  const int result = quotient ? rax : rdx;
  a_.bind(end);
  done(i.dst, result);
  later_.push_back([this, i, quotient, slow, end] {
    a_.bind(slow);
    any_division(quotient, !known(i.b) || p_.initial[i.b] == -1);
    a_.jump(end);
  });
}

void Emitter::best(const ScalarInstruction& i, Condition other_is_better) {
  load(rax, i.a);
  if (is_short(i.b)) {
    a_.arithmetic(Assembler::kCompare, Operand::general(rax), value(i.b));
  } else {
    a_.arithmetic(Assembler::kCompare, rax, location(i.b));
  }
  a_.move_if(other_is_better, rax, location(i.b));
  done(i.dst, rax);
}

}  // namespace uh::jit::x86
#endif
