// The native bases of engine.ops.Overload, Packet and Namespace: see operator_call.h.
#define PY_SSIZE_T_CLEAN
#include "operator_call.h"

#include <Python.h>
#include <string.h>

#include "capi/underhood_library.h"
#include "tensor_base.h"

enum { kMaxArguments = 16, kMaxItems = 64, kMaxResults = 8 };

typedef struct {
  PyObject_HEAD PyObject* name;  // bytes: "mine::twice"; NULL: every call is generic
  PyObject* kinds;               // bytes: a letter per argument, see `convert`
  PyObject* names;               // a tuple of strings
  PyObject* defaults;            // a tuple; Ellipsis: it has none
  Py_ssize_t positional;         // how many of the arguments
  Py_ssize_t returned;           // the argument that a call without results returns, or -1
} Operator;

// The arguments of a call and what they refer to.
typedef struct {
  uh_value values[kMaxArguments];
  int64_t items[kMaxItems];  // of lists: ints or handles
  Py_ssize_t items_used;
  PyObject* lists[kMaxArguments];  // copies of lists, whose items live as long as the call
  int lists_used;
} Arguments;

static int to_int(PyObject* value, int64_t* ret) {
  int overflow;
  *ret = PyLong_AsLongLongAndOverflow(value, &overflow);
  return !overflow;
}

static int convert_list(uh_value* slot, int of_tensors, PyObject* value, Arguments* arguments) {
  if (!PyList_CheckExact(value) && !PyTuple_Check(value)) return 0;
  PyObject* items = PySequence_Tuple(value);
  if (!items) return 0;
  arguments->lists[arguments->lists_used++] = items;
  const Py_ssize_t n = PyTuple_GET_SIZE(items);
  if (n > kMaxItems - arguments->items_used) return 0;
  int64_t* numbers = arguments->items + arguments->items_used;
  arguments->items_used += n;
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* item = PyTuple_GET_ITEM(items, i);
    uh_handle handle = 0;
    if (of_tensors ? !uh_tensor_handle(item, &handle) : !PyLong_CheckExact(item)) return 0;
    if (of_tensors)
      memcpy(&numbers[i], &handle, sizeof handle);
    else if (!to_int(item, &numbers[i]))
      return 0;
  }
  *slot = (uh_value){of_tensors ? UH_VALUE_TENSORS : UH_VALUE_INTS, n, 0, numbers};
  return 1;
}

// Converts a value for an argument of a kind; 0 where that needs the generic call. In upper case
// the argument may be None.
static int convert(uh_value* slot, char kind, PyObject* value, Arguments* arguments) {
  const int is_optional = kind >= 'A' && kind <= 'Z';
  if (value == Py_None) {
    *slot = (uh_value){UH_VALUE_NONE, 0, 0, NULL};
    return is_optional;
  }
  uh_handle handle;
  switch (is_optional ? kind - 'A' + 'a' : kind) {
    case 't':  // Tensor
      if (!uh_tensor_handle(value, &handle)) return 0;
      *slot = (uh_value){UH_VALUE_TENSOR, (int64_t)handle, 0, NULL};
      return 1;
    case 'i':  // int
      *slot = (uh_value){UH_VALUE_INT, 0, 0, NULL};
      return PyLong_CheckExact(value) && to_int(value, &slot->i);
    case 'f': {  // float
      int64_t integer = 0;
      if (!PyFloat_CheckExact(value) && !(PyLong_CheckExact(value) && to_int(value, &integer)))
        return 0;
      const double real = PyFloat_CheckExact(value) ? PyFloat_AS_DOUBLE(value) : (double)integer;
      *slot = (uh_value){UH_VALUE_FLOAT, 0, real, NULL};
      return 1;
    }
    case 'b':  // bool
      *slot = (uh_value){UH_VALUE_BOOL, value == Py_True, 0, NULL};
      return PyBool_Check(value);
    case 'n':  // Scalar
      return convert(slot,
                     PyFloat_CheckExact(value) ? 'f'
                     : PyBool_Check(value)     ? 'b'
                                               : 'i',
                     value, arguments);
    case 's': {  // str
      if (!PyUnicode_CheckExact(value)) return 0;
      Py_ssize_t size;
      const char* text = PyUnicode_AsUTF8AndSize(value, &size);
      *slot = (uh_value){UH_VALUE_STRING, size, 0, text};
      return text != NULL;
    }
    case 'l':  // int[]
      return convert_list(slot, 0, value, arguments);
    case 'm':  // Tensor[]
      return convert_list(slot, 1, value, arguments);
    default:  // types that only the generic call knows
      return 0;
  }
}

