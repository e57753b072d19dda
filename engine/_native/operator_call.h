// _OperatorBase: the native part of engine.ops.Overload and Packet, which makes them callable; and
// _NamespaceBase, that of engine.ops.Namespace.
//
// A call whose values have the schema's types, as most have, is converted, run and converted back
// here. For any other the object's `_call_generic` decides what it means or what is wrong with it:
// the rules for lists that are numbers, numbers that are tensors, and messages are in Python.
// Invariant: both do the same with the same values.
// A namespace caches its packets as attributes; when operators have been registered or removed
// since the last access, its `_forget` runs first.
#pragma once

#include <stdint.h>

// PyObject* arguments are passed as id(object).
/* cdef begin */
int uh_operator_types(uintptr_t list);
/* cdef end */

// uh_operator_types   makes both types and appends them to `list`; -1 when memory is out
