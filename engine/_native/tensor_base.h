// _TensorBase and _NodeBase: the native parts of engine.Tensor and of the Nodes of autograd, as
// PyTorch's THPVariable and THPCppFunction are.
//
// An object is PyObject_HEAD, then the slot `_h` or `_node` (a Python int: the address of the
// TensorImpl or Node), then the list of weak references, and a tensor's attributes. The types exist
// for their deallocator: to release the reference there costs a third of a `__del__` in Python, and
// a tensor dies with every operator call. And for Python's collector:
// Note [Cycles through the core] in tensor_base.c.
// Invariant: the slot is set once, right after the object is made, to a handle this object then
// owns.
#pragma once

#include <stdint.h>

// PyObject* arguments are passed as id(object).
/* cdef begin */
int uh_base_types(uintptr_t list);
/* cdef end */

struct _object* uh_wrap_number(struct _object* handle);
int uh_tensor_handle(struct _object* object, uint64_t* ret_handle);

// uh_base_types    makes both types and appends them to `list`; -1 when memory is out
// uh_wrap_number   the object of a handle, which is a Python int and moves into it
// uh_tensor_handle the handle of an engine.Tensor; 0 for any other object
