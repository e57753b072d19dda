// A tensor's memory as NumPy's arrays see it: see array_memory.h.
#define PY_SSIZE_T_CLEAN
#include "array_memory.h"

#include <Python.h>
#include <stdlib.h>

#include "capi/underhood.h"
#include "capi/underhood_autograd.h"
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

enum {
#define UH_DEVICE(enumerator, name) enumerator,
#include "base/devices.inc"
};

enum { kNotSwapped = 0x200, kAligned = 0x100, kWriteable = 0x400 };

typedef struct {
  PyObject_VAR_HEAD uh_handle storage;
  int64_t holder;
  ArrayInterface interface;
  Py_intptr_t dims[];  // sizes, then strides
} ArrayMemory;

static PyTypeObject* g_type;
static PyObject* g_typestrs;  // by dtype
static PyObject* g_asarray;   // NumPy's, once it is needed

// NumPy's kind and size of an element, from the typestr of a dtype: "<f4".
static int read_typestr(int dtype, ArrayInterface* ret) {
  PyObject* item = PyTuple_GetItem(g_typestrs, dtype);
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

// None instead of an object for an error of the core.
static PyObject* memory_of(uh_handle handle) {
  static int64_t g_holders;  // read and written with the GIL
  const int64_t holder = ++g_holders;
  uh_layout layout;
  const uh_handle storage = uh_storage_export(handle, kNumpyHolder, holder, &layout);
  if (!storage) Py_RETURN_NONE;
  ArrayMemory* self = (ArrayMemory*)g_type->tp_alloc(g_type, 2 * layout.ndim);
  if (!self) {
    uh_storage_release(storage, kNumpyHolder, holder);
    return NULL;
  }
  self->storage = storage;
  self->holder = holder;
  ArrayInterface* interface = &self->interface;
  if (!read_typestr(layout.dtype, interface)) {
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

// _ArrayMemory(tensor)
static PyObject* create(PyTypeObject* type, PyObject* args, PyObject* options) {
  PyObject* tensor;
  uh_handle handle;
  if (!PyArg_ParseTuple(args, "O", &tensor)) return NULL;
  if (uh_tensor_handle(tensor, &handle)) return memory_of(handle);
  return PyErr_Format(PyExc_TypeError, "expected a tensor, got %s", Py_TYPE(tensor)->tp_name);
}

static PyObject* shared_array(PyObject* unused, PyObject* tensor) {
  uh_handle handle;
  if (!uh_tensor_handle(tensor, &handle) || uh_device(handle) != kCPU ||
      uh_layout_kind(handle) != UH_STRIDED || uh_requires_grad(handle) || !uh_numel(handle))
    Py_RETURN_NONE;
  PyObject* typestr = PyTuple_GetItem(g_typestrs, uh_dtype(handle));
  if (!typestr || !PyUnicode_GET_LENGTH(typestr)) return typestr ? Py_NewRef(Py_None) : NULL;
  if (!g_asarray) {  // in each call the import would take a sixth of it
    PyObject* numpy = PyImport_ImportModule("numpy");
    g_asarray = numpy ? PyObject_GetAttrString(numpy, "asarray") : NULL;
    Py_XDECREF(numpy);
    if (!g_asarray) return NULL;
  }
  PyObject* memory = memory_of(handle);
  if (!memory || memory == Py_None) return memory;
  PyObject* array = PyObject_CallOneArg(g_asarray, memory);
  Py_DECREF(memory);
  return array;
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
    .itemsize = sizeof(Py_intptr_t),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};

int uh_array_functions(uintptr_t typestrs, uintptr_t list) {
  static PyMethodDef method = {"shared_array", shared_array, METH_O,
                               "NumPy's array over a tensor's memory, or None."};
  const PyGILState_STATE gil = PyGILState_Ensure();
  PyObject* type = PyType_FromSpec(&spec);
  PyObject* function = PyCFunction_New(&method, NULL);
  int status = -1;
  if (type && function && !PyList_Append((PyObject*)list, function) &&
      !PyList_Append((PyObject*)list, type)) {
    Py_XSETREF(g_type, (PyTypeObject*)Py_NewRef(type));
    Py_XSETREF(g_typestrs, Py_NewRef((PyObject*)typestrs));
    status = 0;
  }
  Py_XDECREF(type);
  Py_XDECREF(function);
  if (status) PyErr_Clear();
  PyGILState_Release(gil);
  return status;
}
