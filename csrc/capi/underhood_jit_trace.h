/* The C ABI that Python's tracer calls during a trace; underhood_jit_run.h begins and ends traces.
 */
#ifndef UNDERHOOD_JIT_TRACE_H
#define UNDERHOOD_JIT_TRACE_H

#include "capi/underhood_jit_run.h"

#ifdef __cplusplus
extern "C" {
#endif

/* cdef begin */
/* A size of a tensor as a tensor without dimensions, so that the trace can follow it; `property` is
 * size, or numel (which ignores `dim`). */
uh_handle uh_jit_trace_size(uh_handle tensor, const char* property, int64_t dim);
/* The number in this tensor is the next operator's argument of that name, or element `index` of the
 * argument (-1: all of it). */
int uh_jit_trace_argument(const char* name, int64_t index, uh_handle tensor);
void uh_jit_trace_forget_arguments(void);
/* The Python names of tensors at this line. */
int uh_jit_trace_names(const char* const* names, const uh_handle* tensors, int64_t n);
/* Records a call of a builtin (`aten::to.dtype`) and its result; does not run it. */
int uh_jit_trace_record(const char* full_name, const uh_value* args, int64_t n, uh_handle result);
/* The calls recorded between enter and leave belong to this submodule of the module of
 * uh_jit_trace_self; when the trace ends, they become its own method. */
int uh_jit_trace_enter(uh_box module);
int uh_jit_trace_leave(void);
/* A paused trace does not record this thread's operators. */
int uh_jit_trace_pause(int paused);
/* cdef end */

#ifdef __cplusplus
}
#endif
#endif
