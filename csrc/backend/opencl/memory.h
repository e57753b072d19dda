// The memory of a device, and host memory that it copies from and to directly.
//
// Note [Addresses of a device]: OpenCL 1.2 has handles of buffers where tensors have addresses that
// views add offsets to. Every buffer is therefore given as many bytes of the host's address space,
// reserved and not accessible: an address names a buffer and a byte of it, no two tensors share
// one, and host code that follows one past Tensor::data(), which refuses it, stops at once instead
// of reading nonsense.
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
#include <utility>
#include <vector>

#include "backend/opencl/queue.h"
#include "memory/allocator.h"

namespace uh::opencl {

// A byte of a buffer.
struct BufferPlace {
  cl_mem buffer;
  size_t offset;
};

// Blocks of a few sizes, which are kept for the next tensor when one is released.
class BlockCache : public Allocator {
 public:
  void* raw_allocate(size_t bytes) final;
  void raw_deallocate(void* address, size_t bytes) final;
  AllocatorStats stats() const final;

 protected:
  struct Block {
    cl_mem buffer;
    size_t bytes;
    cl_event last_use = nullptr;  // of pinned memory
  };
  using Blocks = std::map<uintptr_t, Block>;  // by address

  BlockCache(Queue& queue, cl_context context) : queue_(queue), context_(context) {}

  // The following are called with lock_ held. Creates a block of `bytes`, of which `requested` are
  // used; returns it and its address.
  virtual std::pair<void*, cl_mem> make(size_t bytes, size_t requested) = 0;
  // True if a block that no tensor uses may be given out.
  virtual bool is_ready(Block&) { return true; }
  // The block that the address is in, or the end.
  Blocks::iterator find(const void* address);

  Queue& queue_;
  const cl_context context_;
  mutable std::mutex lock_;
  Blocks blocks_;
  std::map<size_t, std::vector<void*>> cached_;  // by size
  AllocatorStats stats_;

 private:
  void* take(size_t bytes);
};

class DeviceMemory final : public BlockCache {
 public:
  // `total` and `largest`: bytes of the device, and of its largest buffer.
  DeviceMemory(Queue& queue, cl_context context, size_t total, size_t largest);

  std::string_view name() const override { return "opencl"; }
  AllocatorId id() const override { return AllocatorId::kOpenCL; }

  BufferPlace resolve(const void* address);
  // Gives the blocks that no tensor uses back to the driver.
  void empty_cache();
  void reset_peak();
  // Limits the bytes that are taken from the driver.
  void set_limit(size_t bytes);
  size_t total() const { return total_; }
  size_t limit() const;

 private:
  std::pair<void*, cl_mem> make(size_t bytes, size_t requested) override;
  cl_mem new_buffer(size_t bytes);  // null: there is no memory for it
  void release_cached();
  [[noreturn]] void out_of_memory(size_t requested) const;

  const size_t total_, largest_;
  size_t limit_;
  size_t reserved_ = 0;  // bytes of all blocks
};

class PinnedMemory final : public BlockCache {
 public:
  PinnedMemory(Queue& queue, cl_context context) : BlockCache(queue, context) {}

  std::string_view name() const override { return "opencl pinned"; }
  AllocatorId id() const override { return AllocatorId::kOpenCLPinned; }

  // True if all the bytes are pinned memory of this device.
  bool contains(const void* address, size_t bytes);
  // The command enqueued last uses the block at this address.
  void used_by_last_command(const void* address);

 private:
  std::pair<void*, cl_mem> make(size_t bytes, size_t requested) override;
  bool is_ready(Block& block) override;
};

}  // namespace uh::opencl
