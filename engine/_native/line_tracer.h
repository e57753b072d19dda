// The line tracer: Python frames, lines and names as events, for the user's own files.
//
// It is installed by PyEval_SetTrace, a level below sys.settrace, whose trampoline builds
// frame.f_locals dictionaries: their references would keep the user's tensors alive and change the
// counts that the recording shows. This tracer holds no reference between two lines.
#pragma once

#include <stdint.h>

// Functions that Python calls through cffi. PyObject* arguments are passed as id(object).
/* cdef begin */
int uh_trace_begin(uintptr_t tensor_type, uintptr_t file_of);
int uh_trace_thread(void);
void uh_trace_resume(void);
void uh_trace_end(void);
/* cdef end */

// uh_trace_begin   starts a recording. `tensor_type` is engine.Tensor (with its slot `_h`);
// `file_of`
//                  is a callable str -> int that returns the file's string id, or 0 for a file that
//                  is not the user's
// uh_trace_thread  starts tracing the calling thread
// uh_trace_resume  continues, in the same frame, after other code called sys.settrace
// uh_trace_end     stops in the calling thread; other threads stop at their next event
