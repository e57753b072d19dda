// The C functions of operators as Python functions: see c_function.h.
#define PY_SSIZE_T_CLEAN
#include "c_function.h"

#include <Python.h>
#include <limits.h>
#include <string.h>

#include "tensor_base.h"
#include "tensor_metadata.h"

enum { kMaxItems = 64, kMaxOwned = 16 };

// The Python function's `self`.
typedef struct {
  PyObject_HEAD const uh_function_entry* entry;
  PyTypeObject* results;  // the class of several results
  int count;              // of arguments
  int plain;
  PyMethodDef method;
} Function;

// The C arguments of a call, and what they refer to.
typedef struct {
  uh_slot slots[kMaxSlots];
  int used;
  int64_t items[kMaxItems];  // of lists: ints or handles
  Py_ssize_t items_used;
  PyObject* owned[kMaxOwned];
  int owned_used;
} Arguments;

static PyObject* g_converters;  // a dictionary

// ---- one C argument

static int put_int(Arguments* arguments, int64_t value) {
  arguments->slots[arguments->used++].i = value;
  return 1;
}

static int put_double(Arguments* arguments, double value) {
  arguments->slots[arguments->used++].d = value;
  return 1;
}

static int put_pointer(Arguments* arguments, const void* value, int64_t length) {
  arguments->slots[arguments->used++].p = value;
  return put_int(arguments, length);
}

static int put_number(Arguments* arguments, int kind, int64_t integer, double real) {
  return put_int(arguments, kind) && put_int(arguments, integer) && put_double(arguments, real);
}

// Puts an int, or an object that converts to one, except for a float.
static int put_as_int(Arguments* arguments, PyObject* value, int64_t min_value, int64_t max_value) {
  PyObject* number = NULL;
  if (!PyLong_Check(value)) {
    PyNumberMethods* methods = Py_TYPE(value)->tp_as_number;
    if (PyFloat_Check(value) || !methods || !methods->nb_int) {
      PyErr_SetString(PyExc_TypeError, "an integer is required");
      return 0;
    }
    value = number = PyNumber_Long(value);
    if (!value) return 0;
  }
  const int64_t integer = PyLong_AsLongLong(value);
  if (!(integer == -1 && PyErr_Occurred()) && (integer < min_value || integer > max_value))
    PyErr_Format(PyExc_OverflowError, "integer %lld does not fit 'int'", (long long)integer);
  Py_XDECREF(number);
  return PyErr_Occurred() ? 0 : put_int(arguments, integer);
}

static int put_as_int64(Arguments* arguments, PyObject* value) {
  return put_as_int(arguments, value, INT64_MIN, INT64_MAX);
}

static int put_as_double(Arguments* arguments, PyObject* value) {
  const double real = PyFloat_AsDouble(value);
  return real == -1 && PyErr_Occurred() ? 0 : put_double(arguments, real);
}

static int own(Arguments* arguments, PyObject* value) {
  if (arguments->owned_used == kMaxOwned) {
    PyErr_SetString(PyExc_SystemError, "too many lists");
    return 0;
  }
  arguments->owned[arguments->owned_used++] = Py_NewRef(value);
  return 1;
}

// ---- an argument through its converter

static int put_converted(Arguments* arguments, char kind, PyObject* value) {
  switch (kind) {
    case 'h': {
      const uint64_t handle = PyLong_AsUnsignedLongLong(value);
      arguments->slots[arguments->used++].h = handle;
      return !(handle == (uint64_t)-1 && PyErr_Occurred());
    }
    case 'i': return put_as_int64(arguments, value);
    case 'c': return put_as_int(arguments, value, INT_MIN, INT_MAX);
    case 'd': return put_as_double(arguments, value);
    default:
      if (!PyBytes_Check(value)) {
        PyErr_SetString(PyExc_TypeError, "an array is a bytes object");
        return 0;
      }
      arguments->slots[arguments->used++].p = PyBytes_AS_STRING(value);
      return own(arguments, value);
  }
}