// Puts the values of a call in the schema's order and converts them; 0 where that needs the generic
// call, also for arguments that are missing or too many.
static int bind(const Operator* self, PyObject* args, PyObject* options, Arguments* arguments) {
  const Py_ssize_t n = PyBytes_GET_SIZE(self->kinds), n_given = PyTuple_GET_SIZE(args);
  if (n_given > self->positional) return 0;
  Py_ssize_t n_options = options ? PyDict_GET_SIZE(options) : 0;
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* value = NULL;
    if (i < n_given) {
      value = PyTuple_GET_ITEM(args, i);
    } else if (n_options) {
      value = PyDict_GetItemWithError(options, PyTuple_GET_ITEM(self->names, i));
      n_options -= value != NULL;
    }
    if (!value) value = PyTuple_GET_ITEM(self->defaults, i);
    if (value == Py_Ellipsis) return 0;
    if (!convert(&arguments->values[i], PyBytes_AS_STRING(self->kinds)[i], value, arguments))
      return 0;
  }
  return n_options == 0;
}

static PyObject* take_tensor(uint64_t handle) {
  return handle ? uh_wrap(handle) : Py_NewRef(Py_None);
}

static PyObject* take_tensors(uh_list* list) {
  PyObject* tensors = PyTuple_New(list->n);
  for (int64_t i = 0; tensors && i < list->n; ++i) {
    PyObject* tensor = take_tensor(list->items[i]);
    if (tensor)
      PyTuple_SET_ITEM(tensors, i, tensor);
    else
      Py_CLEAR(tensors);
  }
  uh_list_free(list);
  return tensors;
}

// A result as a Python object, which takes over what the value owns.
static PyObject* take(const uh_value* value) {
  switch (value->tag) {
    case UH_VALUE_TENSOR: return take_tensor((uint64_t)value->i);
    case UH_VALUE_INT: return PyLong_FromLongLong(value->i);
    case UH_VALUE_FLOAT: return PyFloat_FromDouble(value->d);
    case UH_VALUE_BOOL: return PyBool_FromLong(value->i != 0);
    case UH_VALUE_STRING: return PyUnicode_DecodeUTF8(value->p, value->i, "strict");
    case UH_VALUE_TENSORS: return take_tensors((uh_list*)value->p);
    case UH_VALUE_INTS: {
      PyObject* numbers = PyTuple_New(value->i);
      for (int64_t i = 0; numbers && i < value->i; ++i) {
        PyObject* number = PyLong_FromLongLong(((const int64_t*)value->p)[i]);
        if (number)
          PyTuple_SET_ITEM(numbers, i, number);
        else
          Py_CLEAR(numbers);
      }
      return numbers;
    }
    case UH_VALUE_NONE: Py_RETURN_NONE;
    default: return PyErr_Format(PyExc_SystemError, "unknown tag %d of a result", (int)value->tag);
  }
}

static PyObject* take_all(const uh_value* results, int count) {
  if (count == 1) return take(&results[0]);
  PyObject* values = PyTuple_New(count);
  for (int i = 0; values && i < count; ++i) {
    PyObject* value = take(&results[i]);
    if (value)
      PyTuple_SET_ITEM(values, i, value);
    else
      Py_CLEAR(values);
  }
  return values;
}

static PyObject* call_generic(PyObject* self, PyObject* args, PyObject* options) {
  PyObject* method = PyObject_GetAttrString(self, "_call_generic");
  PyObject* result = method ? PyObject_Call(method, args, options) : NULL;
  Py_XDECREF(method);
  return result;
}

static PyObject* call(PyObject* object, PyObject* args, PyObject* options) {
  Operator* self = (Operator*)object;
  if (!self->name) return call_generic(object, args, options);
  Arguments arguments;
  arguments.items_used = arguments.lists_used = 0;
  const int bound = bind(self, args, options, &arguments);
  int count = 0;
  uh_value results[kMaxResults];
  if (bound) {
    PyObject* name = Py_NewRef(self->name);
    Py_BEGIN_ALLOW_THREADS;
    count = uh_call_boxed(PyBytes_AS_STRING(name), arguments.values, PyBytes_GET_SIZE(self->kinds),
                          results);
    Py_END_ALLOW_THREADS;
    Py_DECREF(name);
  }
  for (int i = 0; i < arguments.lists_used; ++i) Py_DECREF(arguments.lists[i]);
  if (!bound) {
    PyErr_Clear();
    return call_generic(object, args, options);
  }
  if (count < 0) return PyObject_CallMethod(object, "_raise_last", NULL);
  if (count > 0) return take_all(results, count);
  if (self->returned < 0) Py_RETURN_NONE;
  if (self->returned < PyTuple_GET_SIZE(args))
    return Py_NewRef(PyTuple_GET_ITEM(args, self->returned));
  return Py_XNewRef(
      PyDict_GetItemWithError(options, PyTuple_GET_ITEM(self->names, self->returned)));
}

