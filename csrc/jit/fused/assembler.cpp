#include "jit/fused/assembler.h"

#include <cstring>
#include <initializer_list>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

namespace uh::jit::fused {

// Intel's manual, volume 2A, 2.7: 62h, then three bytes; register numbers have five bits, of which
// the upper ones lie here, inverted.
void Assembler::evex(Map map, int prefix, int reg, int vvvv, int rm, int mask, int flags) {
  const auto bit = [](int number, int which) { return (~number >> which) & 1; };
  const int first = bit(reg, 3) << 7 | bit(rm, 4) << 6 | bit(rm, 3) << 5 | bit(reg, 4) << 4 |
                    static_cast<int>(map);
  const int second = int{doubles_} << 7 | (~vvvv & 15) << 3 | 4 | prefix;
  const int third = 2 << 5 | bit(vvvv, 4) << 3 | mask | flags;
  bytes({0x62, static_cast<uint8_t>(first), static_cast<uint8_t>(second),
         static_cast<uint8_t>(third)});
}

void Assembler::word(int32_t value) {
  for (int i = 0; i < 4; ++i) code_.push_back(static_cast<uint8_t>(value >> 8 * i));
}

void Assembler::three(Map map, int prefix, uint8_t opcode, int to, int a, Source b, int mask) {
  constexpr int kRsi = 6;
  const int rm = b.in_memory() ? kRsi : b.reg;
  evex(map, prefix, to, a, rm, mask, b.in_memory() ? kNumber : 0);
  const int mode = b.in_memory() ? 0x80 : 0xc0;
  bytes({opcode, static_cast<uint8_t>(mode | (to & 7) << 3 | (rm & 7))});
  if (b.in_memory()) word(b.offset);
}

void Assembler::shift_left(int to, int a, uint8_t by) {
  evex(Map::k0F, 1, 6, to, a, 0);  // the 6 is part of the opcode, the result is the second operand
  bytes({0x72, static_cast<uint8_t>(0xc0 | 6 << 3 | (a & 7)), by});
}

void Assembler::masks(uint8_t opcode, int to, int a, int b) {
  bytes({0xc5, static_cast<uint8_t>(0x80 | (~a & 15) << 3 | 4), opcode,
         static_cast<uint8_t>(0xc0 | to << 3 | b)});
}

// [rax + rdx]: a SIB byte with base 0 and index 2.
void Assembler::memory(uint8_t opcode, int reg, bool zeroing) {
  evex(Map::k0F, packed(), reg, 0, 0, 1, zeroing ? kZeroing : 0);
  bytes({opcode, static_cast<uint8_t>((reg & 7) << 3 | 4), 0x10});
}

void Assembler::broadcast(int to, int32_t offset) {
  evex(Map::k0F38, 1, to, 0, 6, 0);
  bytes({static_cast<uint8_t>(doubles_ ? 0x19 : 0x18),
         static_cast<uint8_t>(0x80 | (to & 7) << 3 | 6)});
  word(offset);
}

void Assembler::broadcast(int to) {
  evex(Map::k0F38, 1, to, 0, 0, 0);
  bytes({static_cast<uint8_t>(doubles_ ? 0x19 : 0x18), static_cast<uint8_t>((to & 7) << 3)});
}

void Assembler::pointer(int32_t index) {
  bytes({0x48, 0x8b, 0x87});  // mov rax, [rdi + 8 index]
  word(8 * index);
}

void Assembler::begin() {
  bytes({0xf3, 0x0f, 0x1e, 0xfa});  // endbr64
  bytes({0x48, 0x89, 0xd1});        // mov rcx, rdx
  bytes({0x31, 0xd2});              // xor edx, edx
  bytes({0xc5, 0xf4, 0x46, 0xc9});  // kxnorw k1, k1, k1
}

// At the last elements k1 becomes a mask of as many bits as there are.
size_t Assembler::loop_begin() {
  const size_t begin = code_.size();
  bytes({0x48, 0x83, 0xf9, static_cast<uint8_t>(lanes())});  // cmp rcx, lanes
  bytes({0x73, 14});                                         // jae over the next 14 bytes
  bytes({0xb8, 0xff, 0xff, 0xff, 0xff});                     // mov eax, -1
  bytes({0xc4, 0xe2, 0x70, 0xf5, 0xc0});                     // bzhi eax, eax, ecx
  bytes({0xc5, 0xf8, 0x92, 0xc8});                           // kmovw k1, eax
  return begin;
}

void Assembler::loop_end(size_t begin) {
  bytes({0x48, 0x83, 0xc2, 64});                             // add rdx, 64
  bytes({0x48, 0x83, 0xe9, static_cast<uint8_t>(lanes())});  // sub rcx, lanes
  bytes({0x0f, 0x87});                                       // ja begin
  word(static_cast<int32_t>(begin) - static_cast<int32_t>(code_.size()) - 4);
}

void Assembler::end() { bytes({0xc5, 0xf8, 0x77, 0xc3}); }  // vzeroupper; ret

CodeMemory::CodeMemory(const std::vector<uint8_t>& code) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t bytes = (code.size() + page - 1) / page * page;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  std::memcpy(memory, code.data(), code.size());
  if (mprotect(memory, bytes, PROT_READ | PROT_EXEC) != 0) {  // a system may forbid it
    munmap(memory, bytes);
    return;
  }
  data_ = memory;
  size_ = code.size();
  mapped_ = bytes;
}

CodeMemory::CodeMemory(CodeMemory&& other) noexcept { *this = std::move(other); }

CodeMemory& CodeMemory::operator=(CodeMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(mapped_, other.mapped_);
  return *this;
}

CodeMemory::~CodeMemory() {
  if (data_) munmap(data_, mapped_);
}

}  // namespace uh::jit::fused
