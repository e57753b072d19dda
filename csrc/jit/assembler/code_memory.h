// CodeMemory: executable memory with machine code.
//
// Invariant: the memory is either writable or executable: written once, then executable until it is
// unmapped with its owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace uh::jit {

class CodeMemory {
 public:
  CodeMemory() = default;
  // Empty if the system forbids executable memory.
  explicit CodeMemory(const std::vector<uint8_t>& code);
  CodeMemory(CodeMemory&& other) noexcept;
  CodeMemory& operator=(CodeMemory&& other) noexcept;
  ~CodeMemory();
  explicit operator bool() const { return data_ != nullptr; }
  const void* data() const { return data_; }
  size_t size() const { return size_; }  // of the code, in bytes

 private:
  void* data_ = nullptr;
  size_t size_ = 0, mapped_ = 0;
};

}  // namespace uh::jit
