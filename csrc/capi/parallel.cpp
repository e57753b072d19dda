// Loops across the C ABI: see underhood_parallel.h. They run outside of the sections of calls, for
// what a body calls is a call (Note [Calls and changes]).
#include "base/parallel.h"

#include "capi/underhood_parallel.h"

void uh_parallel_for(int64_t begin, int64_t end, int64_t grain, uh_range_fn body, void* context) {
  uh::parallel_for(begin, end, grain, [&](int64_t lo, int64_t hi) { body(context, lo, hi); });
}
