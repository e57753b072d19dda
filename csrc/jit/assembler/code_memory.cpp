#include "jit/assembler/code_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <utility>

namespace uh::jit {

CodeMemory::CodeMemory(const std::vector<uint8_t>& code) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t bytes = (code.size() + page - 1) / page * page;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  std::memcpy(memory, code.data(), code.size());
  if (mprotect(memory, bytes, PROT_READ | PROT_EXEC) != 0) {  // the system may forbid it
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

}  // namespace uh::jit
