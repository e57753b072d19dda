// Python objects that their tensors keep.
//
// Note [Kept objects]: the Python object of a tensor owns a reference on the TensorImpl, and usually
// dies with the program's last reference on it; if the core still uses the tensor (a graph, `.grad`,
// `_base`), a new object is made when it comes back to Python. But attributes, weak references and
// the class of a subclass must not be lost. So the host reverses the ownership of such an object:
// the tensor keeps it (keep_object), until the tensor comes back to Python (take_object).
//
// The core may release its last reference on any thread, under any lock, where Python cannot run.
// Then the tensor is not deleted: its object owns it again, with a count of 1, and the host
// releases the object when it can (next_returned).
//
// Invariant: exactly one of the two owns the other. If violated: a leak, or an object whose tensor
// is freed.
#pragma once

#include "tensor/tensor_impl.h"

namespace uh {

// Called under Python's lock by the owner of one reference on `impl` and of its object. If others
// use the tensor, reverses the ownership and returns true.
bool keep_object(TensorImpl* impl);
// If the tensor keeps its object, reverses the ownership: the object's reference moves to the
// caller, and the caller's reference on `impl` to the object.
bool take_object(TensorImpl* impl);

// `notify` is called on any thread when a tensor is returned to the host; it may not wait.
void set_notify_returned(void (*notify)());
// A tensor that only its object owns, and whose object the caller releases; null if there is none.
TensorImpl* next_returned();

}  // namespace uh
