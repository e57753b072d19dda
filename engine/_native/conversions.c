// Conversions of arguments: see conversions.h. A function's `self` is the Python function.
#define PY_SSIZE_T_CLEAN
#include "conversions.h"

#include <Python.h>

static PyObject* ints(PyObject* python_function, PyObject* value) {
  if (!PyTuple_Check(value) && !PyList_CheckExact(value))
    return PyObject_CallOneArg(python_function, value);
  PyObject* const* items = PySequence_Fast_ITEMS(value);
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(value);
  for (Py_ssize_t i = 0; i < count; ++i)
    if (!PyLong_CheckExact(items[i])) return PyObject_CallOneArg(python_function, value);
  return Py_BuildValue("(On)", value, count);
}

static PyObject* optional_code(PyObject* python_function, PyObject* value) {
  return value == Py_None ? PyLong_FromLong(-1) : PyObject_CallOneArg(python_function, value);
}

static PyMethodDef functions[] = {
    {"ints", ints, METH_O, "Convert a list or tuple of ints to (array, length)."},
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
