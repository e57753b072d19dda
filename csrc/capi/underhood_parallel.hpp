// Loops on the engine's threads, for kernels of C++20 libraries. Header only.
//
//   uh::parallel_for(0, n, 4096, [&](int64_t lo, int64_t hi) { ... });
//
// Invariant: results do not depend on the number of ranges or on the thread that runs one. An
// exception in a range is thrown to the caller after all ranges have ended.
#ifndef UNDERHOOD_PARALLEL_HPP
#define UNDERHOOD_PARALLEL_HPP

#include <exception>
#include <mutex>

#include "capi/underhood_parallel.h"

namespace uh {
inline namespace v1 {

template <class Body>
void parallel_for(int64_t begin, int64_t end, int64_t grain, const Body& body) {
  struct Loop {
    const Body& body;
    std::mutex mutex;
    std::exception_ptr error;
    static void run(void* self, int64_t lo, int64_t hi) {
      auto& loop = *static_cast<Loop*>(self);
      try {
        loop.body(lo, hi);
      } catch (...) {
        const std::lock_guard guard(loop.mutex);
        if (!loop.error) loop.error = std::current_exception();
      }
    }
  };
  Loop loop{body, {}, nullptr};
  uh_parallel_for(begin, end, grain, &Loop::run, &loop);
  if (loop.error) std::rethrow_exception(loop.error);
}

}  // namespace v1
}  // namespace uh

#endif
