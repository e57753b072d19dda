// Conversions that nearly every call of a generated function makes, as functions of C.
//
// They compute `ints(value)` of engine/marshal.py for lists and tuples of plain ints, and the code
// of an argument that is None. Any other value goes to the Python function that the object was made
// from.
// Invariant: both do the same with the same values.
#pragma once

#include <stdint.h>

// PyObject* arguments are passed as id(object).
/* cdef begin */
enum { kConvertInts, kConvertOptionalCode };
int uh_conversion(int kind, uintptr_t python_function, uintptr_t list);
/* cdef end */

// uh_conversion   appends the C function that tries the usual values first; -1 when memory is out
