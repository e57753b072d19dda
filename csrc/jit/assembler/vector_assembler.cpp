#include "jit/assembler/vector_assembler.h"

namespace uh::jit::x86 {

// EVEX prefix (Intel's manual, volume 2A, 2.7): 62h, then three bytes; register numbers have five
// bits, of which the upper ones are stored inverted here.
void VectorAssembler::evex(Map map, int prefix, int reg, int vvvv, int rm, int mask, int flags) {
  const auto bit = [](int number, int which) { return (~number >> which) & 1; };
  byte(0x62);
  byte(bit(reg, 3) << 7 | bit(rm, 4) << 6 | bit(rm, 3) << 5 | bit(reg, 4) << 4 | map);
  byte(int{doubles_} << 7 | (~vvvv & 15) << 3 | 4 | prefix);
  byte(2 << 5 | bit(vvvv, 4) << 3 | mask | flags);
}

// VEX prefix (2.3.5): C4h, then two bytes; register numbers have four bits.
void VectorAssembler::vex(Map map, int prefix, bool w, int reg, int vvvv, int rm) {
  byte(0xC4);
  byte((reg < 8) << 7 | 1 << 6 | (rm < 8) << 5 | map);
  byte(int{w} << 7 | (~vvvv & 15) << 3 | 4 | prefix);
}

void VectorAssembler::three(Map map, int prefix, uint8_t opcode, int to, int a, Source b,
                            int mask) {
  const int rm = b.in_memory() ? int{rsi} : b.reg;
  wide_ ? evex(map, prefix, to, a, rm, mask, b.in_memory() ? kRepeated : 0)
        : vex(map, prefix, doubles_, to, a, rm);
  byte(opcode);
  // A one-byte displacement would be scaled by the vector size.
  operand(to, b.in_memory() ? Operand::memory(b.offset, rsi) : Operand::vector(b.reg), false);
}

void VectorAssembler::shift_left(int to, int a, uint8_t by) {
  constexpr int kExtension = 6;  // opcode extension; the result is in vvvv
  wide_ ? evex(k0F, 1, kExtension, to, a) : vex(k0F, 1, false, kExtension, to, a);
  byte(0x72);
  operand(kExtension, Operand::vector(a), false);
  byte(by);
}

void VectorAssembler::blend(int to, int mask, Source yes, int no) {
  if (wide_) return three(k0F38, 1, 0x65, to, no, yes, mask);
  vex(k0F3A, 1, false, to, no, yes.in_memory() ? int{rsi} : yes.reg);
  byte(doubles_ ? 0x4B : 0x4A);
  operand(to, yes.in_memory() ? Operand::memory(yes.offset, rsi) : Operand::vector(yes.reg), false);
  byte(mask << 4);
}

void VectorAssembler::masks(uint8_t opcode, int to, int a, int b) {
  op_bytes({0xC5, static_cast<uint8_t>(0x80 | (~a & 15) << 3 | 4), opcode,
            static_cast<uint8_t>(0xC0 | to << 3 | b)});
}

void VectorAssembler::load_vector(int to) {
  if (wide_) {
    in_tail_ ? evex(k0F, packed(), to, 0, rax, 1, kZeroing) : evex(k0F, packed(), to, 0, rax);
    element(0x10, to);
  } else if (in_tail_) {
    vex(k0F38, 1, false, to, kTail, rax);
    element(doubles_ ? 0x2D : 0x2C, to);
  } else {
    vex(k0F, packed(), false, to, 0, rax);
    element(0x10, to);
  }
}

void VectorAssembler::store_vector(int from) {
  if (wide_) {
    evex(k0F, packed(), from, 0, rax, in_tail_ ? 1 : 0);
    element(0x11, from);
  } else if (in_tail_) {
    vex(k0F38, 1, false, from, kTail, rax);
    element(doubles_ ? 0x2F : 0x2E, from);
  } else {
    vex(k0F, packed(), false, from, 0, rax);
    element(0x11, from);
  }
}

void VectorAssembler::broadcast(int to, const Operand& from) {
  wide_ ? evex(k0F38, 1, to, 0, from.code) : vex(k0F38, 1, false, to, 0, from.code);
  byte(doubles_ ? 0x19 : 0x18);
  operand(to, from, false);
}

// rcx: remaining elements, rdx: offset in bytes.
void VectorAssembler::begin() {
  op_bytes({0xF3, 0x0F, 0x1E, 0xFA});  // endbr64
  load(rcx, Operand::general(rdx));
  load(rdx, int64_t{0});
}

// Masks the last elements: k1 gets one bit per element; AVX2 loads the mask from the table of ones
// and zeros at the start of the constants.
void VectorAssembler::mask_tail() {
  if (wide_) {
    load(rax, int64_t{-1});
    op_bytes({0xC4, 0xE2, 0x70, 0xF5, 0xC0});  // bzhi eax, eax, ecx
    op_bytes({0xC5, 0xF8, 0x92, 0xC8});        // kmovw k1, eax
    return;
  }
  load(rax, int64_t{lanes()});
  arithmetic(kSub, rax, Operand::general(rcx));
  vex(k0F, 0, false, kTail, 0, rsi);  // vmovups [rsi + size * rax]
  op_bytes({0x10, (kTail & 7) << 3 | 4, static_cast<uint8_t>((doubles_ ? 3 : 2) << 6 | rsi)});
}

void VectorAssembler::next_vector() {
  arithmetic(kAdd, Operand::general(rdx), vector_bytes());
  arithmetic(kSub, Operand::general(rcx), lanes());
}

}  // namespace uh::jit::x86
