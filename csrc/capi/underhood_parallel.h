/* Parallel loops on the engine's threads, for kernels of libraries. C++ programs use
 * uh::parallel_for of underhood_parallel.hpp.
 */
#ifndef UNDERHOOD_PARALLEL_H
#define UNDERHOOD_PARALLEL_H

#include "capi/underhood.h"

#ifdef __cplusplus
extern "C" {
#endif
/* Calls body(context, lo, hi) for disjoint ranges that cover [begin, end), on up to
 * uh_get_num_threads() threads, the caller's included, and returns after all of them have run. Each
 * range but the last has at least `grain` elements. Operators that the body calls run serially.
 * Within another parallel loop, or while another thread runs one, all ranges run on the caller's
 * thread. The body must not throw.
 */
typedef void (*uh_range_fn)(void* context, int64_t lo, int64_t hi);
void uh_parallel_for(int64_t begin, int64_t end, int64_t grain, uh_range_fn body, void* context);
#ifdef __cplusplus
}
#endif
#endif
