// A tensor's memory as NumPy's arrays see it: see array_memory.h.
#define PY_SSIZE_T_CLEAN
#include "array_memory.h"

#include <Python.h>
#include <stdlib.h>

#include "capi/underhood.h"
#include "tensor_base.h"

enum Holder {
  kNoHolder,
#define UH_HOLDER(enumerator, name, group, label) enumerator##Holder,
#include "events/codes.inc"
};

// PyArrayInterface of NumPy's array interface, whose names and values these are.
typedef struct {
  int two;  // says that this is the struct
  int nd;
  char typekind;
  int itemsize;
  int flags;
  Py_intptr_t* shape;
  Py_intptr_t* strides;  // in bytes
  void* data;
  PyObject* descr;
} ArrayInterface;

enum { kNotSwapped = 0x200, kAligned = 0x100, kWriteable = 0x400 };

typedef struct {
  PyObject_HEAD uh_handle storage;
  int64_t holder;
  ArrayInterface interface;
  Py_intptr_t dims[2 * UH_MAX_DIMS];  // sizes, then strides
} ArrayMemory;

// NumPy's kind and size of an element, from the typestr of a dtype: "<f4".
static int read_typestr(PyObject* typestrs, int dtype, ArrayInterface* ret) {
  PyObject* item = PyTuple_GetItem(typestrs, dtype);
  const char* text = item ? PyUnicode_AsUTF8(item) : NULL;
  if (!text) return 0;
  if (strlen(text) < 3) {
    PyErr_SetString(PyExc_TypeError, "NumPy has no dtype for the tensor's");
    return 0;
  }
  ret->typekind = text[1];
  ret->itemsize = atoi(text + 2);
  return 1;
}

// _ArrayMemory(tensor, typestrs): None instead of an object for an error of the core.
static PyObject* create(PyTypeObject* type, PyObject* args, PyObject* options) {
  static int64_t g_holders;  // read and written with the GIL
  PyObject *tensor, *typestrs;
  uh_handle handle;
  if (!PyArg_ParseTuple(args, "OO!", &tensor, &PyTuple_Type, &typestrs)) return NULL;
  if (!uh_tensor_handle(tensor, &handle))
    return PyErr_Format(PyExc_TypeError, "expected a tensor, got %s", Py_TYPE(tensor)->tp_name);
  ArrayMemory* self = (ArrayMemory*)type->tp_alloc(type, 0);
  if (!self) return NULL;
  uh_layout layout;
  self->holder = ++g_holders;
  self->storage = uh_storage_export(handle, kNumpyHolder, self->holder, &layout);
  if (!self->storage) {
    Py_DECREF(self);
    Py_RETURN_NONE;
  }
  ArrayInterface* interface = &self->interface;
  if (!read_typestr(typestrs, layout.dtype, interface)) {
    Py_DECREF(self);
    return NULL;
  }
  interface->two = 2;
  interface->nd = (int)layout.ndim;
  interface->flags = kNotSwapped | kAligned | kWriteable;
  interface->shape = self->dims;
  interface->strides = self->dims + layout.ndim;
  interface->data = (void*)(uintptr_t)layout.data;
  for (int64_t dim = 0; dim < layout.ndim; ++dim) {
    interface->shape[dim] = (Py_intptr_t)layout.sizes[dim];
    interface->strides[dim] = (Py_intptr_t)layout.strides[dim] * interface->itemsize;
  }
  return (PyObject*)self;
}

static void deallocate(PyObject* object) {
  ArrayMemory* self = (ArrayMemory*)object;
  PyTypeObject* type = Py_TYPE(object);
  if (self->storage) uh_storage_release(self->storage, kNumpyHolder, self->holder);
  type->tp_free(object);
  Py_DECREF(type);
}

static void release_owner(PyObject* capsule) {
  Py_DECREF((PyObject*)PyCapsule_GetContext(capsule));
}

static PyObject* array_struct(PyObject* object, void* unused) {
  PyObject* capsule = PyCapsule_New(&((ArrayMemory*)object)->interface, NULL, release_owner);
  if (capsule) PyCapsule_SetContext(capsule, Py_NewRef(object));
  return capsule;
}

static PyGetSetDef properties[] = {
    {"__array_struct__", array_struct, NULL, "The elements, by NumPy's array interface.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, create},
    {Py_tp_dealloc, deallocate},
    {Py_tp_getset, properties},
    {Py_tp_doc, "A tensor's memory, which NumPy's arrays share."},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "engine._native._ArrayMemory",
    .basicsize = sizeof(ArrayMemory),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};

int uh_array_memory_type(uintptr_t list) {
  const PyGILState_STATE gil = PyGILState_Ensure();
  PyObject* type = PyType_FromSpec(&spec);
  const int status = type ? PyList_Append((PyObject*)list, type) : -1;
  Py_XDECREF(type);
  if (status) PyErr_Clear();
  PyGILState_Release(gil);
  return status;
}
