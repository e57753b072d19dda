// The metadata of a tensor as attributes and methods: see tensor_metadata.h.
#define PY_SSIZE_T_CLEAN
#include "tensor_metadata.h"

#include <Python.h>

#include "capi/underhood.h"
#include "capi/underhood_autograd.h"
#include "tensor_base.h"

static PyTypeObject* size_class;             // engine.Size, a subclass of tuple
static PyObject *dtypes, *devices, *layouts;  // tuples; devices: those that every build has

enum {
#define UH_DEVICE(enumerator, name) enumerator,
#include "base/devices.inc"
};

static PyObject* set_values(PyObject* unused, PyObject* args) {
  PyTypeObject* size;
  PyObject *kinds, *places, *orders;
  if (!PyArg_ParseTuple(args, "O!O!O!O!", &PyType_Type, &size, &PyTuple_Type, &kinds, &PyTuple_Type,
                        &places, &PyTuple_Type, &orders))
    return NULL;
  if (!PyType_IsSubtype(size, &PyTuple_Type)) {
    PyErr_SetString(PyExc_TypeError, "the class of sizes must be a subclass of tuple");
    return NULL;
  }
  Py_XSETREF(size_class, (PyTypeObject*)Py_NewRef(size));
  Py_XSETREF(dtypes, Py_NewRef(kinds));
  Py_XSETREF(devices, Py_NewRef(places));
  Py_XSETREF(layouts, Py_NewRef(orders));
  Py_RETURN_NONE;
}

static int handle_of(PyObject* self, uh_handle* ret_handle) {
  if (uh_tensor_handle(self, ret_handle)) return 1;
  PyErr_SetString(PyExc_AttributeError, "this tensor has not been initialised");
  return 0;
}

// The answer of a Python method, which takes at most one argument.
static PyObject* ask(PyObject* self, const char* method, PyObject* argument) {
  PyObject* bound = PyObject_GetAttrString(self, method);
  PyObject* answer = !bound      ? NULL
                     : argument ? PyObject_CallOneArg(bound, argument)
                                : PyObject_CallNoArgs(bound);
  Py_XDECREF(bound);
  return answer;
}

// ---- sizes and strides

// A tuple of class `type` of numbers of the core.
static PyObject* tuple_of(PyTypeObject* type, const int64_t* numbers, int64_t count) {
  const int is_plain = type == &PyTuple_Type;  // of which Python keeps some to be used again
  PyObject* tuple = is_plain ? PyTuple_New(count) : type->tp_alloc(type, count);
  for (int64_t i = 0; tuple && i < count; ++i) {
    PyObject* number = PyLong_FromLongLong(numbers[i]);
    if (number)
      PyTuple_SET_ITEM(tuple, i, number);
    else
      Py_CLEAR(tuple);
  }
  return tuple;
}

typedef void (*ReadNumbers)(uh_handle self, int64_t* ret, int64_t n);

static PyObject* all_of(uh_handle handle, ReadNumbers read, PyTypeObject* type) {
  enum { kMaxFew = 8 };
  const int64_t ndim = uh_ndim(handle);
  int64_t few[kMaxFew];
  int64_t* numbers = ndim <= kMaxFew ? few : PyMem_New(int64_t, ndim);
  if (!numbers) return PyErr_NoMemory();
  read(handle, numbers, ndim);
  PyObject* tuple = tuple_of(type, numbers, ndim);
  if (numbers != few) PyMem_Free(numbers);
  return tuple;
}

static PyObject* shape(PyObject* self, void* unused) {
  uh_handle handle;
  return handle_of(self, &handle) ? all_of(handle, uh_sizes, size_class) : NULL;
}

