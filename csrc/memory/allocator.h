// Allocators: the source of a Storage's bytes.
//
// allocate(n) returns a DataPtr that releases itself; raw_allocate and raw_deallocate use bare
// pointers (the four parts of PyTorch's c10::Allocator).
// Invariant: memory is returned to its allocator with the size that was requested.
// Read next: data_ptr.h, device_registry.h, backend/cpu/allocator.cpp (the caching pool).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/device.h"
#include "memory/data_ptr.h"

namespace uh {

struct AllocatorStats {
  int64_t live_bytes = 0;   // allocated and not yet released
  int64_t peak_bytes = 0;   // the highest live_bytes so far
  int64_t allocations = 0;  // calls of raw_allocate
  int64_t frees = 0;        // calls of raw_deallocate
  int64_t reused = 0;       // served from cached blocks
  int64_t kept_bytes = 0;   // cached for reuse
};

enum class AllocatorId : int64_t {
#define UH_ALLOCATOR(enumerator, name) enumerator,
#include "memory/allocators.inc"
#undef UH_ALLOCATOR
};

class Allocator {
 public:
  virtual ~Allocator() = default;
  virtual std::string_view name() const = 0;
  virtual AllocatorId id() const = 0;
  // Returns 64-byte aligned, uninitialised memory, or throws "out of memory". n = 0 ->
  // nullptr.
  virtual void* raw_allocate(size_t bytes) = 0;
  virtual void raw_deallocate(void* pointer, size_t bytes) = 0;
  virtual AllocatorStats stats() const = 0;

  DataPtr allocate(size_t bytes);
};

// Records an allocator's events: ALLOCATE after it returned a block, FREE before it takes one back.
void record_allocate(AllocatorId id, void* pointer, size_t bytes, bool reused);
void record_free(AllocatorId id, void* pointer, size_t bytes, bool cached);

}  // namespace uh
