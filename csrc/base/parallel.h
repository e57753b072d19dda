// parallel_for: one loop split into ranges that run on several threads.
//
// A small pool of threads sleeps until there is work; the caller works too. Invariant: the ranges
// are disjoint and cover [begin, end); parallel_for returns after all have run. A result must not
// depend on the number of ranges or on the thread that runs one: a reduction therefore splits its
// data into blocks of a fixed size first (ops/reduce).
// Note [Fork]: the pool's threads do not survive fork(); the child starts new threads when it first
// needs them. No loop runs while a process forks: see Note [Calls and changes].
#pragma once

#include <algorithm>
#include <cstdint>

namespace uh {

// The maximum number of threads of a loop, including the caller. At least 1.
int get_num_threads();
void set_num_threads(int n);

namespace detail {
using ChunkFn = void (*)(const void* body, int64_t chunk);
// Runs fn(body, 0) ... fn(body, chunks - 1) once each, and rethrows the first exception.
void run_chunks(ChunkFn fn, const void* body, int64_t chunks);
// True inside a parallel_for that runs on several threads: nested loops run serially.
bool inside_parallel();
}  // namespace detail

// The number of ranges that parallel_for splits n elements into.
inline int64_t ranges_of(int64_t n, int64_t grain) {
  if (n <= grain || detail::inside_parallel()) return 1;
  return std::min<int64_t>(get_num_threads(), (n + grain - 1) / std::max<int64_t>(grain, 1));
}

// Calls body(lo, hi) for ranges that cover [begin, end), each of at least `grain` elements except
// the last. An empty range makes no call; a short one runs on the caller's thread.
template <class Body>
void parallel_for(int64_t begin, int64_t end, int64_t grain, const Body& body) {
  if (begin >= end) return;
  const int64_t n = end - begin;
  if (n <= grain) return body(begin, end);
  const int64_t chunks = ranges_of(n, grain);
  if (chunks <= 1) return body(begin, end);
  const int64_t step = (n + chunks - 1) / chunks;
  struct Context {
    const Body& body;
    int64_t begin, end, step;
  };
  const Context context{body, begin, end, step};
  detail::run_chunks(
      [](const void* opaque, int64_t chunk) {
        const auto& c = *static_cast<const Context*>(opaque);
        const int64_t lo = c.begin + chunk * c.step;
        const int64_t hi = std::min(c.end, lo + c.step);
        if (lo < hi) c.body(lo, hi);
      },
      &context, chunks);
}

}  // namespace uh
