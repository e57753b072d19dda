// _TensorBase: the native part of engine.Tensor, as PyTorch's THPVariable is of torch.Tensor.
//
// What: PyObject_HEAD, then the slot `_h` (a Python int: the address of the TensorImpl), then the
// list of weak references. It exists for its deallocator: giving the reference on the TensorImpl
// back costs a third of what a `__del__` in Python does, and a tensor dies with every operator
// call. Invariant: `_h` is set once, right after the object is made, to a handle this object then
// owns.
#pragma once

#include <stdint.h>

// PyObject* arguments are passed as id(object).
/* cdef begin */
int uh_tensor_base_type(uintptr_t list);
/* cdef end */

// uh_tensor_base_type   makes the type and appends it to `list`; -1 when memory is out
