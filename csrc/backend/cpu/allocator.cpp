#include "backend/cpu/allocator.h"

#include <sys/mman.h>

#include <cstdlib>
#include <map>
#include <mutex>
#include <vector>

#include "base/error.h"
#include "base/spin_lock.h"

namespace uh {
namespace {

constexpr size_t kAlignment = 64;  // one cache line, one AVX-512 register

// Note [Huge pages]: large blocks are advised to use 2 MiB pages: 512 times fewer page faults on
// the first write, and fewer TLB misses in strided access.
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kLargeBlock = 2 * kHugePage;

void count_allocated(AllocatorStats& s, size_t bytes, bool reused) {
  ++s.allocations;
  s.reused += reused;
  s.live_bytes += static_cast<int64_t>(bytes);
  if (s.live_bytes > s.peak_bytes) s.peak_bytes = s.live_bytes;
}
void count_freed(AllocatorStats& s, size_t bytes) {
  ++s.frees;
  s.live_bytes -= static_cast<int64_t>(bytes);
}

class CpuAllocator final : public Allocator {
 public:
  std::string_view name() const override { return "cpu"; }
  AllocatorId id() const override { return AllocatorId::kCpu; }

  void* raw_allocate(size_t bytes) override {
    if (bytes == 0) return nullptr;
    void* p = nullptr;
    const bool large = bytes >= kLargeBlock;
    if (posix_memalign(&p, large ? kHugePage : kAlignment, bytes) != 0) {
      fail(ErrorKind::kMemory, "cpu allocator: not enough memory: you tried to allocate ", bytes,
           " bytes");
    }
    if (large) madvise(p, bytes, MADV_HUGEPAGE);  // only advice: failure is harmless
    {
      std::lock_guard guard(lock_);
      count_allocated(stats_, bytes, false);
    }
    record_allocate(id(), p, bytes, false);
    return p;
  }
  void raw_deallocate(void* p, size_t bytes) override {
    if (!p) return;
    record_free(id(), p, bytes, false);
    {
      std::lock_guard guard(lock_);
      count_freed(stats_, bytes);
    }
    std::free(p);
  }
  AllocatorStats stats() const override {
    std::lock_guard guard(lock_);
    return stats_;
  }

 private:
  mutable SpinLock lock_;
  AllocatorStats stats_;
};

// Caches freed blocks by size class and returns them for later requests. This saves system calls
// and page faults, which cost more than the arithmetic on a fresh 16 MB result.
// Note [Size classes]: multiples of 64 bytes up to 1 KiB; above, eight classes per doubling, so a
// block is at most 1/8 larger than requested.
class CachingPool final : public Allocator {
 public:
  std::string_view name() const override { return "pool"; }
  AllocatorId id() const override { return AllocatorId::kPool; }

  void* raw_allocate(size_t bytes) override {
    if (bytes == 0) return nullptr;
    const size_t block = size_class(bytes);
    void* p = take(block, bytes);
    const bool reused = p != nullptr;
    if (!p) {
      p = fresh(block);
      std::lock_guard guard(lock_);
      count_allocated(stats_, bytes, false);
    }
    record_allocate(id(), p, bytes, reused);
    return p;
  }
  void raw_deallocate(void* p, size_t bytes) override {
    if (!p) return;
    const size_t block = size_class(bytes);
    std::unique_lock guard(lock_);
    count_freed(stats_, bytes);
    const bool keep = enabled_ && stats_.kept_bytes + static_cast<int64_t>(block) <= kKeepLimit;
    // Recorded before another thread can allocate the block, so that the events stay in order.
    record_free(id(), p, bytes, keep);
    if (keep) {
      blocks_of(block).push_back(p);
      stats_.kept_bytes += static_cast<int64_t>(block);
      return;
    }
    guard.unlock();
    cpu_allocator().raw_deallocate(p, block);
  }
  AllocatorStats stats() const override {
    std::lock_guard guard(lock_);
    return stats_;
  }

  bool enabled() const { return enabled_; }
  void set_enabled(bool enabled) {
    enabled_ = enabled;
    if (!enabled) empty();
  }
  void empty() {
    std::lock_guard guard(lock_);
    auto give_back = [](std::vector<void*>& blocks, size_t block) {
      for (void* p : blocks) cpu_allocator().raw_deallocate(p, block);
      blocks.clear();
    };
    for (size_t i = 0; i < kSmallClasses; ++i) give_back(small_[i], i * kAlignment);
    for (auto& [block, blocks] : large_) give_back(blocks, block);
    stats_.kept_bytes = 0;
  }

 private:
  static constexpr int64_t kKeepLimit = int64_t{4} << 30;  // bytes
  static constexpr size_t kSmallLimit = 1024;
  static constexpr size_t kSmallClasses = kSmallLimit / kAlignment + 1;

  static size_t size_class(size_t bytes) {
    if (bytes <= kSmallLimit) return (bytes + kAlignment - 1) & ~(kAlignment - 1);
    const size_t step = std::size_t{1} << (60 - __builtin_clzl(bytes - 1));
    const size_t rounded = (bytes + step - 1) & ~(step - 1);
    return rounded < bytes ? bytes : rounded;
  }
  std::vector<void*>& blocks_of(size_t block) {
    return block <= kSmallLimit ? small_[block / kAlignment] : large_[block];
  }
  void* take(size_t block, size_t bytes) {
    std::lock_guard guard(lock_);
    auto& blocks = blocks_of(block);
    if (blocks.empty()) return nullptr;
    void* p = blocks.back();
    blocks.pop_back();
    stats_.kept_bytes -= static_cast<int64_t>(block);
    count_allocated(stats_, bytes, true);
    return p;
  }
  // A failed allocation is retried after all cached blocks have been freed.
  void* fresh(size_t block) {
    try {
      return cpu_allocator().raw_allocate(block);
    } catch (const Error&) {
      empty();
      return cpu_allocator().raw_allocate(block);
    }
  }

  mutable SpinLock lock_;
  AllocatorStats stats_;
  std::vector<void*> small_[kSmallClasses];
  std::map<size_t, std::vector<void*>> large_;
  std::atomic<bool> enabled_{true};
};

// Never destroyed: storages may be freed after static destructors have run.
CachingPool& pool() {
  static auto* instance = new CachingPool;
  return *instance;
}

}  // namespace

Allocator& cpu_allocator() {
  static auto* instance = new CpuAllocator;
  return *instance;
}
Allocator& pool_allocator() { return pool(); }
void set_pool_enabled(bool enabled) { pool().set_enabled(enabled); }
bool pool_enabled() { return pool().enabled(); }
void empty_pool() { pool().empty(); }

}  // namespace uh
