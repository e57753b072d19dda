// The CPU's allocators, and the selection of one.
#pragma once

#include "memory/allocator.h"

namespace uh {

Allocator& cpu_allocator();   // posix_memalign
Allocator& pool_allocator();  // caching pool over cpu_allocator()

// The allocator of new CPU storages. With the pool disabled its blocks bypass the cache, so that it
// can be switched at any time.
inline Allocator& default_allocator() { return pool_allocator(); }
void set_pool_enabled(bool enabled);
bool pool_enabled();
void empty_pool();  // frees every cached block to cpu_allocator()

}  // namespace uh