// Reads the argument `dim` of `size(dim=None)` and `stride(dim=None)`, for a tensor with `ndim`
// dimensions. Returns 1: a dimension; 2: not given, so all dimensions; 0: Python must handle it.
static int read_dim(PyObject* const* args, Py_ssize_t count, PyObject* names, int64_t ndim,
                    int64_t* ret_dim) {
  if (names) {
    if (count || PyTuple_GET_SIZE(names) != 1) return 0;
    if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), "dim") != 0) return 0;
    count = 1;
  }
  if (!count || (count == 1 && args[0] == Py_None)) return 2;
  if (count > 1 || !PyLong_CheckExact(args[0])) return 0;
  int overflow;
  const int64_t dim = PyLong_AsLongLongAndOverflow(args[0], &overflow);
  if (overflow || dim < -ndim || dim >= ndim) return 0;
  *ret_dim = dim < 0 ? dim + ndim : dim;
  return 1;
}

static PyObject* ask_with(PyObject* self, const char* method, PyObject* const* args,
                          Py_ssize_t count, PyObject* names) {
  PyObject* bound = PyObject_GetAttrString(self, method);
  PyObject* answer = bound ? PyObject_Vectorcall(bound, args, (size_t)count, names) : NULL;
  Py_XDECREF(bound);
  return answer;
}

static PyObject* size(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  uh_handle handle;
  if (!handle_of(self, &handle)) return NULL;
  int64_t dim;
  switch (read_dim(args, count, names, uh_ndim(handle), &dim)) {
    case 1: return PyLong_FromLongLong(uh_size(handle, dim));
    case 2: return all_of(handle, uh_sizes, size_class);
    default: return ask_with(self, "_size", args, count, names);
  }
}

static PyObject* stride(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  uh_handle handle;
  if (!handle_of(self, &handle)) return NULL;
  int64_t dim;
  const int answer = read_dim(args, count, names, uh_ndim(handle), &dim);
  if (!answer || uh_layout_kind(handle) == UH_SPARSE_CSR)
    return ask_with(self, "_stride", args, count, names);
  PyObject* strides = all_of(handle, uh_strides, &PyTuple_Type);
  if (!strides || answer == 2) return strides;
  const int is_there = dim < PyTuple_GET_SIZE(strides);  // another thread may have resized it
  PyObject* stride_along = is_there ? Py_NewRef(PyTuple_GET_ITEM(strides, dim)) : NULL;
  Py_DECREF(strides);
  return stride_along ? stride_along : ask_with(self, "_stride", args, count, names);
}

static PyObject* is_contiguous(PyObject* self, PyObject* const* args, Py_ssize_t count,
                               PyObject* names) {
  uh_handle handle;
  if (!handle_of(self, &handle)) return NULL;
  if (count || names || uh_layout_kind(handle) == UH_SPARSE_CSR)
    return ask_with(self, "_is_contiguous", args, count, names);
  return PyBool_FromLong(uh_is_contiguous(handle));
}

// ---- one number or object of the core each

// A table's object; any that it does not have comes from a Python method.
static PyObject* entry(PyObject* self, PyObject* table, int code, const char* otherwise) {
  if (code >= 0 && code < PyTuple_GET_SIZE(table)) return Py_NewRef(PyTuple_GET_ITEM(table, code));
  return ask(self, otherwise, NULL);
}

static PyObject* dtype_of(uh_handle handle) {
  return PyTuple_GetItem(dtypes, uh_dtype(handle));  // borrowed
}

int uh_dtype_code(PyObject* dtype) {
  const Py_ssize_t n = dtypes ? PyTuple_GET_SIZE(dtypes) : 0;
  for (Py_ssize_t i = 0; i < n; ++i)
    if (PyTuple_GET_ITEM(dtypes, i) == dtype) return (int)i;
  return -1;
}

// An attribute of the tensor's dtype. `name` is made once: making it costs as much as the rest.
static PyObject* of_dtype(uh_handle handle, PyObject** name, const char* text) {
  if (!*name) *name = PyUnicode_InternFromString(text);
  PyObject* kind = *name ? dtype_of(handle) : NULL;
  return kind ? PyObject_GetAttr(kind, *name) : NULL;
}
#define UH_OF_DTYPE(attribute)                                       \
  static PyObject* dtype_##attribute(uh_handle handle) {             \
    static PyObject* name; /* read and written with the GIL */       \
    return of_dtype(handle, &name, #attribute);                      \
  }
