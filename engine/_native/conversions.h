// Conversions that nearly every call of a generated function makes, as functions of C.
//
// They compute the functions of engine/marshal.py that they are named after, for the usual values: lists and
// tuples of plain ints, of tensors, one int, None. Any other value goes to the Python function that the object
// was made from. An array is a bytes object, which cffi passes without copying it.
// Invariant: both do the same with the same values.
#pragma once

#include <stdint.h>

// PyObject* arguments are passed as id(object).
/* cdef begin */
enum { kConvertInts, kConvertIntsOrInt, kConvertHandles, kConvertOptionalCode };
int uh_conversion(int kind, uintptr_t python_function, uintptr_t list);
/* cdef end */

// uh_conversion   appends the C function that tries the usual values first; -1 when memory is out
