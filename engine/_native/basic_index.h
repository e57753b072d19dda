// x[1:3, None, ..., 0]: ints, slices, None and Ellipsis, read in C as the view operators they are.
//
// Indexing is the commonest call on a tensor; this is engine/indexing.py's loop for its commonest
// case, several times faster. Anything else, wrong indices included, is left to indexing.py.
#pragma once

#include <stdint.h>

#include "capi/underhood.h"

// What Python calls through cffi. PyObject* arguments are passed as id(object).
/* cdef begin */
uh_handle uh_basic_index(uh_handle self, uintptr_t index);
/* cdef end */

// uh_basic_index   the view at `index`, or 0 when the index is not basic or does not fit: then
//                  indexing.py decides what it means or what is wrong with it
