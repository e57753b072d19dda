// Conversions of arguments: see conversions.h. A function's `self` is the Python function.
#define PY_SSIZE_T_CLEAN
#include "conversions.h"

#include <Python.h>

#include "tensor_base.h"

// (array, length); takes over the array, which may be NULL after a failure.
static PyObject* array_and_length(PyObject* array, Py_ssize_t length) {
  PyObject* number = array ? PyLong_FromSsize_t(length) : NULL;
  PyObject* pair = number ? PyTuple_New(2) : NULL;
  if (!pair) {
    Py_XDECREF(array);
    Py_XDECREF(number);
    return NULL;
  }
  PyTuple_SET_ITEM(pair, 0, array);
  PyTuple_SET_ITEM(pair, 1, number);
  return pair;
}

static PyObject* new_array(Py_ssize_t length) {  // of 8-byte items
  return PyBytes_FromStringAndSize(NULL, length * 8);
}

static PyObject* ints(PyObject* python_function, PyObject* value) {
  if (!PyTuple_Check(value) && !PyList_CheckExact(value))
    return PyObject_CallOneArg(python_function, value);
  PyObject* const* items = PySequence_Fast_ITEMS(value);
  const Py_ssize_t length = PySequence_Fast_GET_SIZE(value);
  for (Py_ssize_t i = 0; i < length; ++i)
    if (!PyLong_CheckExact(items[i])) return PyObject_CallOneArg(python_function, value);
  PyObject* array = new_array(length);
  int64_t* numbers = array ? (int64_t*)PyBytes_AS_STRING(array) : NULL;
  for (Py_ssize_t i = 0; array && i < length; ++i) {
    numbers[i] = PyLong_AsLongLong(items[i]);
    if (numbers[i] == -1 && PyErr_Occurred()) Py_CLEAR(array);
  }
  return array_and_length(array, length);
}

static PyObject* ints_or_int(PyObject* python_function, PyObject* value) {
  if (value == Py_None) return array_and_length(new_array(0), -1);
  if (!PyLong_CheckExact(value)) return ints(python_function, value);
  PyObject* array = new_array(1);
  if (array) {
    const int64_t number = PyLong_AsLongLong(value);
    *(int64_t*)PyBytes_AS_STRING(array) = number;
    if (number == -1 && PyErr_Occurred()) Py_CLEAR(array);
  }
  return array_and_length(array, 1);
}

static PyObject* handles(PyObject* python_function, PyObject* value) {
  if (!PyTuple_Check(value) && !PyList_CheckExact(value))
    return PyObject_CallOneArg(python_function, value);
  const Py_ssize_t length = PySequence_Fast_GET_SIZE(value);
  PyObject* array = new_array(length);
  uint64_t* numbers = array ? (uint64_t*)PyBytes_AS_STRING(array) : NULL;
  for (Py_ssize_t i = 0; array && i < length; ++i) {
    if (uh_tensor_handle(PySequence_Fast_GET_ITEM(value, i), &numbers[i])) continue;
    Py_DECREF(array);
    return PyObject_CallOneArg(python_function, value);
  }
  return array_and_length(array, length);
}

static PyObject* optional_code(PyObject* python_function, PyObject* value) {
  return value == Py_None ? PyLong_FromLong(-1) : PyObject_CallOneArg(python_function, value);
}

static PyMethodDef functions[] = {
    {"ints", ints, METH_O, "Convert a list or tuple of ints to (array, length)."},
    {"ints_or_int", ints_or_int, METH_O, "Convert an int, or several, to (array, length)."},
    {"handles", handles, METH_O, "Convert a list or tuple of tensors to (handles, length)."},
    {"optional_code", optional_code, METH_O, "Convert None to -1."},
};

int uh_conversion(int kind, uintptr_t python_function, uintptr_t list) {
  const PyGILState_STATE gil = PyGILState_Ensure();
  PyObject* function = PyCFunction_New(&functions[kind], (PyObject*)python_function);
  const int status = function ? PyList_Append((PyObject*)list, function) : -1;
  Py_XDECREF(function);
  if (status) PyErr_Clear();
  PyGILState_Release(gil);
  return status;
}