static int convert_in_python(Arguments* arguments, char letter, PyObject* value) {
  PyObject* key = PyUnicode_FromStringAndSize(&letter, 1);
  PyObject* converter = key ? PyDict_GetItemWithError(g_converters, key) : NULL;
  Py_XDECREF(key);
  PyObject* converted = converter ? PyObject_CallOneArg(converter, value) : NULL;
  if (!converted) return 0;
  const char* layout = uh_argument_layouts[(int)letter];
  const Py_ssize_t n = (Py_ssize_t)strlen(layout);
  int done = 1;
  if (n == 1) {
    done = put_converted(arguments, layout[0], converted);
  } else if (!PyTuple_Check(converted) || PyTuple_GET_SIZE(converted) != n) {
    PyErr_Format(PyExc_SystemError, "the converter of '%c' returned %R", letter, converted);
    done = 0;
  } else {
    for (Py_ssize_t i = 0; done && i < n; ++i)
      done = put_converted(arguments, layout[i], PyTuple_GET_ITEM(converted, i));
  }
  Py_DECREF(converted);
  return done;
}

// ---- an argument of the usual types

static int put_tensor(Arguments* arguments, PyObject* value) {
  if (uh_tensor_handle(value, &arguments->slots[arguments->used].h)) {
    ++arguments->used;
    return 1;
  }
  PyErr_Format(PyExc_AttributeError, "'%.200s' object has no attribute '_h'",
               Py_TYPE(value)->tp_name);
  return 0;
}

// Returns 1 if it was an exact number that fits, else 0 without an exception.
static int put_exact_number(Arguments* arguments, PyObject* value) {
  if (PyFloat_CheckExact(value)) return put_number(arguments, 2, 0, PyFloat_AS_DOUBLE(value));
  if (PyBool_Check(value)) return put_number(arguments, 0, value == Py_True, 0);
  if (!PyLong_CheckExact(value)) return 0;
  int overflow;
  const int64_t integer = PyLong_AsLongLongAndOverflow(value, &overflow);
  return !overflow && put_number(arguments, 1, integer, 0);
}

// Puts a list or tuple of ints, of tensors, or of tensors and None; 0 without an exception for any
// other value.
static int put_items(Arguments* arguments, char letter, PyObject* value) {
  if (!PyTuple_Check(value) && !PyList_CheckExact(value)) return 0;
  const Py_ssize_t length = PySequence_Fast_GET_SIZE(value);
  if (length > kMaxItems - arguments->items_used || arguments->owned_used == kMaxOwned) return 0;
  int64_t* numbers = arguments->items + arguments->items_used;
  for (Py_ssize_t i = 0; i < length; ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(value, i);
    if (letter == 'l' || letter == 'k') {
      int overflow;
      if (!PyLong_CheckExact(item)) return 0;
      numbers[i] = PyLong_AsLongLongAndOverflow(item, &overflow);
      if (overflow) return 0;
      continue;
    }
    uint64_t handle = 0;
    if (!(letter == 'M' && item == Py_None) && !uh_tensor_handle(item, &handle)) return 0;
    memcpy(&numbers[i], &handle, sizeof handle);
  }
  if ((letter == 'm' || letter == 'M') && PyList_CheckExact(value)) {
    // Another thread may remove tensors from the list while the function runs.
    PyObject* items = PySequence_Tuple(value);
    if (!items) return 0;
    arguments->owned[arguments->owned_used++] = items;
  }
  arguments->items_used += length;
  return put_pointer(arguments, numbers, length);
}

static int put_text(Arguments* arguments, PyObject* value) {
  if (!PyUnicode_Check(value)) {
    PyErr_Format(PyExc_AttributeError, "'%.200s' object has no attribute 'encode'",
                 Py_TYPE(value)->tp_name);
    return 0;
  }
  const char* text = PyUnicode_AsUTF8(value);
  arguments->slots[arguments->used++].p = text;
  return text != NULL;
}

