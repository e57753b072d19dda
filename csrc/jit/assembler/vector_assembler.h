// VectorAssembler: the vector instructions that a Block needs.
//
// Arithmetic on registers of floats or doubles, in AVX-512 (32 registers of 64 bytes, separate mask
// registers) or AVX2 with FMA (16 of 32 bytes, masks are vectors). Functions are named like the
// instructions. The code is called with rdi: pointers, rsi: constants, rdx: number of elements.
// Invariant: rounding is the same in both.
// Read next: fused/block.cpp, the only user.
#pragma once

#include "jit/assembler/assembler.h"

namespace uh::jit::x86 {

// The last operand of an instruction: a register, or the broadcast number at [rsi + offset].
struct Source {
  int reg = 0;
  int32_t offset = -1;
  bool in_memory() const { return offset >= 0; }
};

class VectorAssembler : public Assembler {
 public:
  VectorAssembler(bool doubles, bool wide) : doubles_(doubles), wide_(wide) {}

  bool wide() const { return wide_; }  // AVX-512
  int vector_bytes() const { return wide_ ? 64 : 32; }
  int lanes() const { return vector_bytes() / (doubles_ ? 8 : 4); }
  int registers() const { return wide_ ? 32 : kTail; }
  // Constants: AVX-512 broadcasts a number that is stored once; AVX2 reads full vectors, stored
  // after the table of tail masks.
  int number_bytes() const { return wide_ ? doubles_ ? 8 : 4 : vector_bytes(); }
  int first_number() const { return wide_ ? 0 : 2 * vector_bytes(); }

  // ---- arithmetic: to = a op b
  void add(int to, int a, Source b) { three(k0F, packed(), 0x58, to, a, b); }
  void mul(int to, int a, Source b) { three(k0F, packed(), 0x59, to, a, b); }
  void sub(int to, int a, Source b) { three(k0F, packed(), 0x5C, to, a, b); }
  void div(int to, int a, Source b) { three(k0F, packed(), 0x5E, to, a, b); }
  void sqrt(int to, Source a) { three(k0F, packed(), 0x51, to, 0, a); }
  void move(int to, int a) { three(k0F, packed(), 0x28, to, 0, {a}); }
  void bit_and(int to, int a, Source b) { three(k0F, packed(), 0x54, to, a, b); }
  void bit_or(int to, int a, Source b) { three(k0F, packed(), 0x56, to, a, b); }
  void bit_xor(int to, int a, Source b) { three(k0F, packed(), 0x57, to, a, b); }
  void bit_clear(int to, int clear, Source a) { three(k0F, packed(), 0x55, to, clear, a); }
  void at_most(int to, int a, Source b) { three(k0F38, 1, 0x39, to, a, b); }  // of integers
  // to = a * b + to; to - a * b; a * b - to
  void fma_add(int to, int a, Source b) { three(k0F38, 1, 0xB8, to, a, b); }
  void fma_negated(int to, int a, Source b) { three(k0F38, 1, 0xBC, to, a, b); }
  void fma_sub(int to, int a, Source b) { three(k0F38, 1, 0xBA, to, a, b); }
  // to = to * a + b; b - to * a; to * a - b
  void fma_add_number(int to, int a, Source b) { three(k0F38, 1, 0xA8, to, a, b); }
  void fma_negated_number(int to, int a, Source b) { three(k0F38, 1, 0xAC, to, a, b); }
  void fma_sub_number(int to, int a, Source b) { three(k0F38, 1, 0xAA, to, a, b); }
  // 9 floor, 10 ceil, 11 trunc, 12 to nearest even
  void round(int to, Source a, uint8_t mode) {
    three(k0F3A, 1, doubles_ ? 0x09 : 0x08, to, 0, a);
    byte(mode);
  }
  void shift_left(int to, int a, uint8_t by);  // shifts the bits of floats

