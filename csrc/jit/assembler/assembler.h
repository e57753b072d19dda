// Assembler: an encoder for the x86-64 instructions that ScalarPrograms and Blocks need.
//
// An instruction is an opcode, a register and an Operand, which is a register or 8 bytes of memory
// at [base + offset]; REX, ModRM and displacement are encoded here. Jumps go to labels and are
// patched by finish(). Invariant: `bytes` contains complete instructions; each label is bound
// once.
// Read next: vector_assembler.h (vector instructions).
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <vector>

namespace uh::jit::x86 {

enum Register : uint8_t {
  rax,
  rcx,
  rdx,
  rbx,
  rsp,
  rbp,
  rsi,
  rdi,
  r8,
  r9,
  r10,
  r11,
  r12,
  r13,
  r14,
  r15
};

// An operand: a general register, a vector register, or memory at an offset from a register other
// than rsp and r12.
struct Operand {
  enum Kind : uint8_t { kGeneral, kVector, kMemory } kind = kMemory;
  uint8_t code = rbx;  // the register, or the base
  int32_t offset = 0;

  static Operand general(int code) { return {kGeneral, static_cast<uint8_t>(code), 0}; }
  static Operand vector(int code) { return {kVector, static_cast<uint8_t>(code), 0}; }
  static Operand memory(int32_t offset, int base = rbx) {
    return {kMemory, static_cast<uint8_t>(base), offset};
  }
  bool is_memory() const { return kind == kMemory; }
  bool operator==(const Operand&) const = default;
};

// Condition codes of jcc, setcc and cmovcc.
enum Condition : uint8_t {
  kBelow = 2,
  kNotBelow = 3,
  kEqual = 4,
  kNotEqual = 5,
  kBelowOrEqual = 6,
  kAbove = 7,
  kSign = 8,
  kNotSign = 9,
  kParity = 10,
  kNotParity = 11,
  kLess = 12,
  kNotLess = 13,
  kLessOrEqual = 14,
  kGreater = 15,
};

inline bool fits_byte(int64_t n) { return n >= -128 && n <= 127; }
inline bool fits_int(int64_t n) { return n >= INT32_MIN && n <= INT32_MAX; }

class Assembler {
 public:
  using Label = uint32_t;

  std::vector<uint8_t> bytes;

  Label label() {
    labels_.push_back(kNowhere);
    return static_cast<Label>(labels_.size() - 1);
  }
  void bind(Label l) { labels_[l] = bytes.size(); }

  // Encodes an instruction: prefix (0: none), 64-bit operands, opcode, register field, operand.
  void op(int prefix, bool wide, std::initializer_list<uint8_t> opcode, int reg,
          const Operand& rm) {
    if (prefix) byte(prefix);
    const int rex = 0x40 | (wide ? 8 : 0) | (reg >= 8 ? 4 : 0) | (rm.code >= 8 ? 1 : 0);
    if (rex != 0x40) byte(rex);
    for (const uint8_t b : opcode) byte(b);
    operand(reg, rm, rm.is_memory() && fits_byte(rm.offset));
  }
  // Encodes ModRM and displacement, one byte if `near`.
  void operand(int reg, const Operand& rm, bool near) {
    const int mode = !rm.is_memory() ? 0xC0 : near ? 0x40 : 0x80;
    byte(mode | (reg & 7) << 3 | (rm.code & 7));
    if (!rm.is_memory()) return;
    near ? byte(rm.offset) : int32(rm.offset);
  }

  // ---- integers
  void load(int to, const Operand& from) {
    if (from.kind == Operand::kGeneral && from.code == to) return;
    op(0, true, {0x8B}, to, from);
  }
  void store(const Operand& to, int from) {
    if (to.kind == Operand::kGeneral && to.code == from) return;
    op(0, true, {0x89}, from, to);
  }
  void load(int to, int64_t value) {
    if (fits_int(value)) {
      op(0, true, {0xC7}, 0, Operand::general(to));
      int32(static_cast<int32_t>(value));
    } else {
      byte(0x48 | (to >= 8 ? 1 : 0));
      byte(0xB8 | (to & 7));
      int64(value);
    }
  }
  enum Arithmetic : uint8_t { kAdd = 0, kOr = 1, kAnd = 4, kSub = 5, kXor = 6, kCompare = 7 };
  void arithmetic(Arithmetic operation, int to, const Operand& from) {
    op(0, true, {static_cast<uint8_t>(operation << 3 | 3)}, to, from);
  }
  void arithmetic(Arithmetic operation, const Operand& to, int32_t value) {
    op(0, true, {static_cast<uint8_t>(fits_byte(value) ? 0x83 : 0x81)}, operation, to);
    fits_byte(value) ? byte(value) : int32(value);
  }
  void test(int a, int b) { op(0, true, {0x85}, a, Operand::general(b)); }
  void multiply(int to, const Operand& from) { op(0, true, {0x0F, 0xAF}, to, from); }
  void multiply(int to, const Operand& from, int32_t value) {
    op(0, true, {static_cast<uint8_t>(fits_byte(value) ? 0x6B : 0x69)}, to, from);
    fits_byte(value) ? byte(value) : int32(value);
  }
  // to = a + b, or a + value; a and b are unchanged
  void sum(int to, int a, int b) {
    byte(0x48 | (to >= 8 ? 4 : 0) | (b >= 8 ? 2 : 0) | (a >= 8 ? 1 : 0));
    byte(0x8D);
    byte(0x44 | (to & 7) << 3);
    byte((b & 7) << 3 | (a & 7));
    byte(0);
  }
  void sum_with(int to, int a, int32_t value) {
    byte(0x48 | (to >= 8 ? 4 : 0) | (a >= 8 ? 1 : 0));
    byte(0x8D);
    byte((fits_byte(value) ? 0x40 : 0x80) | (to & 7) << 3 | (a & 7));
    if ((a & 7) == rsp) byte(0x24);
    fits_byte(value) ? byte(value) : int32(value);
  }
  void negate(int reg) { op(0, true, {0xF7}, 3, Operand::general(reg)); }
  void invert(int reg) { op(0, true, {0xF7}, 2, Operand::general(reg)); }
  enum Shift : uint8_t { kLeft = 4, kRightUnsigned = 5, kRight = 7 };
  void shift(Shift operation, int reg, int by) {
    op(0, true, {0xC1}, operation, Operand::general(reg));
    byte(by);
  }
  void shift_by_rcx(Shift operation, int reg) {
    op(0, true, {0xD3}, operation, Operand::general(reg));
  }
  void set(Condition c, int reg) {  // the low byte of rax to rbx
    op(0, false, {0x0F, static_cast<uint8_t>(0x90 | c)}, 0, Operand::general(reg));
  }
  void widen_byte(int to, int from) { op(0, false, {0x0F, 0xB6}, to, Operand::general(from)); }
  void move_if(Condition c, int to, const Operand& from) {
    op(0, true, {0x0F, static_cast<uint8_t>(0x40 | c)}, to, from);
  }