// Puts the C arguments of one Python argument; 0 with an exception, or if it is not plain. Letters:
// csrc/codegen/c_functions.py.
static int convert(Arguments* arguments, char letter, PyObject* value, int plain) {
  const int is_none = value == Py_None;
  switch (letter) {
    case 't': return put_tensor(arguments, value);
    case 'T': return is_none ? put_int(arguments, 0) : put_tensor(arguments, value);
    case 'o':
      if (uh_tensor_handle(value, &arguments->slots[arguments->used].h)) {
        ++arguments->used;
        return put_number(arguments, 0, 0, 0);
      }
      arguments->slots[arguments->used++].h = 0;
      if (put_exact_number(arguments, value)) return 1;
      --arguments->used;
      break;
    case 'n':
      if (is_none) return put_number(arguments, -1, 0, 0);
      if (put_exact_number(arguments, value)) return 1;
      break;
    case 'k':
      if (PyLong_CheckExact(value) && arguments->items_used < kMaxItems) {
        int overflow;
        int64_t* number = &arguments->items[arguments->items_used];
        *number = PyLong_AsLongLongAndOverflow(value, &overflow);
        if (overflow) break;
        ++arguments->items_used;
        return put_pointer(arguments, number, 1);
      }
      __attribute__((fallthrough));
    case 'l':
    case 'm':
    case 'M':
      if (is_none) return put_pointer(arguments, NULL, -1);
      if (put_items(arguments, letter, value)) return 1;
      if (PyErr_Occurred()) return 0;
      break;
    case 'd':
      if (is_none) return put_pointer(arguments, NULL, -1);
      break;
    case 'f':
      if (PyFloat_CheckExact(value) || PyLong_CheckExact(value))
        return put_as_double(arguments, value);
      break;
    case 'i': return put_as_int64(arguments, value);
    case 'b': return put_as_int(arguments, value, INT_MIN, INT_MAX);
    case 'I':
    case 'B':
      if (is_none) return put_int(arguments, 0) && put_int(arguments, 0);
      if (PyLong_Check(value)) return put_int(arguments, 1) && put_as_int64(arguments, value);
      break;
    case 'F':
      if (is_none) return put_int(arguments, 0) && put_double(arguments, 0);
      if (PyFloat_CheckExact(value) || PyLong_CheckExact(value))
        return put_int(arguments, 1) && put_as_double(arguments, value);
      break;
    case 'y': {
      const int code = is_none ? -1 : uh_dtype_code(value);
      if (is_none || code >= 0) return put_int(arguments, code);
      break;
    }
    case 'v':
    case 'c':
      if (is_none) return put_int(arguments, -1);
      break;
    case 's': return put_text(arguments, value);
    case 'S':
      if (!is_none) return put_text(arguments, value);
      arguments->slots[arguments->used++].p = NULL;
      return 1;
  }
  return plain ? 0 : convert_in_python(arguments, letter, value);
}

// ---- results

static PyObject* take_tensor(uint64_t handle) {
  return handle ? uh_wrap(handle) : Py_NewRef(Py_None);
}

static PyObject* take_tensors(PyTypeObject* type, const uint64_t* handles, Py_ssize_t n) {
  PyObject* tensors = type == &PyTuple_Type ? PyTuple_New(n) : type->tp_alloc(type, n);
  for (Py_ssize_t i = 0; tensors && i < n; ++i) {
    PyObject* tensor = take_tensor(handles[i]);
    if (tensor)
      PyTuple_SET_ITEM(tensors, i, tensor);
    else
      Py_CLEAR(tensors);
  }
  return tensors;
}

static PyObject* take_list(uh_list* list) {
  if (!list) Py_RETURN_NONE;
  PyObject* tensors = take_tensors(&PyTuple_Type, list->items, (Py_ssize_t)list->n);
  uh_list_free(list);
  return tensors;
}

static PyObject* take_scalar(const uh_scalar* scalar) {
  switch (scalar->kind) {
    case 0: return PyBool_FromLong(scalar->i != 0);
    case 1: return PyLong_FromLongLong(scalar->i);
    case 2: return PyFloat_FromDouble(scalar->d);
    case 3: {
      double imag;
      memcpy(&imag, &scalar->i, sizeof imag);
      return PyComplex_FromDoubles(scalar->d, imag);
    }
    default: Py_RETURN_NONE;
  }
}

static PyObject* take(const Function* self, const uh_returned* returned) {
  switch (self->entry->result) {
    case 't': return take_tensor(returned->h);
    case 'v':  // a status
      if (returned->i) Py_RETURN_NONE;
      Py_RETURN_TRUE;
    case 'm':
      if (returned->several.status) Py_RETURN_NONE;
      return take_tensors(self->results, returned->several.tensors, self->entry->results);
    case 'l': return take_list(returned->list);
    case 'n': return take_scalar(&returned->scalar);
    case 'b':
      if (returned->i < 0) Py_RETURN_NONE;
      return PyBool_FromLong(returned->i == 1);
    default:
      if (returned->i == INT64_MIN) Py_RETURN_NONE;
      return PyLong_FromLongLong(returned->i);
  }
}

