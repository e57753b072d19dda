// Allocators, the caching pool, DataPtr, Storage, reference counts, short vectors.
#include <algorithm>
#include <cstring>
#include <thread>

#include "backend/cpu/allocator.h"
#include "base/shape.h"
#include "check.h"
#include "memory/storage.h"

namespace uh {
namespace {

struct Freed {
  int times = 0;
};
void count_free(void* context, void*, size_t) { ++static_cast<Freed*>(context)->times; }

TEST(an_allocation_is_aligned_and_writable_to_its_last_byte) {
  for (Allocator* allocator : {&cpu_allocator(), &pool_allocator()}) {
    for (size_t n : {1, 63, 64, 65, 1000, 1024, 1025, 4097, 1 << 20}) {
      void* p = allocator->raw_allocate(n);
      CHECK_EQ(reinterpret_cast<uintptr_t>(p) % 64, 0u);
      std::memset(p, 1, n);
      allocator->raw_deallocate(p, n);
    }
  }
}

TEST(the_pool_hands_a_returned_block_out_again) {
  empty_pool();
  const AllocatorStats before = pool_allocator().stats();
  void* first = pool_allocator().raw_allocate(5000);
  pool_allocator().raw_deallocate(first, 5000);
  void* second = pool_allocator().raw_allocate(4900);
  CHECK_EQ(first, second);
  const AllocatorStats after = pool_allocator().stats();
  CHECK_EQ(after.allocations - before.allocations, 2);
  CHECK_EQ(after.reused - before.reused, 1);
  CHECK_EQ(after.live_bytes - before.live_bytes, 4900);
  pool_allocator().raw_deallocate(second, 4900);
}

TEST(an_empty_pool_keeps_nothing) {
  void* p = pool_allocator().raw_allocate(100);
  pool_allocator().raw_deallocate(p, 100);
  empty_pool();
  CHECK_EQ(pool_allocator().stats().kept_bytes, 0);
}

TEST(a_pool_that_is_off_keeps_nothing_and_frees_what_it_gave) {
  void* p = pool_allocator().raw_allocate(100);
  set_pool_enabled(false);
  pool_allocator().raw_deallocate(p, 100);
  CHECK_EQ(pool_allocator().stats().kept_bytes, 0);
  set_pool_enabled(true);
}

TEST(too_much_memory_is_an_error_with_the_number) {
  CHECK_FAILS(cpu_allocator().raw_allocate(size_t{1} << 60), "1152921504606846976 bytes");
  CHECK_FAILS(pool_allocator().raw_allocate(SIZE_MAX), "not enough memory");
}

TEST(a_deleter_runs_once_however_the_pointer_moved) {
  Freed freed;
  char byte = 0;
  {
    DataPtr first(&byte, 1, &freed, count_free);
    DataPtr second(std::move(first));
    DataPtr third;
    third = std::move(second);
    CHECK_EQ(freed.times, 0);
  }
  CHECK_EQ(freed.times, 1);
}

TEST(assigning_to_a_pointer_releases_what_it_had) {
  Freed old_one, new_one;
  char byte = 0;
  DataPtr p(&byte, 1, &old_one, count_free);
  p = DataPtr(&byte, 1, &new_one, count_free);
  CHECK_EQ(old_one.times, 1);
  CHECK_EQ(new_one.times, 0);
}

TEST(a_resized_storage_keeps_the_common_prefix) {
  auto storage = make_ref<Storage>(100, default_allocator(), Device::kCPU);
  std::memset(storage->data(), 7, 100);
  storage->resize(5000);
  CHECK_EQ(storage->nbytes(), 5000u);
  CHECK_EQ(static_cast<char*>(storage->data())[99], 7);
  storage->resize(10);
  CHECK_EQ(static_cast<char*>(storage->data())[9], 7);
  storage->resize(0);
  CHECK_EQ(storage->nbytes(), 0u);
}

TEST(foreign_memory_is_let_go_once_and_never_resized) {
  Freed freed;
  char bytes[4] = {};
  {
    auto storage = make_ref<Storage>(DataPtr(bytes, 4, &freed, count_free), 4);
    CHECK_FAILS(storage->resize(8), "");
    CHECK_EQ(static_cast<void*>(bytes), storage->data());
    Ref<Storage> other = storage;
    CHECK_EQ(storage->use_count(), 2);
  }
  CHECK_EQ(freed.times, 1);
}

TEST(dims_equal_a_vector_through_any_edits) {
  test::Random random(budget.seed);
  for (int round = 0; round < 2000; ++round) {
    Dims dims;
    std::vector<int64_t> model;
    for (int64_t edit = random.in(0, 20); edit > 0; --edit) {
      const auto at = static_cast<size_t>(random.in(0, static_cast<int64_t>(model.size())));
      const int64_t value = random.in(-5, 5);
      switch (random.in(0, 4)) {
        case 0:
          dims.push_back(value);
          model.push_back(value);
          break;
        case 1:
          dims.insert(at, value);
          model.insert(model.begin() + static_cast<std::ptrdiff_t>(at), value);
          break;
        case 2:
          if (at < model.size()) {
            dims.erase(at);
            model.erase(model.begin() + static_cast<std::ptrdiff_t>(at));
          }
          break;
        case 3: {
          Dims copy = dims;
          dims = std::move(copy);
          break;
        }
        default: dims.resize(at, value); model.resize(at, value);
      }
      dims = *&dims;
    }
    CHECK(std::equal(dims.begin(), dims.end(), model.begin(), model.end()));
  }
}

FUZZ(pool_against_a_model) {
  test::Random random(budget.seed);
  std::vector<std::pair<unsigned char*, size_t>> live;
  const AllocatorStats before = pool_allocator().stats();
  int64_t bytes = 0;
  auto give_back = [&](size_t i) {
    auto [p, n] = live[i];
    const auto mark = static_cast<unsigned char>(n);
    CHECK(std::all_of(p, p + n, [mark](unsigned char c) { return c == mark; }),
          "a block was allocated twice");
    pool_allocator().raw_deallocate(p, n);
    bytes -= static_cast<int64_t>(n);
    live[i] = live.back();
    live.pop_back();
  };
  while (!budget.over()) {
    if (live.empty() || random.in(0, 99) < 55) {
      const auto n =
          static_cast<size_t>(random.one_in(4) ? random.in(1, 1 << 16) : random.in(1, 2000));
      auto* p = static_cast<unsigned char*>(pool_allocator().raw_allocate(n));
      std::memset(p, static_cast<int>(n & 255), n);
      live.emplace_back(p, n);
      bytes += static_cast<int64_t>(n);
    } else {
      give_back(static_cast<size_t>(random.in(0, static_cast<int64_t>(live.size()) - 1)));
    }
    if (live.size() > 300)
      while (!live.empty()) give_back(live.size() - 1);
    if (random.one_in(500)) empty_pool();
    CHECK_EQ(pool_allocator().stats().live_bytes - before.live_bytes, bytes);
  }
  while (!live.empty()) give_back(live.size() - 1);
  CHECK_EQ(pool_allocator().stats().live_bytes, before.live_bytes);
}

TEST(threads_share_the_pool) {
  const int64_t before = pool_allocator().stats().live_bytes;
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      test::Random random(t);
      for (int i = 0; i < 3000; ++i) {
        const auto n = static_cast<size_t>(random.in(1, 3000));
        auto* p = static_cast<unsigned char*>(pool_allocator().raw_allocate(n));
        std::memset(p, static_cast<int>(t), n);
        if (p[n - 1] != t) std::abort();
        pool_allocator().raw_deallocate(p, n);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_EQ(pool_allocator().stats().live_bytes, before);
}

}  // namespace
}  // namespace uh