  // ---- floats
  void load_float(int to, const Operand& from) {
    if (from.kind == Operand::kVector) {
      if (from.code != to) op(0x66, false, {0x0F, 0x28}, to, from);
    } else {
      op(0xF2, false, {0x0F, 0x10}, to, from);
    }
  }
  void store_float(const Operand& to, int from) {
    if (to.kind == Operand::kVector) {
      load_float(to.code, Operand::vector(from));
    } else {
      op(0xF2, false, {0x0F, 0x11}, from, to);
    }
  }
  // addsd 58, mulsd 59, subsd 5C, minsd 5D, divsd 5E, maxsd 5F, sqrtsd 51
  void float_op(uint8_t operation, int to, const Operand& from) {
    op(0xF2, false, {0x0F, operation}, to, from);
  }
  void compare_float(int a, const Operand& b) { op(0x66, false, {0x0F, 0x2E}, a, b); }
  void round_float(int to, const Operand& from, int mode) {
    op(0x66, false, {0x0F, 0x3A, 0x0B}, to, from);
    byte(mode);
  }
  void clear_float(int reg) { op(0, false, {0x0F, 0x57}, reg, Operand::vector(reg)); }
  void xor_float(int to, int from) { op(0, false, {0x0F, 0x57}, to, Operand::vector(from)); }
  void and_float(int to, int from) { op(0, false, {0x0F, 0x54}, to, Operand::vector(from)); }
  void float_of(int to, const Operand& from) { op(0xF2, true, {0x0F, 0x2A}, to, from); }
  void int_of(int to, const Operand& from) { op(0xF2, true, {0x0F, 0x2C}, to, from); }
  void float_bits(int to, int from) { op(0x66, true, {0x0F, 0x6E}, to, Operand::general(from)); }

  // ---- control
  void jump(Label to) {
    byte(0xE9);
    target(to);
  }
  void jump_if(Condition c, Label to) {
    byte(0x0F);
    byte(0x80 | c);
    target(to);
  }
  void call(const void* function) {
    load(rax, static_cast<int64_t>(reinterpret_cast<intptr_t>(function)));
    byte(0xFF);
    byte(0xD0);
  }
  void push(int reg) {
    if (reg >= 8) byte(0x41);
    byte(0x50 | (reg & 7));
  }
  void pop(int reg) {
    if (reg >= 8) byte(0x41);
    byte(0x58 | (reg & 7));
  }
  void align(size_t to) {
    static constexpr uint8_t kNothing[] = {0x0F, 0x1F, 0x44, 0x00, 0x00};
    while (bytes.size() % to) {
      if (to - bytes.size() % to >= 5) {
        bytes.insert(bytes.end(), kNothing, kNothing + 5);
      } else {
        byte(0x90);
      }
    }
  }

  void byte(int b) { bytes.push_back(static_cast<uint8_t>(b)); }
  void int32(int32_t n) { raw(&n, 4); }
  void int64(int64_t n) { raw(&n, 8); }

  void finish() {
    for (const auto& [at, to] : jumps_) {
      const auto way =
          static_cast<int32_t>(static_cast<int64_t>(labels_[to]) - static_cast<int64_t>(at + 4));
      std::memcpy(bytes.data() + at, &way, 4);
    }
  }

 private:
  static constexpr size_t kNowhere = SIZE_MAX;
  void raw(const void* from, size_t n) {
    const auto* p = static_cast<const uint8_t*>(from);
    bytes.insert(bytes.end(), p, p + n);
  }
  void target(Label to) {
    jumps_.emplace_back(bytes.size(), to);
    int32(0);
  }

  std::vector<size_t> labels_;
  std::vector<std::pair<size_t, Label>> jumps_;
};

}  // namespace uh::jit::x86
