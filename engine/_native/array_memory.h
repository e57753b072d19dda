// _ArrayMemory: a tensor's memory as NumPy's arrays see it, the `base` of what `Tensor.numpy()`
// returns.
//
// It holds a reference on the Storage while an array lives, and shows the bytes by Python's buffer
// protocol, over which `numpy.ndarray` builds an array: NumPy is not needed to compile this.
// Invariant: after its address has been read, the Storage cannot be resized.
#pragma once

#include <stdint.h>

// PyObject* arguments are passed as id(object).
/* cdef begin */
int uh_array_functions(uintptr_t typestrs, uintptr_t list);
/* cdef end */

// uh_array_functions   appends to `list` a function of a tensor that returns NumPy's array over its
//                      memory, or None: then numpy_bridge.py decides what it returns or what is
//                      wrong; and the type. -1 when memory is out. `typestrs`: a tuple, NumPy's
//                      typestr of each dtype