UH_OF_DTYPE(is_floating_point)
UH_OF_DTYPE(is_complex)
UH_OF_DTYPE(is_signed)

// A getter, and a method without arguments; neither uses its second parameter.
#define UH_QUERY(name, value)                           \
  static PyObject* name(PyObject* self, void* unused) { \
    uh_handle handle;                                   \
    return handle_of(self, &handle) ? (value) : NULL;   \
  }
#define UH_CALL(name) \
  static PyObject* name##_method(PyObject* self, PyObject* unused) { return name(self, NULL); }

UH_QUERY(ndim, PyLong_FromLongLong(uh_ndim(handle)))
UH_CALL(ndim)
UH_QUERY(numel, PyLong_FromLongLong(uh_numel(handle)))
UH_CALL(numel)
UH_QUERY(storage_offset, PyLong_FromLongLong(uh_offset(handle)))
UH_CALL(storage_offset)
UH_QUERY(dtype, Py_XNewRef(dtype_of(handle)))
UH_QUERY(device, entry(self, devices, uh_device(handle), "_other_device"))
UH_QUERY(layout, Py_XNewRef(PyTuple_GetItem(layouts, uh_layout_kind(handle))))
UH_QUERY(itemsize, PyLong_FromLongLong(uh_element_size(handle)))
UH_CALL(itemsize)
UH_QUERY(is_floating_point, dtype_is_floating_point(handle))
UH_CALL(is_floating_point)
UH_QUERY(is_complex, dtype_is_complex(handle))
UH_CALL(is_complex)
UH_QUERY(is_signed, dtype_is_signed(handle))
UH_CALL(is_signed)
UH_QUERY(is_sparse, PyBool_FromLong(uh_layout_kind(handle) == UH_SPARSE_COO))
UH_QUERY(is_sparse_csr, PyBool_FromLong(uh_layout_kind(handle) == UH_SPARSE_CSR))
UH_QUERY(is_meta, PyBool_FromLong(uh_device(handle) == kMeta))
UH_QUERY(is_cpu, PyBool_FromLong(uh_device(handle) == kCPU))
UH_QUERY(is_cuda, uh_device(handle) <= kMeta ? Py_NewRef(Py_False) : ask(self, "_is_cuda", NULL))
UH_QUERY(get_device,
         uh_device(handle) <= kMeta ? PyLong_FromLong(-1) : ask(self, "_device_index", NULL))
UH_CALL(get_device)
UH_QUERY(data_ptr, uh_layout_kind(handle) == UH_STRIDED
                       ? PyLong_FromUnsignedLongLong(uh_data_ptr(handle))
                       : ask(self, "_no_address", NULL))
UH_CALL(data_ptr)
UH_QUERY(version, uh_is_inference(handle) ? ask(self, "_no_version", NULL)
                                          : PyLong_FromLongLong(uh_version(handle)))
UH_QUERY(retains_grad, PyBool_FromLong(uh_retains_grad(handle)))
UH_QUERY(output_nr, PyLong_FromLongLong(uh_output_nr(handle)))
UH_QUERY(requires_grad, PyBool_FromLong(uh_requires_grad(handle)))

static PyObject* nbytes(PyObject* self, void* unused) {
  uh_handle handle;
  if (!handle_of(self, &handle)) return NULL;
  if (uh_layout_kind(handle) == UH_SPARSE_COO) return ask(self, "_no_bytes", NULL);
  return PyLong_FromLongLong(uh_numel(handle) * uh_element_size(handle));
}

// ---- autograd: these wait for locks of the core, so without the GIL

static PyObject* is_leaf(PyObject* self, void* unused) {
  uh_handle handle;
  if (!handle_of(self, &handle)) return NULL;
  if (uh_has_no_autograd(handle)) Py_RETURN_TRUE;
  int answer;
  Py_BEGIN_ALLOW_THREADS;
  answer = uh_is_leaf(handle);
  Py_END_ALLOW_THREADS;
  return answer < 0 ? ask(self, "_raise_last", NULL) : PyBool_FromLong(answer);
}

