// x[1:3, None, ..., 0]: ints, slices, None and Ellipsis, read in C as the view operators they are.
//
// No call on a tensor is more common than indexing. This handles its most common case several times
// faster than engine/indexing.py, which gets everything else, wrong indices included.
#pragma once

#include <stdint.h>

// PyObject* arguments are passed as id(object).
/* cdef begin */
int uh_basic_index_function(uintptr_t list);
/* cdef end */

// uh_basic_index_function   appends a function of a tensor and an index to `list`; -1 when memory
// is
//                           out. It returns the view at the index, or None when the index is not
//                           basic or does not fit: then indexing.py decides what it means or what
//                           is wrong with it
