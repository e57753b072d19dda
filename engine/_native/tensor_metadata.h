// The metadata of a tensor as attributes and methods of _TensorBase: `x.shape`, `x.stride()`,
// `x.requires_grad`.
//
// These descriptors read the TensorImpl without a frame of Python. A call with the usual arguments
// is answered here; any other goes to a Python method of engine/tensor.py or
// engine/autograd/tensor_methods.py, which has the rules and the messages.
// Invariant: objects that stand for values of the core (dtypes, devices, layouts) are those that
// `_set_values` has stored, so `x.dtype is engine.float32`.
#pragma once

struct _object;
struct _typeobject;

int uh_add_metadata(struct _typeobject* tensor_base);
int uh_dtype_code(struct _object* dtype);

// uh_add_metadata   adds the descriptors to _TensorBase; -1 with a Python exception on failure
// uh_dtype_code     the code of an engine.dtype; -1 for any other object
