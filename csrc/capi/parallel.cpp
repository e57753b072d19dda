// The C ABI of parallel loops: see underhood_parallel.h. They run outside of a call's section,
// because calls within a body are sections themselves (Note [Calls and changes]).
#include "base/parallel.h"

#include "capi/underhood_parallel.h"

void uh_parallel_for(int64_t begin, int64_t end, int64_t grain, uh_range_fn body, void* context) {
  uh::parallel_for(begin, end, grain, [&](int64_t lo, int64_t hi) { body(context, lo, hi); });
}