static PyObject* grad_fn(PyObject* self, void* unused) {
  uh_handle handle;
  if (!handle_of(self, &handle)) return NULL;
  uh_node node;
  Py_BEGIN_ALLOW_THREADS;
  node = uh_grad_fn(handle);
  Py_END_ALLOW_THREADS;
  if (!node) Py_RETURN_NONE;
  if (node == ~(uh_node)0) return ask(self, "_raise_last", NULL);
  PyObject* number = PyLong_FromUnsignedLongLong(node);
  PyObject* object = number ? ask(self, "_node_of", number) : NULL;
  Py_XDECREF(number);
  return object;
}

static PyObject* grad(PyObject* self, void* unused) {
  uh_handle handle;
  if (!handle_of(self, &handle)) return NULL;
  if (uh_has_no_autograd(handle)) Py_RETURN_NONE;
  uh_handle gradient;
  Py_BEGIN_ALLOW_THREADS;
  gradient = uh_grad(handle);
  Py_END_ALLOW_THREADS;
  if (!gradient) {
    if (!uh_requires_grad(handle)) Py_RETURN_NONE;
    return ask(self, "_absent_grad", NULL);  // a leaf has none yet; elsewhere it may be a mistake
  }
  return uh_wrap(gradient);
}

// `value`: NULL when the attribute is deleted.
static int assign(PyObject* self, PyObject* value, void* method) {
  PyObject* done = ask(self, (const char*)method, value ? value : Py_None);
  Py_XDECREF(done);
  return done ? 0 : -1;
}
static int assign_requires_grad(PyObject* self, PyObject* value, void* unused) {
  if (value) return assign(self, value, "_assign_requires_grad");
  PyErr_SetString(PyExc_AttributeError, "requires_grad of a tensor cannot be deleted");
  return -1;
}
static int assign_grad(PyObject* self, PyObject* value, void* unused) {
  return assign(self, value, "_assign_grad");
}

// ---- elements

// The elements of a tensor as Python numbers, in nested lists.
typedef struct {
  const int64_t* sizes;
  int64_t ndim;
  const double* reals;  // of a floating point or complex tensor, else NULL
  const int64_t* integers;
  int is_bool, is_complex;
} Elements;

static PyObject* element(const Elements* elements, int64_t index) {
  const double* reals = elements->reals;
  if (elements->is_complex) return PyComplex_FromDoubles(reals[2 * index], reals[2 * index + 1]);
  if (reals) return PyFloat_FromDouble(reals[index]);
  const int64_t value = elements->integers[index];
  return elements->is_bool ? PyBool_FromLong(value != 0) : PyLong_FromLongLong(value);
}

static PyObject* nest(const Elements* elements, int64_t dim, int64_t* index) {
  if (dim == elements->ndim) return element(elements, (*index)++);
  PyObject* list = PyList_New(elements->sizes[dim]);
  for (int64_t i = 0; list && i < elements->sizes[dim]; ++i) {
    PyObject* item = nest(elements, dim + 1, index);
    if (item)
      PyList_SET_ITEM(list, i, item);
    else
      Py_CLEAR(list);
  }
  return list;
}

