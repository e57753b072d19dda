// Basic indexing: see basic_index.h.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "basic_index.h"
#include "generated/underhood_ops.h"

enum { kMaxDims = 32 };

typedef struct {
  int64_t sizes[kMaxDims], strides[kMaxDims];
  int64_t offset;
  int64_t ndim;
} View;

static int is_bound(PyObject* object) { return object == Py_None || PyLong_CheckExact(object); }

// Reads a slice of plain ints over `size` indices; 0 when it is another kind of slice.
static int read_slice(PyObject* object, int64_t size, Py_ssize_t* start, Py_ssize_t* step,
                      int64_t* length) {
  const PySliceObject* slice = (PySliceObject*)object;
  Py_ssize_t stop;
  if (!is_bound(slice->start) || !is_bound(slice->stop) || !is_bound(slice->step)) return 0;
  if (PySlice_Unpack(object, start, &stop, step) < 0) {
    PyErr_Clear();
    return 0;
  }
  if (*step < 1) return 0;
  *length = PySlice_AdjustIndices(size, start, &stop, *step);
  return 1;
}

static int add_dim(View* view, int64_t size, int64_t stride) {
  if (view->ndim == kMaxDims) return 0;
  view->sizes[view->ndim] = size;
  view->strides[view->ndim++] = stride;
  return 1;
}

// Applies one item to dimension *dim of `source`; 0 when it is not basic or does not fit.
static int apply(PyObject* item, const View* source, int64_t* dim, View* view) {
  if (item == Py_None) {
    const int last = *dim == source->ndim;
    return add_dim(view, 1, last ? 1 : source->sizes[*dim] * source->strides[*dim]);
  }
  if (*dim == source->ndim) return 0;
  const int64_t size = source->sizes[*dim], stride = source->strides[(*dim)++];
  if (PyLong_CheckExact(item)) {
    int overflow;
    int64_t at = PyLong_AsLongLongAndOverflow(item, &overflow);
    if (at < 0) at += size;
    if (overflow || at < 0 || at >= size) return 0;
    view->offset += at * stride;
    return 1;
  }
  Py_ssize_t start, step;
  int64_t length;
  if (!PySlice_Check(item) || !read_slice(item, size, &start, &step, &length)) return 0;
  view->offset += start * stride;
  return add_dim(view, length, stride * step);
}

static int read_index(PyObject* index, const View* source, View* view) {
  const int tuple = PyTuple_CheckExact(index);
  const Py_ssize_t n = tuple ? PyTuple_GET_SIZE(index) : 1;
  PyObject* const* items = tuple ? ((PyTupleObject*)index)->ob_item : &index;
  int64_t taken = 0, dots = -1, dim = 0;
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (items[i] == Py_Ellipsis && dots < 0)
      dots = i;
    else if (items[i] != Py_None)
      ++taken;
  }
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (i != dots) {
      if (!apply(items[i], source, &dim, view)) return 0;
      continue;
    }
    for (int64_t rest = source->ndim - taken; rest > 0; --rest, ++dim) {
      if (!add_dim(view, source->sizes[dim], source->strides[dim])) return 0;
    }
  }
  for (; dim < source->ndim; ++dim) {
    if (!add_dim(view, source->sizes[dim], source->strides[dim])) return 0;
  }
  return 1;
}

uh_handle uh_basic_index(uh_handle self, uintptr_t index) {
  View source, view = {.offset = uh_offset(self), .ndim = 0};
  source.ndim = uh_ndim(self);
  if (source.ndim > kMaxDims) return 0;
  uh_sizes(self, source.sizes);
  uh_strides(self, source.strides);
  const PyGILState_STATE gil = PyGILState_Ensure();
  const int basic = read_index((PyObject*)index, &source, &view);
  PyGILState_Release(gil);
  if (!basic) return 0;
  return uh_as_strided(self, view.sizes, view.ndim, view.strides, view.ndim, 1, view.offset);
}
