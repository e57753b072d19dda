// Basic indexing: see basic_index.h.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "basic_index.h"
#include "capi/underhood.h"
#include "tensor_base.h"

enum { kMaxSteps = 64 };

// The view operators that an index stands for, in order: see uh_index_basic in capi/underhood.h.
typedef struct {
  uh_index_step steps[kMaxSteps];
  int64_t n;
} Plan;

static int is_bound(PyObject* object) { return object == Py_None || PyLong_CheckExact(object); }

// Reads a slice of plain ints over `size` indices; 0 when it is another kind of slice.
// `selects_all`: whether it says that it begins at 0 and ends at the size; of size 0, -1 does not.
static int read_slice(PyObject* object, int64_t size, Py_ssize_t* start, Py_ssize_t* step,
                      int64_t* length, int* selects_all) {
  const PySliceObject* slice = (PySliceObject*)object;
  Py_ssize_t stop;
  if (!is_bound(slice->start) || !is_bound(slice->stop) || !is_bound(slice->step)) return 0;
  if (PySlice_Unpack(object, start, &stop, step) < 0) {
    PyErr_Clear();
    return 0;
  }
  if (*step < 1) return 0;
  *selects_all = *start == 0 && stop >= size && *step == 1;
  *length = PySlice_AdjustIndices(size, start, &stop, *step);
  return 1;
}

static int add(Plan* plan, uh_index_step step) {
  if (plan->n == kMaxSteps) return 0;
  plan->steps[plan->n++] = step;
  return 1;
}

// Plans one item. `dim` is the dimension of `self` it takes, `at` where that is in the result so
// far. Returns 0 when the item is not basic or does not fit.
static int plan_item(PyObject* item, uh_handle self, int64_t* dim, int64_t* at, Plan* plan) {
  if (item == Py_None) return add(plan, (uh_index_step){UH_UNSQUEEZE, (*at)++, 0, 0, 0});
  if (*dim == uh_ndim(self)) return 0;
  const int64_t size = uh_size(self, (*dim)++);
  if (PyLong_CheckExact(item)) {
    int overflow;
    const int64_t index = PyLong_AsLongLongAndOverflow(item, &overflow);
    if (overflow || index < -size || index >= size) return 0;
    return add(plan, (uh_index_step){UH_SELECT, *at, index, 0, 0});
  }
  Py_ssize_t start, step;
  int64_t length;
  int selects_all;
  if (!PySlice_Check(item) || !read_slice(item, size, &start, &step, &length, &selects_all))
    return 0;
  const int64_t dimension = (*at)++;
  // x[:, 0]: the colon does nothing; of two elements, x[:, -2:] is a slice.
  if (selects_all) return 1;
  return add(plan, (uh_index_step){UH_SLICE, dimension, start, start + length * step, step});
}

static int plan_index(PyObject* index, uh_handle self, Plan* plan) {
  const int tuple = PyTuple_CheckExact(index);
  const Py_ssize_t n = tuple ? PyTuple_GET_SIZE(index) : 1;
  PyObject* const* items = tuple ? ((PyTupleObject*)index)->ob_item : &index;
  int64_t indexed_dims = 0, dots = -1, dim = 0, at = 0;
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (items[i] == Py_Ellipsis && dots < 0)
      dots = i;
    else if (items[i] != Py_None)
      ++indexed_dims;
  }
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (i != dots) {
      if (!plan_item(items[i], self, &dim, &at, plan)) return 0;
    } else if (uh_ndim(self) > indexed_dims) {
      dim += uh_ndim(self) - indexed_dims;
      at += uh_ndim(self) - indexed_dims;
    }
  }
  if (!tuple && PySlice_Check(index) && plan->n == 0)  // x[:] is a slice, x[...] another name
    return add(plan, (uh_index_step){UH_SLICE, 0, 0, uh_size(self, 0), 1});
  return 1;
}

static PyObject* basic_index(PyObject* unused, PyObject* const* args, Py_ssize_t count) {
  uh_handle self, view = 0;
  if (count != 2 || !uh_tensor_handle(args[0], &self)) Py_RETURN_NONE;
  Plan plan = {.n = 0};
  if (!plan_index(args[1], self, &plan)) Py_RETURN_NONE;
  Py_BEGIN_ALLOW_THREADS;
  view = uh_index_basic(self, plan.steps, plan.n);
  Py_END_ALLOW_THREADS;
  return view ? uh_wrap(view) : Py_NewRef(Py_None);
}

int uh_basic_index_function(uintptr_t list) {
  static PyMethodDef method = {"uh_basic_index", (PyCFunction)(void (*)(void))basic_index,
                               METH_FASTCALL, "The view of a tensor at an index, or None."};
  const PyGILState_STATE gil = PyGILState_Ensure();
  PyObject* function = PyCFunction_New(&method, NULL);
  const int status = function ? PyList_Append((PyObject*)list, function) : -1;
  Py_XDECREF(function);
  if (status) PyErr_Clear();
  PyGILState_Release(gil);
  return status;
}