// Reads the elements. NotImplemented where another thread has changed sizes or dtype since they
// were read; None for an error of the core.
static PyObject* read_elements(uh_handle handle) {
  const int code = uh_dtype(handle);
  const int64_t ndim = uh_ndim(handle);
  int64_t* sizes = PyMem_New(int64_t, ndim + 1);
  if (!sizes) return PyErr_NoMemory();
  Elements elements = {.sizes = sizes, .ndim = ndim, .is_bool = code == UH_BOOL};
  elements.is_complex = code == UH_COMPLEX64 || code == UH_COMPLEX128;
  int64_t count = 1;
  for (int64_t dim = 0; dim < ndim; ++dim) {
    sizes[dim] = uh_size(handle, dim);
    if (__builtin_mul_overflow(count, sizes[dim], &count)) count = INT64_MAX;
  }
  void* values = NULL;
  if (!__builtin_mul_overflow(count, 1 + elements.is_complex, &count) && count < PY_SSIZE_T_MAX / 8)
    values = PyMem_Malloc(count ? 8 * (size_t)count : 8);
  PyObject* result = NULL;
  if (!values) {
    PyErr_NoMemory();
  } else {
    const int is_real = elements.is_complex || code == UH_FLOAT16 || code == UH_BFLOAT16 ||
                        code == UH_FLOAT32 || code == UH_FLOAT64;
    int status;
    Py_BEGIN_ALLOW_THREADS;
    status = is_real ? uh_read_doubles(handle, values, count) : uh_read_ints(handle, values, count);
    Py_END_ALLOW_THREADS;
    int64_t index = 0;
    elements.reals = is_real ? values : NULL;
    elements.integers = values;
    if (status == 0)
      result = nest(&elements, 0, &index);
    else
      result = Py_NewRef(status == 1 ? Py_NotImplemented : Py_None);
  }
  PyMem_Free(values);
  PyMem_Free(sizes);
  return result;
}

static PyObject* to_list(PyObject* self, PyObject* unused) {
  uh_handle handle;
  if (!handle_of(self, &handle)) return NULL;
  PyObject* elements = read_elements(handle);
  while (elements == Py_NotImplemented) {
    Py_DECREF(elements);
    if (PyErr_CheckSignals()) return NULL;
    elements = read_elements(handle);
  }
  if (elements != Py_None) return elements;
  Py_DECREF(elements);
  return ask(self, "_raise_last", NULL);
}

static PyObject* length(PyObject* self, PyObject* unused) {
  uh_handle handle;
  if (!handle_of(self, &handle)) return NULL;
  if (uh_ndim(handle)) return PyLong_FromLongLong(uh_size(handle, 0));
  PyErr_SetString(PyExc_TypeError, "len() of a 0-d tensor");
  return NULL;
}

// ---- the tables

