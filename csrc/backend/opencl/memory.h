// The memory of a device, and host memory that it copies from and to directly.
//
// Note [Addresses of a device]: OpenCL 1.2 has handles of buffers where tensors have addresses that
// views add offsets to. Every buffer is therefore given as many bytes of the host's address space,
// reserved and not accessible: an address names a buffer and a byte of it, no two tensors share
// one, and host code that follows one stops at once instead of reading nonsense.
//
// Note [Reuse in order]: a device's queue runs in order. A block that a tensor has released may be
// given to the next one at once, even while commands that use it wait: those of the new tensor come
// after them. Pinned memory is different, because the host writes it at any time: it is given out
// again when the last command that used it is over.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "backend/opencl/queue.h"
#include "memory/allocator.h"

namespace uh::opencl {

// A byte of a buffer.
struct BufferPlace {
  cl_mem buffer;
  size_t offset;
};

class DeviceMemory final : public Allocator {
 public:
  // `total` and `largest`: bytes of the device, and of its largest buffer.
  DeviceMemory(Queue& queue, cl_context context, size_t total, size_t largest);

  std::string_view name() const override { return "opencl"; }
  AllocatorId id() const override { return AllocatorId::kOpenCL; }
  void* raw_allocate(size_t bytes) override;
  void raw_deallocate(void* address, size_t bytes) override;
  AllocatorStats stats() const override;

  BufferPlace resolve(const void* address) const;
  // Gives the blocks that no tensor uses back to the driver.
  void empty_cache();
  void reset_peak();
  // Limits the bytes that are taken from the driver.
  void set_limit(size_t bytes);
  size_t total() const { return total_; }
  size_t limit() const;

 private:
  struct Block {
    cl_mem buffer;
    size_t bytes;
  };

  void* take(size_t block);
  void* make(size_t block, size_t requested);
  void release_cached();  // lock_ is held
  [[noreturn]] void out_of_memory(size_t requested) const;

  Queue& queue_;
  const cl_context context_;
  const size_t total_, largest_;
  mutable std::mutex lock_;
  size_t limit_;
  std::map<uintptr_t, Block> blocks_;            // by address
  std::map<size_t, std::vector<void*>> cached_;  // by size
  AllocatorStats stats_;
  size_t reserved_ = 0;  // bytes of all blocks
};

class PinnedMemory final : public Allocator {
 public:
  PinnedMemory(Queue& queue, cl_context context);

  std::string_view name() const override { return "opencl pinned"; }
  AllocatorId id() const override { return AllocatorId::kOpenCLPinned; }
  void* raw_allocate(size_t bytes) override;
  void raw_deallocate(void* address, size_t bytes) override;
  AllocatorStats stats() const override;

  // True if all the bytes are pinned memory of this device.
  bool contains(const void* address, size_t bytes) const;
  // The command enqueued last uses the block at this address.
  void used_by_last_command(const void* address);

 private:
  struct Block {
    cl_mem buffer;
    size_t bytes;
    cl_event last_use;
  };

  void* take(size_t block);
  std::map<uintptr_t, Block>::const_iterator find(const void* address) const;

  Queue& queue_;
  const cl_context context_;
  mutable std::mutex lock_;
  std::map<uintptr_t, Block> blocks_;
  std::map<size_t, std::vector<void*>> cached_;
  AllocatorStats stats_;
};

}  // namespace uh::opencl