static PyObject* prepare(PyObject* object, PyObject* args) {
  Operator* self = (Operator*)object;
  PyObject *name, *kinds, *names, *defaults;
  Py_ssize_t positional, returned;
  if (!PyArg_ParseTuple(args, "SSO!O!nn", &name, &kinds, &PyTuple_Type, &names, &PyTuple_Type,
                        &defaults, &positional, &returned))
    return NULL;
  const Py_ssize_t n = PyBytes_GET_SIZE(kinds);
  if (PyTuple_GET_SIZE(names) != n || PyTuple_GET_SIZE(defaults) != n || returned >= n) {
    PyErr_SetString(PyExc_ValueError, "kinds, names and defaults must be of one length");
    return NULL;
  }
  if (n > kMaxArguments) Py_RETURN_NONE;
  Py_XSETREF(self->name, Py_NewRef(name));
  Py_XSETREF(self->kinds, Py_NewRef(kinds));
  Py_XSETREF(self->names, Py_NewRef(names));
  Py_XSETREF(self->defaults, Py_NewRef(defaults));
  self->positional = positional;
  self->returned = returned;
  Py_RETURN_NONE;
}

static int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(((Operator*)self)->defaults);
  return 0;
}

static int clear(PyObject* object) {
  Operator* self = (Operator*)object;
  Py_CLEAR(self->name);
  Py_CLEAR(self->kinds);
  Py_CLEAR(self->names);
  Py_CLEAR(self->defaults);
  return 0;
}

static void deallocate(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  clear(self);
  type->tp_free(self);
  Py_DECREF(type);
}

static PyMethodDef operator_methods[] = {
    {"_prepare", prepare, METH_VARARGS,
     "Lets calls run natively: name, kinds, names, defaults, positional arguments, returned one."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot operator_slots[] = {
    {Py_tp_call, call},
    {Py_tp_dealloc, deallocate},
    {Py_tp_traverse, traverse},
    {Py_tp_clear, clear},
    {Py_tp_methods, operator_methods},
    {Py_tp_doc, "The native part of an operator: its call."},
    {0, NULL},
};

static PyType_Spec operator_spec = {
    .name = "engine._native._OperatorBase",
    .basicsize = sizeof(Operator),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = operator_slots,
};

// ---- namespaces

typedef struct {
  PyObject_HEAD uint64_t generation;  // of the operators that are cached
} Namespace;

static PyObject* get_attribute(PyObject* object, PyObject* name) {
  Namespace* self = (Namespace*)object;
  const uint64_t generation = uh_operator_generation();
  if (generation != self->generation) {
    self->generation = generation;
    PyObject* done = PyObject_CallMethod(object, "_forget", NULL);
    if (!done) return NULL;
    Py_DECREF(done);
  }
  return PyObject_GenericGetAttr(object, name);
}

static int traverse_namespace(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  return 0;
}

static void deallocate_namespace(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  type->tp_free(self);
  Py_DECREF(type);
}

static PyType_Slot namespace_slots[] = {
    {Py_tp_getattro, get_attribute},
    {Py_tp_dealloc, deallocate_namespace},
    {Py_tp_traverse, traverse_namespace},
    {Py_tp_doc, "The native part of a namespace: when its cache is valid."},
    {0, NULL},
};

static PyType_Spec namespace_spec = {
    .name = "engine._native._NamespaceBase",
    .basicsize = sizeof(Namespace),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = namespace_slots,
};

static int append_type(PyObject* list, PyType_Spec* type_spec) {
  PyObject* type = PyType_FromSpec(type_spec);
  const int status = type ? PyList_Append(list, type) : -1;
  Py_XDECREF(type);
  return status;
}

int uh_operator_types(uintptr_t list) {
  const PyGILState_STATE gil = PyGILState_Ensure();
  const int failed =
      append_type((PyObject*)list, &operator_spec) || append_type((PyObject*)list, &namespace_spec);
  if (failed) PyErr_Clear();
  PyGILState_Release(gil);
  return failed ? -1 : 0;
}