static PyGetSetDef properties[] = {
    {"shape", shape, NULL, "The sizes.", NULL},
    {"ndim", ndim, NULL, "The number of dimensions.", NULL},
    {"dtype", dtype, NULL, "The element type.", NULL},
    {"device", device, NULL, "The device of the elements.", NULL},
    {"layout", layout, NULL,
     "`engine.strided` (sizes, strides and offset determine the positions of the elements), or a "
     "sparse layout.",
     NULL},
    {"itemsize", itemsize, NULL, "Bytes per element.", NULL},
    {"nbytes", nbytes, NULL,
     "Bytes of all elements; the Storage may have more, or fewer after `expand`.\n\n"
     "Raises: RuntimeError for a COO tensor; its indices and values have bytes.",
     NULL},
    {"is_sparse", is_sparse, NULL, "True for a COO tensor.", NULL},
    {"is_sparse_csr", is_sparse_csr, NULL, "True for a CSR tensor.", NULL},
    {"is_meta", is_meta, NULL, "True if the tensor has metadata but no memory.", NULL},
    {"is_cpu", is_cpu, NULL, "True if the elements are in main memory.", NULL},
    {"is_cuda", is_cuda, NULL,
     "True only if `opencl.alias_cuda` made \"cuda\" another name of the tensor's device.", NULL},
    {"_version", version, NULL,
     "The number of in-place writes to the memory, through this tensor or its views.", NULL},
    {"requires_grad", requires_grad, assign_requires_grad,
     "True if gradients are computed for this tensor; settable on leaves.", NULL},
    {"is_leaf", is_leaf, NULL, "True if the tensor is not the result of a recorded operation.",
     NULL},
    {"grad_fn", grad_fn, NULL,
     "The Node of the operation that computed this tensor; None for leaves.", NULL},
    {"output_nr", output_nr, NULL, "The index of this tensor among the results of its `grad_fn`.",
     NULL},
    {"retains_grad", retains_grad, NULL,
     "True for a non-leaf that stores its gradient: see `retain_grad`.", NULL},
    {"grad", grad, assign_grad,
     "The sum of the gradients of all backward passes; None before the first.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

#define UH_METHOD(name, function, signature, doc) \
  {name, (PyCFunction)(void (*)(void))function, METH_FASTCALL | METH_KEYWORDS, \
   name signature "\n--\n\n" doc}
#define UH_NO_ARGUMENTS(name, function, doc) \
  {name, function, METH_NOARGS, name "($self)\n--\n\n" doc}

static PyMethodDef methods[] = {
    UH_METHOD("size", size, "($self, dim=None)",
              "Return all sizes, or that of one dimension. "
              "Raises: IndexError for a dimension out of range."),
    UH_METHOD("stride", stride, "($self, dim=None)",
              "Return the distance in elements between neighbours along each dimension, or along "
              "one."),
    UH_METHOD("is_contiguous", is_contiguous, "($self, *, memory_format=None)",
              "Return True if the elements are stored in row-major order without gaps, or in "
              "another format's order."),
    UH_NO_ARGUMENTS("dim", ndim_method, "The number of dimensions."),
    UH_NO_ARGUMENTS("ndimension", ndim_method, "The number of dimensions."),
    UH_NO_ARGUMENTS("numel", numel_method, "The number of elements."),
    UH_NO_ARGUMENTS("nelement", numel_method, "The number of elements."),
    UH_NO_ARGUMENTS("storage_offset", storage_offset_method,
                    "Return the distance of the first element from the start of the Storage, in "
                    "elements."),
    UH_NO_ARGUMENTS("element_size", itemsize_method, "Bytes per element."),
    UH_NO_ARGUMENTS("is_floating_point", is_floating_point_method,
                    "Return True if the dtype is a floating-point type."),
    UH_NO_ARGUMENTS("is_complex", is_complex_method, "Return True if the dtype is complex."),
    UH_NO_ARGUMENTS("is_signed", is_signed_method,
                    "Return True if the dtype can hold negative numbers."),
    UH_NO_ARGUMENTS("get_device", get_device_method,
                    "Return the index of the tensor's device, -1 for the CPU."),
    UH_NO_ARGUMENTS("data_ptr", data_ptr_method,
                    "Return the address of the first element; 0 for a tensor without elements.\n\n"
                    "Raises: RuntimeError for a sparse tensor; its parts have addresses."),
    UH_NO_ARGUMENTS("const_data_ptr", data_ptr_method,
                    "Return the address of the first element; 0 for a tensor without elements."),
    {"_to_list", to_list, METH_NOARGS, "The elements as nested lists."},
    {"_length", length, METH_NOARGS, "The size of the first dimension."},
    {NULL, NULL, 0, NULL},
};

static PyMethodDef set_values_method = {
    "_set_values", set_values, METH_VARARGS | METH_STATIC,
    "The class of shapes; the dtypes, devices and layouts by code."};

static int add(PyTypeObject* type, const char* name, PyObject* descriptor) {
  const int status =
      descriptor ? PyObject_SetAttrString((PyObject*)type, name, descriptor) : -1;
  Py_XDECREF(descriptor);
  return status;
}

int uh_add_metadata(PyTypeObject* type) {
  for (PyGetSetDef* property = properties; property->name; ++property)
    if (add(type, property->name, PyDescr_NewGetSet(type, property))) return -1;
  for (PyMethodDef* method = methods; method->ml_name; ++method)
    if (add(type, method->ml_name, PyDescr_NewMethod(type, method))) return -1;
  PyObject* function = PyCFunction_New(&set_values_method, NULL);
  PyObject* shared = function ? PyStaticMethod_New(function) : NULL;
  Py_XDECREF(function);
  return add(type, set_values_method.ml_name, shared);
}
