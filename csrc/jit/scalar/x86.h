// Emitter: ScalarProgram -> x86-64 machine code.
//
// The most used slots are in registers, shared according to their interference (liveness.h); other
// slots, and constants, are read from memory at rbx. rax, rcx, rdx, xmm14 and xmm15 are free within
// an instruction; rbp counts iterations down to the next poll. Around calls live registers are
// saved to their slots. Rare paths are emitted after the program: see `later_`. Invariant: an
// instruction changes no slot but its result.
#pragma once

#include <bit>
#include <functional>
#include <vector>

#include "jit/assembler/assembler.h"
#include "jit/scalar/liveness.h"
#include "jit/scalar/native.h"

namespace uh::jit::x86 {

using Op = ScalarOp;

inline constexpr int kScratch = 15, kMask = 14;  // vector registers
inline constexpr int kVectors = 14;
inline constexpr uint8_t kLost[] = {rsi, rdi, r8, r9, r10, r11};  // clobbered by calls
inline constexpr uint8_t kKept[] = {r12, r13, r14, r15};

class Emitter {
 public:
  explicit Emitter(const ScalarProgram& program)
      : p_(program), flow_(program), locations_(program.types.size()) {
    for (size_t s = 0; s < locations_.size(); ++s)
      locations_[s] = Operand::memory(static_cast<int32_t>(8 * s));
  }

  std::vector<uint8_t> run();

 private:
  // ---- registers
  bool is_float(Slot s) const { return p_.types[s] == ScalarType::kFloat; }

  static bool calls(Op op) {
    return op == Op::kCall1 || op == Op::kCall2 || op == Op::kCallI2 || op == Op::kBoxed;
  }

  void choose_registers();

  const Operand& location(Slot s) const { return locations_[s]; }
  Operand home(Slot s) const { return Operand::memory(static_cast<int32_t>(8 * s)); }
  void save(Slot s) {
    if (location(s).is_memory()) return;
    is_float(s) ? a_.store_float(home(s), location(s).code) : a_.store(home(s), location(s).code);
  }
  void restore(Slot s) {
    if (location(s).is_memory()) return;
    is_float(s) ? a_.load_float(location(s).code, home(s)) : a_.load(location(s).code, home(s));
  }
  bool is_lost(Slot s) const {
    return !location(s).is_memory() && (is_float(s) || location(s).code < r12);
  }
  // Visits the live slots in registers that a call clobbers, other than `except`.
  template <class F>
  void each_lost(size_t at, int except, const F& f) {
    flow_.live_out[at].each([&](Slot s) {
      if (static_cast<int>(s) != except && is_lost(s)) f(s);
    });
  }

  // ---- operands
  bool known(Slot s) const { return p_.is_constant[s] && !is_float(s); }
  bool is_short(Slot s) const { return known(s) && fits_int(p_.initial[s]); }
  int32_t value(Slot s) const { return static_cast<int32_t>(p_.initial[s]); }
  void load(int to, Slot s) { known(s) ? a_.load(to, p_.initial[s]) : a_.load(to, location(s)); }
  // The register in which a result is computed.
  int target(Slot dst) const { return location(dst).is_memory() ? int{rax} : location(dst).code; }
  void done(Slot dst, int from) { a_.store(location(dst), from); }
  int float_target(Slot dst) const {
    return location(dst).is_memory() ? kScratch : location(dst).code;
  }
  void float_done(Slot dst, int from) {
    if (location(dst) != Operand::vector(from)) a_.store_float(location(dst), from);
  }
  bool in(Slot s, int code) const { return location(s) == Operand::general(code); }

  // ---- instructions
  // ---- integers (x86_integer.cpp)
  void integer_op(const ScalarInstruction& i, Assembler::Arithmetic op, bool commutes);
  void multiply(const ScalarInstruction& i);
  void shift(const ScalarInstruction& i, Assembler::Shift op);
  void any_division(bool quotient, bool may_be_minus_one);
  void divide(const ScalarInstruction& i, bool quotient);
  void divide_by_known(const ScalarInstruction& i, bool quotient);
  void best(const ScalarInstruction& i, Condition other_is_better);

  // Sets the flags of `a - b`.
  void compare(Slot x, Slot y) {
    int reg = rax;
    if (known(x) || location(x).is_memory()) {
      load(rax, x);
    } else {
      reg = location(x).code;
    }
    if (!is_short(y)) {
      a_.arithmetic(Assembler::kCompare, reg, location(y));
    } else if (value(y) == 0) {
      a_.test(reg, reg);
    } else {
      a_.arithmetic(Assembler::kCompare, Operand::general(reg), value(y));
    }
  }
  void compare_float(Slot x, Slot y) {
    int reg = kScratch;
    if (location(x).is_memory()) {
      a_.load_float(kScratch, location(x));
    } else {
      reg = location(x).code;
    }
    a_.compare_float(reg, location(y));
  }