  // ---- conditions: in k2 to k7 of AVX-512, else in vector registers
  // mask = a <mode> b: 0 ==, 4 !=, 17 <, 18 <=, 29 >=, 30 >; only != is true for a NaN
  void compare(int mask, int a, Source b, uint8_t mode) {
    three(k0F, packed(), 0xC2, mask, a, b);
    byte(mode);
  }
  void both(int to, int a, int b) { wide_ ? masks(0x41, to, a, b) : bit_and(to, a, {b}); }
  void either(int to, int a, int b) { wide_ ? masks(0x45, to, a, b) : bit_or(to, a, {b}); }
  // to = mask ? yes : no
  void blend(int to, int mask, Source yes, int no);

  // ---- AVX-512 only
  // to = bitwise select: b where `to` is set, else c
  void choose_bits(int to, int b, Source c) {
    three(k0F3A, 1, 0x25, to, b, c);
    byte(0xCA);
  }
  // to = the smaller of |a| and |b|, with a's sign (mode 2) or none (10); b if a is a NaN
  void limit(int to, int a, Source b, uint8_t mode) {
    three(k0F3A, 1, 0x50, to, a, b);
    byte(mode);
  }
  // to = a if that is a NaN, else to; `table` is kNanStays
  static constexpr int32_t kNanStays = 0x11;  // an action per class of a: the first two are NaNs
  void keep_nan(int to, int a, Source table) {
    three(k0F3A, 1, 0x54, to, a, table);
    byte(0);
  }

  // ---- memory
  void pointer(int32_t index) { load(rax, Operand::memory(8 * index, rdi)); }
  void load_vector(int to);     // the existing elements at [rax + rdx]
  void store_vector(int from);  // the same
  void broadcast(int to, int32_t offset) { broadcast(to, Operand::memory(offset, rsi)); }
  void broadcast(int to) { broadcast(to, Operand::memory(0, rax)); }

  // Emits the function around the body of its loop: `body` emits the work for one vector; it is
  // called again for the tail, which needs masked instructions.
  void begin();
  template <class Body>
  void each_vector(const Body& body) {
    const Label again = label(), tail = label(), end = label();
    arithmetic(kCompare, Operand::general(rcx), lanes());
    jump_if(kBelow, tail);
    align(32);
    bind(again);
    body();
    next_vector();
    arithmetic(kCompare, Operand::general(rcx), lanes());
    jump_if(kNotBelow, again);
    bind(tail);
    test(rcx, rcx);
    jump_if(kEqual, end);
    mask_tail();
    in_tail_ = true;
    body();
    bind(end);
    op_bytes({0xC5, 0xF8, 0x77, 0xC3});  // vzeroupper; ret
    finish();
  }

 private:
  enum Map : uint8_t { k0F = 1, k0F38 = 2, k0F3A = 3 };
  static constexpr int kTail = 15;  // AVX2: the mask of the tail

  void mask_tail();
  void next_vector();

  int packed() const { return doubles_ ? 1 : 0; }  // the prefix of ...pd and ...ps
  void op_bytes(std::initializer_list<uint8_t> more) { bytes.insert(bytes.end(), more); }
  void broadcast(int to, const Operand& from);
  void masks(uint8_t opcode, int to, int a, int b);
  void element(uint8_t opcode, int reg) {  // at [rax + rdx]: a SIB byte with base 0 and index 2
    op_bytes({opcode, static_cast<uint8_t>((reg & 7) << 3 | 4), 0x10});
  }
  // Encodes registers `to` and a, and operand b. `prefix`: 0 none, 1 66h.
  void three(Map map, int prefix, uint8_t opcode, int to, int a, Source b, int mask = 0);
  static constexpr int kZeroing = 0x80, kRepeated = 0x10;
  void evex(Map map, int prefix, int reg, int vvvv, int rm, int mask = 0, int flags = 0);
  void vex(Map map, int prefix, bool w, int reg, int vvvv, int rm);

  const bool doubles_, wide_;
  bool in_tail_ = false;  // the tail is being emitted
};

}  // namespace uh::jit::x86
