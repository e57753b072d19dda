// x[1:3, None, ..., 0]: ints, slices, None and Ellipsis, read in C as the view operators they are.
//
// No call on a tensor is more common than indexing. This handles its most common case several times
// faster than engine/indexing.py, which gets everything else, wrong indices included.
#pragma once

#include <stdint.h>

#include "capi/underhood.h"

// Functions that Python calls through cffi. PyObject* arguments are passed as id(object).
/* cdef begin */
uh_handle uh_basic_index(uh_handle self, uintptr_t index);
/* cdef end */

// uh_basic_index   the view at `index`, or 0 when the index is not basic or does not fit: then
//                  indexing.py decides what it means or what is wrong with it
