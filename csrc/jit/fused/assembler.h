// Assembler: the x86-64 instructions that a Block needs, as bytes; CodeMemory: bytes that may run.
//
// What: AVX-512 arithmetic on whole registers (zmm0..zmm31) of floats or doubles, masked loads and
// stores of [rax + rdx], and the few scalar instructions of one loop. Names are the instructions'.
// Invariant: memory is either writable or executable. Read next: block.cpp, the only user.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace uh::jit::fused {

enum class Map : uint8_t { k0F = 1, k0F38 = 2, k0F3A = 3 };

// The last operand of an instruction: a register, or a number at [rsi + offset] for all elements.
struct Source {
  int reg = 0;
  int32_t offset = -1;
  bool in_memory() const { return offset >= 0; }
};

class Assembler {
 public:
  explicit Assembler(bool doubles) : doubles_(doubles) {}

  // ---- arithmetic: to = a op b
  void add(int to, int a, Source b) { three(Map::k0F, packed(), 0x58, to, a, b); }
  void mul(int to, int a, Source b) { three(Map::k0F, packed(), 0x59, to, a, b); }
  void sub(int to, int a, Source b) { three(Map::k0F, packed(), 0x5c, to, a, b); }
  void div(int to, int a, Source b) { three(Map::k0F, packed(), 0x5e, to, a, b); }
  void sqrt(int to, Source a) { three(Map::k0F, packed(), 0x51, to, 0, a); }
  void bit_xor(int to, int a, Source b) { three(Map::k0F, packed(), 0x57, to, a, b); }
  void bit_clear(int to, int clear, Source a) { three(Map::k0F, packed(), 0x55, to, clear, a); }
  // to = to ? a : b, bit by bit
  void bit_choose(int to, int a, Source b) {
    three(Map::k0F3A, 1, 0x25, to, a, b);
    bytes({0xca});
  }
  void at_most(int to, int a, Source b) { three(Map::k0F38, 1, 0x39, to, a, b); }
  void move(int to, int a) { three(Map::k0F, packed(), 0x28, to, 0, {a}); }
  // to = a * b + to; to - a * b; a * b - to
  void fma_add(int to, int a, Source b) { three(Map::k0F38, 1, 0xb8, to, a, b); }
  void fma_negated(int to, int a, Source b) { three(Map::k0F38, 1, 0xbc, to, a, b); }
  void fma_sub(int to, int a, Source b) { three(Map::k0F38, 1, 0xba, to, a, b); }
  // to = to * a + b; b - to * a; to * a - b
  void fma_add_number(int to, int a, Source b) { three(Map::k0F38, 1, 0xa8, to, a, b); }
  void fma_negated_number(int to, int a, Source b) { three(Map::k0F38, 1, 0xac, to, a, b); }
  void fma_sub_number(int to, int a, Source b) { three(Map::k0F38, 1, 0xaa, to, a, b); }
  // 9 floor, 10 ceil, 11 trunc, 12 to nearest even
  void round(int to, Source a, uint8_t how) {
    three(Map::k0F3A, 1, doubles_ ? 0x09 : 0x08, to, 0, a);
    bytes({how});
  }
  void shift_left(int to, int a, uint8_t by);  // of floats' bits

  // ---- masks k1 (elements that are there), k2... (conditions)
  // mask = a <how> b: 0 ==, 4 !=, 17 <, 18 <=, 29 >=, 30 >; none of them true for a NaN but !=
  void compare(int mask, int a, Source b, uint8_t how) {
    three(Map::k0F, packed(), 0xc2, mask, a, b);
    bytes({how});
  }
  void mask_and(int to, int a, int b) { masks(0x41, to, a, b); }
  void mask_or(int to, int a, int b) { masks(0x45, to, a, b); }
  // to = mask ? yes : no
  void blend(int to, int mask, Source yes, int no) {
    three(Map::k0F38, 1, 0x65, to, no, yes, mask);
  }

  // ---- memory
  void load(int to) { memory(0x10, to, true); }        // zmm = [rax + rdx], 0 where k1 is not set
  void store(int from) { memory(0x11, from, false); }  // where k1 is set
  void broadcast(int to, int32_t offset);              // from [rsi + offset]
  void broadcast(int to);                              // from [rax]
  void pointer(int32_t index);                         // rax = rdi[index]

  // ---- the loop: see block.cpp
  void begin();  // rcx = elements, rdx = 0, k1 = all
  size_t loop_begin();
  void loop_end(size_t begin);
  void end();

  const std::vector<uint8_t>& code() const { return code_; }

 private:
  int lanes() const { return doubles_ ? 8 : 16; }
  int packed() const { return doubles_ ? 1 : 0; }  // the prefix of ...pd and ...ps
  void masks(uint8_t opcode, int to, int a, int b);
  void memory(uint8_t opcode, int reg, bool zeroing);
  // An instruction on 512 bits: registers `to` and a, and b. `prefix`: 0 none, 1 66h.
  void three(Map map, int prefix, uint8_t opcode, int to, int a, Source b, int mask = 0);
  // `flags`: kZeroing, kNumber.
  void evex(Map map, int prefix, int reg, int vvvv, int rm, int mask, int flags = 0);
  static constexpr int kZeroing = 0x80, kNumber = 0x10;
  void bytes(std::initializer_list<uint8_t> more) { code_.insert(code_.end(), more); }
  void word(int32_t value);

  bool doubles_;
  std::vector<uint8_t> code_;
};

// Executable memory; empty where there is none to be had.
class CodeMemory {
 public:
  CodeMemory() = default;
  explicit CodeMemory(const std::vector<uint8_t>& code);
  CodeMemory(CodeMemory&& other) noexcept;
  CodeMemory& operator=(CodeMemory&& other) noexcept;
  ~CodeMemory();
  const void* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  void* data_ = nullptr;
  size_t size_ = 0, mapped_ = 0;
};

}  // namespace uh::jit::fused
