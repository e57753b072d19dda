// The native base of engine.Tensor: see tensor_base.h.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>
#include <structmember.h>

#include "capi/underhood.h"
#include "tensor_base.h"

typedef struct {
  PyObject_HEAD PyObject* handle;
  PyObject* weak_references;
} TensorBase;

static void deallocate(PyObject* self) {
  TensorBase* tensor = (TensorBase*)self;
  PyTypeObject* type = Py_TYPE(self);
  if (tensor->weak_references) PyObject_ClearWeakRefs(self);
  if (tensor->handle) {
    const uh_handle handle = PyLong_AsUnsignedLongLong(tensor->handle);
    if (uh_object(handle) == self) uh_set_object(handle, NULL);
    uh_release(handle);
    Py_DECREF(tensor->handle);
  }
  type->tp_free(self);
  Py_DECREF(type);  // an instance of a heap type holds a reference on it
}

// Note [One object per tensor]: a TensorImpl remembers its Python object for as long as that lives, so
// that `x.grad is x.grad`, and a tensor that comes back from the graph is the one that went in.
static PyTypeObject* tensor_class;  // engine.Tensor

static PyObject* set_class(PyObject* unused, PyObject* type) {
  Py_XDECREF(tensor_class);
  tensor_class = (PyTypeObject*)Py_NewRef(type);
  Py_RETURN_NONE;
}

// The object of a handle, made if there is none; the handle's reference moves into it.
static PyObject* wrap(PyObject* unused, PyObject* number) {
  const uh_handle handle = PyLong_AsUnsignedLongLong(number);
  if (handle == (uh_handle)-1 && PyErr_Occurred()) return NULL;
  PyObject* found = uh_object(handle);
  if (found && Py_REFCNT(found) > 0) {  // 0: it is being deallocated right now
    Py_INCREF(found);
    uh_decref(handle);
    return found;
  }
  TensorBase* made = (TensorBase*)tensor_class->tp_alloc(tensor_class, 0);
  if (!made) return NULL;
  made->handle = Py_NewRef(number);
  uh_set_object(handle, made);
  return (PyObject*)made;
}

// For objects that were not made by wrap: subclasses.
static PyObject* remember(PyObject* self, PyObject* unused) {
  TensorBase* tensor = (TensorBase*)self;
  if (tensor->handle) uh_set_object(PyLong_AsUnsignedLongLong(tensor->handle), self);
  return Py_NewRef(self);
}

static PyMethodDef methods[] = {
    {"_remember", remember, METH_NOARGS, "Makes this the one object of its TensorImpl; returns it."},
    {"_wrap", wrap, METH_O | METH_STATIC, "The object of a handle, which moves into it."},
    {"_set_class", set_class, METH_O | METH_STATIC, "The class that `_wrap` makes."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
    {"_h", T_OBJECT_EX, offsetof(TensorBase, handle), 0,
     "address of the TensorImpl, whose reference this object owns"},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(TensorBase, weak_references), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_dealloc, deallocate},
    {Py_tp_members, members},
    {Py_tp_methods, methods},
    {Py_tp_doc, "The native part of a Tensor: the address of its TensorImpl."},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "engine._native._TensorBase",
    .basicsize = sizeof(TensorBase),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = slots,
};

int uh_tensor_base_type(uintptr_t list) {
  const PyGILState_STATE gil = PyGILState_Ensure();
  PyObject* type = PyType_FromSpec(&spec);
  const int status = type ? PyList_Append((PyObject*)list, type) : -1;
  Py_XDECREF(type);
  if (status) PyErr_Clear();
  PyGILState_Release(gil);
  return status;
}