  void truth(Slot dst, Condition c) {
    a_.set(c, rax);
    const int to = target(dst);
    a_.widen_byte(to, rax);
    done(dst, to);
  }

  void real(const ScalarInstruction& i, uint8_t op) {
    int to = float_target(i.dst);
    if (location(i.b) == Operand::vector(to) && location(i.a) != Operand::vector(to)) to = kScratch;
    a_.load_float(to, location(i.a));
    a_.float_op(op, to, location(i.b));
    float_done(i.dst, to);
  }

  void with_mask(const ScalarInstruction& i, int64_t mask, bool exclusive) {
    a_.load(rax, mask);
    a_.float_bits(kMask, rax);
    const int to = float_target(i.dst);
    a_.load_float(to, location(i.a));
    exclusive ? a_.xor_float(to, kMask) : a_.and_float(to, kMask);
    float_done(i.dst, to);
  }

  void call_function(const ScalarInstruction& i, const void* function, bool two) {
    each_lost(at_, i.dst, [&](Slot s) { save(s); });
    a_.load_float(kMask, location(i.a));
    if (two) a_.load_float(kScratch, location(i.b));
    a_.load_float(0, Operand::vector(kMask));
    if (two) a_.load_float(1, Operand::vector(kScratch));
    a_.call(function);
    float_done(i.dst, 0);
    each_lost(at_, i.dst, [&](Slot s) { restore(s); });
  }

  void call_integer(const ScalarInstruction& i, const void* function) {
    each_lost(at_, i.dst, [&](Slot s) { save(s); });
    load(rax, i.a);
    load(rcx, i.b);
    a_.load(rdi, Operand::general(rax));
    a_.load(rsi, Operand::general(rcx));
    a_.call(function);
    done(i.dst, rax);
    each_lost(at_, i.dst, [&](Slot s) { restore(s); });
  }

  void save_captured(int32_t site) {
    for (const auto& [value, slot] : p_.sites[static_cast<size_t>(site)].captured)
      if (!p_.is_constant[slot]) save(slot);
  }

  void call_operator(const ScalarInstruction& i) {
    each_lost(at_, i.dst, [&](Slot s) { save(s); });
    save_captured(i.x);
    a_.byte(0x48);  // mov rdi, [rsp]: the program
    a_.byte(0x8B);
    a_.byte(0x3C);
    a_.byte(0x24);
    a_.load(rsi, Operand::general(rbx));
    a_.load(rdx, int64_t{i.x});
    a_.load(rcx, int64_t{i.dst});
    a_.call(reinterpret_cast<const void*>(&uh_scalar_site));
    a_.test(rax, rax);
    a_.jump_if(kNotEqual, pending_);
    restore(i.dst);
    each_lost(at_, i.dst, [&](Slot s) { restore(s); });
  }

  void poll() {
    const auto slow = a_.label(), back = a_.label();
    a_.op(0, false, {0xFF}, 1, Operand::general(rbp));  // dec ebp
    a_.jump_if(kEqual, slow);
    a_.bind(back);
    later_.push_back([this, slow, back, at = at_] {
      a_.bind(slow);
      each_lost(at, -1, [&](Slot s) { save(s); });
      a_.load(rbp, int64_t{kScalarTripsBetweenPolls});
      a_.call(reinterpret_cast<const void*>(&uh_scalar_poll));
      a_.test(rax, rax);
      a_.jump_if(kNotEqual, pending_);
      each_lost(at, -1, [&](Slot s) { restore(s); });
      a_.jump(back);
    });
  }

  void instruction(const ScalarInstruction& i);

  void prologue() {
    for (const int reg : {rbx, rbp, r12, r13, r14, r15, rsi}) a_.push(reg);  // [rsp]: the program
    a_.load(rbx, Operand::general(rdi));
    a_.load(rbp, int64_t{kScalarTripsBetweenPolls});
    for (const auto& port : p_.inputs) restore(port.slot);
  }
  void epilogue() {
    a_.bind(pending_);
    a_.load(rax, kNativePending);
    a_.bind(exit_);
    for (const int reg : {rcx, r15, r14, r13, r12, rbp, rbx}) a_.pop(reg);
    a_.byte(0xC3);
  }

  const ScalarProgram& p_;
  const Liveness flow_;
  Assembler a_;
  std::vector<Operand> locations_;
  std::vector<Assembler::Label> labels_;
  std::vector<std::function<void()>> later_;
  Assembler::Label exit_ = 0, pending_ = 0;
  size_t at_ = 0;
};

}  // namespace uh::jit::x86
