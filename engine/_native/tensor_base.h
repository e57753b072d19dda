// _TensorBase and _NodeBase: the native parts of engine.Tensor and of the Nodes of autograd, as
// PyTorch's THPVariable and THPCppFunction are.
//
// An object is PyObject_HEAD, then the address of the TensorImpl or Node (`_h` or `_node`), then
// the list of weak references, and a tensor's attributes. The types exist for their deallocator: to
// release the reference there costs a third of a `__del__` in Python, and a tensor dies with every
// operator call. And for Python's collector: Note [Cycles through the core] in tensor_base.c.
// Invariant: the address is set once, right after the object is made, to a handle this object then
// owns.
#pragma once

#include <stdint.h>

// PyObject* arguments are passed as id(object).
/* cdef begin */
int uh_base_types(uintptr_t list);
/* cdef end */

struct _object* uh_wrap(uint64_t handle);
int uh_tensor_handle(struct _object* object, uint64_t* ret_handle);
int uh_is_tensor(struct _object* object);

// uh_base_types    makes both types and appends them to `list`; -1 when memory is out
// uh_wrap          the object of a handle, whose reference moves into it
// uh_tensor_handle the handle of an engine.Tensor; 0 for any other object
// uh_is_tensor     whether an object is an engine.Tensor
