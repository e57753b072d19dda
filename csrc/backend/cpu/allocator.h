// The CPU's allocators, and the switch between them.
#pragma once

#include "memory/allocator.h"

namespace uh {

Allocator& cpu_allocator();   // posix_memalign
Allocator& pool_allocator();  // caching pool over cpu_allocator()

// The allocator that new CPU storages use. With the pool switched off its blocks pass straight
// through, so that switching is always safe.
inline Allocator& default_allocator() { return pool_allocator(); }
void set_pool_enabled(bool enabled);
bool pool_enabled();
void empty_pool();  // returns every cached block to cpu_allocator()

}  // namespace uh
