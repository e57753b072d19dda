// The memory of a device, and host memory that it copies from and to directly.
//
// Note [Addresses of a device]: a tensor has an address, to which views add offsets, but OpenCL 1.2
// has only handles of buffers. For every buffer we therefore reserve as many inaccessible bytes of
// the host's address space: an address then identifies a buffer and a byte in it, and no two
// buffers share one. Tensor::data() rejects such an address; host code that follows it anyway
// crashes at once instead of reading garbage.
//
// Note [Reuse in order]: a device's queue runs in order. A block that a tensor has released may
// therefore be reused at once, even if commands that use it are pending: the commands of the new
// tensor run after them. Pinned memory is different, because the host writes it at any time: it is
// reused only when the last command that used it has finished.
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

// Blocks of a few sizes; a released block is cached for the next tensor.
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
  // True if a block that no tensor uses may be reused.
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
  // Returns the blocks that no tensor uses to the driver.
  void empty_cache();
  void reset_peak();
  // Limits the bytes that are allocated from the driver.
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
  // Records that the last enqueued command uses the block at this address.
  void used_by_last_command(const void* address);

 private:
  std::pair<void*, cl_mem> make(size_t bytes, size_t requested) override;
  bool is_ready(Block& block) override;
};

}  // namespace uh::opencl
