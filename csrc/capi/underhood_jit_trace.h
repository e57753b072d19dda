/* What Python's side of a trace tells the core, and asks of it, while a trace is made; what makes
 * one is in underhood_jit_run.h. */
#ifndef UNDERHOOD_JIT_TRACE_H
#define UNDERHOOD_JIT_TRACE_H

#include "capi/underhood_jit_run.h"

#ifdef __cplusplus
extern "C" {
#endif

/* cdef begin */
/* A size of a tensor as a tensor without dimensions, which the trace follows; `what` is size, or
 * numel (then `dim` does not matter). */
uh_handle uh_jit_trace_size(uh_handle tensor, const char* what, int64_t dim);
/* The next operator's argument of that name, or its element `index` (-1: the whole), is the number
 * in this tensor. */
int uh_jit_trace_argument(const char* name, int64_t index, uh_handle tensor);
void uh_jit_trace_forget_arguments(void);
/* What Python calls its tensors at this line. */
int uh_jit_trace_names(const char* const* names, const uh_handle* tensors, int64_t n);
/* A builtin (`aten::to.dtype`) that made `result` of these; it is not run. */
int uh_jit_trace_record(const char* full_name, const uh_value* args, int64_t n, uh_handle result);
/* What is recorded between them is what this module does, which is within that of
 * uh_jit_trace_self: a method of its own, when the trace has ended. */
int uh_jit_trace_enter(uh_box module);
int uh_jit_trace_leave(void);
/* While it is paused, what this thread's operators do is not recorded. */
int uh_jit_trace_pause(int paused);
/* cdef end */

#ifdef __cplusplus
}
#endif
#endif
