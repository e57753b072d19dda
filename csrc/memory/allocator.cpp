#include "memory/allocator.h"

#include <cstdlib>
#include <map>
#include <mutex>
#include <vector>

#include "base/error.h"
#include "events/recorder.h"

namespace uh {
namespace {

constexpr size_t kAlignment = 64;  // one cache line, one AVX-512 register

// Counters that any thread may move; live and peak are kept apart so that no lock is needed.
class Counters {
 public:
  void allocated(size_t bytes, bool reused) {
    allocations_.fetch_add(1, std::memory_order_relaxed);
    if (reused) reused_.fetch_add(1, std::memory_order_relaxed);
    const int64_t live = live_.fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed) +
                         static_cast<int64_t>(bytes);
    int64_t peak = peak_.load(std::memory_order_relaxed);
    while (live > peak && !peak_.compare_exchange_weak(peak, live, std::memory_order_relaxed)) {
    }
  }
  void freed(size_t bytes) {
    frees_.fetch_add(1, std::memory_order_relaxed);
    live_.fetch_sub(static_cast<int64_t>(bytes), std::memory_order_relaxed);
  }
  AllocatorStats stats() const { return {live_, peak_, allocations_, frees_, reused_, 0}; }

 private:
  std::atomic<int64_t> live_{0}, peak_{0}, allocations_{0}, frees_{0}, reused_{0};
};

void told_allocate(AllocatorId id, void* p, size_t bytes, bool reused) {
  if (events::on()) [[unlikely]] {
    events::emit(events::Kind::kALLOCATE, static_cast<int64_t>(id), reinterpret_cast<int64_t>(p),
                 static_cast<int64_t>(bytes), 0, reused);
  }
}
void told_free(AllocatorId id, void* p, size_t bytes, bool kept) {
  if (events::on()) [[unlikely]] {
    events::emit(events::Kind::kFREE, static_cast<int64_t>(id), reinterpret_cast<int64_t>(p),
                 static_cast<int64_t>(bytes), 0, kept);
  }
}

class CpuAllocator final : public Allocator {
 public:
  std::string_view name() const override { return "cpu"; }
  AllocatorId id() const override { return AllocatorId::kCpu; }

  void* raw_allocate(size_t bytes) override {
    if (bytes == 0) return nullptr;
    void* p = nullptr;
    if (posix_memalign(&p, kAlignment, bytes) != 0) {
      fail(ErrorKind::kMemory, "cpu allocator: not enough memory: you tried to allocate ", bytes, " bytes");
    }
    counters_.allocated(bytes, false);
    told_allocate(id(), p, bytes, false);
    return p;
  }
  void raw_deallocate(void* p, size_t bytes) override {
    if (!p) return;
    told_free(id(), p, bytes, false);
    counters_.freed(bytes);
    std::free(p);
  }
  AllocatorStats stats() const override { return counters_.stats(); }

 private:
  Counters counters_;
};

// Keeps returned blocks by size class and hands them out again: no system call, and above all no
// page faults, which cost more than the arithmetic on a fresh 16 MB result.
// Note [Size classes]: up to 1 KiB multiples of 64 bytes; above, eight classes per doubling, so a
// block is at most 1/8 larger than asked for.
class CachingPool final : public Allocator {
 public:
  std::string_view name() const override { return "pool"; }
  AllocatorId id() const override { return AllocatorId::kPool; }

  void* raw_allocate(size_t bytes) override {
    if (bytes == 0) return nullptr;
    const size_t block = size_class(bytes);
    void* p = take(block);
    const bool reused = p != nullptr;
    if (!p) p = fresh(block);
    counters_.allocated(bytes, reused);
    told_allocate(id(), p, bytes, reused);
    return p;
  }
  void raw_deallocate(void* p, size_t bytes) override {
    if (!p) return;
    const size_t block = size_class(bytes);
    counters_.freed(bytes);
    std::unique_lock guard(lock_);
    const bool keep = enabled_ && kept_ + block <= kKeepLimit;
    told_free(id(), p, bytes, keep);
    if (keep) {
      blocks_of(block).push_back(p);
      kept_ += block;
      return;
    }
    guard.unlock();
    cpu_allocator().raw_deallocate(p, block);
  }
  AllocatorStats stats() const override {
    AllocatorStats s = counters_.stats();
    std::lock_guard guard(lock_);
    s.kept_bytes = static_cast<int64_t>(kept_);
    return s;
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
    kept_ = 0;
  }

 private:
  static constexpr size_t kKeepLimit = size_t{4} << 30;
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
  void* take(size_t block) {
    std::lock_guard guard(lock_);
    auto& blocks = blocks_of(block);
    if (blocks.empty()) return nullptr;
    void* p = blocks.back();
    blocks.pop_back();
    kept_ -= block;
    return p;
  }
  // A failed request is tried once more after every kept block went back to the system.
  void* fresh(size_t block) {
    try {
      return cpu_allocator().raw_allocate(block);
    } catch (const Error&) {
      empty();
      return cpu_allocator().raw_allocate(block);
    }
  }

  mutable std::mutex lock_;
  Counters counters_;
  std::vector<void*> small_[kSmallClasses];
  std::map<size_t, std::vector<void*>> large_;
  size_t kept_ = 0;
  std::atomic<bool> enabled_{true};
};

class MetaAllocator final : public Allocator {
 public:
  std::string_view name() const override { return "meta"; }
  AllocatorId id() const override { return AllocatorId::kMeta; }
  void* raw_allocate(size_t) override { return nullptr; }
  void raw_deallocate(void*, size_t) override {}
  AllocatorStats stats() const override { return {}; }
};

// Leaked on purpose: storages may be freed after static destructors have run.
CachingPool& pool() {
  static auto* instance = new CachingPool;
  return *instance;
}

}  // namespace

DataPtr Allocator::allocate(size_t bytes) {
  auto give_back = [](void* context, void* pointer, size_t n) {
    static_cast<Allocator*>(context)->raw_deallocate(pointer, n);
  };
  return DataPtr(raw_allocate(bytes), bytes, this, give_back);
}

Allocator& cpu_allocator() {
  static auto* instance = new CpuAllocator;
  return *instance;
}
Allocator& meta_allocator() {
  static auto* instance = new MetaAllocator;
  return *instance;
}
Allocator& pool_allocator() { return pool(); }
// With the pool switched off its blocks pass straight through, so that switching is always safe.
Allocator& default_allocator() { return pool(); }
void set_pool_enabled(bool enabled) { pool().set_enabled(enabled); }
bool pool_enabled() { return pool().enabled(); }
void empty_pool() { pool().empty(); }

}  // namespace uh