// ---- calls

static PyObject* call(PyObject* object, PyObject* const* args, Py_ssize_t count) {
  Function* self = (Function*)object;
  const uh_function_entry* entry = self->entry;
  if (count != self->count)
    return PyErr_Format(PyExc_TypeError, "%s() takes %d arguments, not %zd", self->method.ml_name,
                        self->count, count);
  Arguments arguments;
  arguments.used = arguments.owned_used = 0;
  arguments.items_used = 0;
  int done = 1;
  for (Py_ssize_t i = 0; done && i < count; ++i) {
    const int is_self = self->plain && i == 0;
    done = (!is_self || uh_is_tensor(args[i])) &&
           convert(&arguments, entry->arguments[i], args[i], self->plain);
  }
  uh_returned returned;
  if (done) {
    Py_BEGIN_ALLOW_THREADS;
    entry->call(entry->function, arguments.slots, &returned);
    Py_END_ALLOW_THREADS;
  }
  for (int i = 0; i < arguments.owned_used; ++i) Py_DECREF(arguments.owned[i]);
  if (done) return take(self, &returned);
  if (!self->plain) return NULL;
  PyErr_Clear();
  return Py_NewRef(Py_NotImplemented);
}

static void deallocate(PyObject* object) {
  Function* self = (Function*)object;
  PyTypeObject* type = Py_TYPE(object);
  Py_XDECREF(self->results);
  PyMem_Free((void*)self->method.ml_name);
  type->tp_free(object);
  Py_DECREF(type);
}

static PyType_Slot function_slots[] = {
    {Py_tp_dealloc, deallocate},
    {Py_tp_doc, "The C function that a Python function calls."},
    {0, NULL},
};

static PyType_Spec function_spec = {
    .name = "engine._native._CFunction",
    .basicsize = sizeof(Function),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = function_slots,
};

static const uh_function_entry* find(const char* name) {
  int first = 0, last = uh_function_count;
  while (first < last) {
    const int middle = first + (last - first) / 2;
    const int order = strcmp(name, uh_function_entries[middle].name);
    if (!order) return &uh_function_entries[middle];
    if (order < 0)
      last = middle;
    else
      first = middle + 1;
  }
  return NULL;
}

static PyObject* make(const char* name, int plain, PyObject* results) {
  static PyTypeObject* type;
  const uh_function_entry* entry = find(name);
  if (!entry) return PyErr_Format(PyExc_AttributeError, "there is no C function uh_%s", name);
  if (!type) type = (PyTypeObject*)PyType_FromSpec(&function_spec);
  Function* self = type ? (Function*)type->tp_alloc(type, 0) : NULL;
  if (!self) return NULL;
  char* full_name = PyMem_Malloc(strlen(name) + 4);
  if (full_name) {
    strcpy(full_name, "uh_");
    strcat(full_name, name);
  }
  self->entry = entry;
  self->results = (PyTypeObject*)Py_NewRef(results);
  self->count = (int)strlen(entry->arguments);
  self->plain = plain;
  self->method = (PyMethodDef){full_name, (PyCFunction)(void (*)(void))call, METH_FASTCALL, NULL};
  PyObject* function =
      full_name ? PyCFunction_New(&self->method, (PyObject*)self) : PyErr_NoMemory();
  Py_DECREF(self);
  return function;
}

int uh_c_function(const char* name, int plain, uintptr_t results, uintptr_t list) {
  const PyGILState_STATE gil = PyGILState_Ensure();
  PyObject* function = make(name, plain, (PyObject*)results);
  const int status = function ? PyList_Append((PyObject*)list, function) : -1;
  Py_XDECREF(function);
  if (status) PyErr_Clear();
  PyGILState_Release(gil);
  return status;
}

void uh_set_converters(uintptr_t converters) {
  const PyGILState_STATE gil = PyGILState_Ensure();
  Py_XSETREF(g_converters, Py_NewRef((PyObject*)converters));
  PyGILState_Release(gil);
}
