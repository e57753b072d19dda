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

enum {
#define UH_DEVICE(enumerator, name) enumerator,
#include "base/devices.inc"
};

typedef struct {
  PyObject_VAR_HEAD uh_handle storage;
  int64_t holder;
  void* data;
  Py_ssize_t nbytes;  // from the first element to the end of the last one
  int dtype, ndim, is_contiguous;
  Py_ssize_t dims[];  // sizes, then strides in bytes
} ArrayMemory;

static PyTypeObject* g_type;
static PyObject* g_typestrs;  // by dtype
static PyObject* g_ndarray;   // NumPy's, once it is needed
static PyObject* g_dtypes;    // NumPy's of the typestrs; None where it has none

static int import_numpy(void) {
  PyObject* numpy = PyImport_ImportModule("numpy");
  PyObject* dtypes = PyList_New(0);
  for (Py_ssize_t i = 0; numpy && dtypes && i < PyTuple_GET_SIZE(g_typestrs); ++i) {
    PyObject* typestr = PyTuple_GET_ITEM(g_typestrs, i);
    PyObject* dtype = PyUnicode_GET_LENGTH(typestr)
                          ? PyObject_CallMethod(numpy, "dtype", "O", typestr)
                          : Py_NewRef(Py_None);
    if (!dtype || PyList_Append(dtypes, dtype)) Py_CLEAR(dtypes);
    Py_XDECREF(dtype);
  }
  if (numpy && dtypes) g_ndarray = PyObject_GetAttrString(numpy, "ndarray");
  Py_XDECREF(numpy);
  if (!g_ndarray) Py_CLEAR(dtypes);
  g_dtypes = dtypes;
  return g_ndarray != NULL;
}

static Py_ssize_t element_size(int dtype) {  // the 4 of "<f4"
  return atoi(PyUnicode_AsUTF8(PyTuple_GET_ITEM(g_typestrs, dtype)) + 2);
}

// None instead of an object for an error of the core.
static PyObject* memory_of(uh_handle handle) {
  static int64_t g_holders;  // read and written with the GIL
  PyObject* typestr = PyTuple_GetItem(g_typestrs, uh_dtype(handle));
  if (!typestr || !PyUnicode_GET_LENGTH(typestr)) {
    if (typestr) PyErr_SetString(PyExc_TypeError, "NumPy has no dtype for the tensor's");
    return NULL;
  }
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
  self->data = (void*)(uintptr_t)layout.data;
  self->dtype = layout.dtype;
  self->ndim = (int)layout.ndim;
  self->is_contiguous = 1;
  const Py_ssize_t size = element_size(layout.dtype);
  Py_ssize_t last = 0, next = size;
  for (int dim = self->ndim - 1; dim >= 0; --dim) {
    self->dims[dim] = (Py_ssize_t)layout.sizes[dim];
    self->dims[self->ndim + dim] = (Py_ssize_t)layout.strides[dim] * size;
    last += (self->dims[dim] - 1) * self->dims[self->ndim + dim];
    self->is_contiguous &= self->dims[dim] == 1 || self->dims[self->ndim + dim] == next;
    next *= self->dims[dim];
  }
  self->nbytes = next ? last + size : 0;
  return (PyObject*)self;
}

static PyObject* tuple_of(const Py_ssize_t* numbers, int count) {
  PyObject* tuple = PyTuple_New(count);
  for (int i = 0; tuple && i < count; ++i) {
    PyObject* number = PyLong_FromSsize_t(numbers[i]);
    if (!number) Py_CLEAR(tuple);
    if (tuple) PyTuple_SET_ITEM(tuple, i, number);
  }
  return tuple;
}

// NumPy's array over this memory.
static PyObject* array_over(PyObject* object, PyObject* unused) {
  ArrayMemory* self = (ArrayMemory*)object;
  if (!g_ndarray && !import_numpy()) return NULL;
  PyObject* sizes = tuple_of(self->dims, self->ndim);
  PyObject* strides = self->is_contiguous ? NULL : tuple_of(self->dims + self->ndim, self->ndim);
  PyObject* array = NULL;
  if (sizes && (strides || self->is_contiguous)) {
    PyObject* offset = PyLong_FromLong(0);
    PyObject* args[] = {sizes, PyList_GET_ITEM(g_dtypes, self->dtype), object, offset, strides};
    array = PyObject_Vectorcall(g_ndarray, args, strides ? 5 : 3, NULL);
    Py_DECREF(offset);
  }
  Py_XDECREF(sizes);
  Py_XDECREF(strides);
  return array;
}

static int get_buffer(PyObject* object, Py_buffer* view, int flags) {
  ArrayMemory* self = (ArrayMemory*)object;
  return PyBuffer_FillInfo(view, object, self->data, self->nbytes, 0, flags);
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
  PyObject* memory = memory_of(handle);
  if (!memory || memory == Py_None) return memory;
  PyObject* array = array_over(memory, NULL);
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

static PyMethodDef methods[] = {
    {"array", array_over, METH_NOARGS, "NumPy's array over this memory."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, create},
    {Py_tp_dealloc, deallocate},
    {Py_tp_methods, methods},
    {Py_bf_getbuffer, get_buffer},
    {Py_tp_doc, "A tensor's memory, which NumPy's arrays share."},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "engine._native._ArrayMemory",
    .basicsize = sizeof(ArrayMemory),
    .itemsize = sizeof(Py_ssize_t),
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
