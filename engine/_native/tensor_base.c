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
    uh_release(PyLong_AsUnsignedLongLong(tensor->handle));
    Py_DECREF(tensor->handle);
  }
  type->tp_free(self);
  Py_DECREF(type);  // an instance of a heap type holds a reference on it
}

static PyMemberDef members[] = {
    {"_h", T_OBJECT_EX, offsetof(TensorBase, handle), 0,
     "address of the TensorImpl, whose reference this object owns"},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(TensorBase, weak_references), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_dealloc, deallocate},
    {Py_tp_members, members},
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
