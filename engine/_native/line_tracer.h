// The line tracer: Python frames, lines and names as events, for the user's own files.
//
// Installed below sys.settrace (PyEval_SetTrace), because sys.settrace's trampoline builds
// frame.f_locals dictionaries, whose references would keep the user's tensors alive and change the
// very counts that the recording shows. Here no reference is ever held between two lines.
#pragma once

#include <stdint.h>

// What Python calls through cffi. PyObject* arguments are passed as id(object).
/* cdef begin */
int uh_trace_begin(uintptr_t tensor_type, uintptr_t file_of);
int uh_trace_thread(void);
void uh_trace_resume(void);
void uh_trace_end(void);
/* cdef end */

// uh_trace_begin   a recording begins: `tensor_type` is engine.Tensor (with its slot `_h`),
// `file_of`
//                  a callable str -> int, the file's string id, or 0 when it is not the user's own
// uh_trace_thread  traces the calling thread from here on
// uh_trace_resume  goes on with it after a sys.settrace of somebody else, in the same frame
// uh_trace_end     stops in the calling thread; other threads stop at their next event
