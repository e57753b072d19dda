// Memory shared with other Python libraries: see exchange.h.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "exchange.h"

#include <stdlib.h>

// ---- the DLPack ABI, version 0: https://dmlc.github.io/dlpack/latest/c_api.html

typedef struct {
  int32_t device_type;  // 1 = CPU
  int32_t device_id;
} DLDevice;

typedef struct {
  uint8_t code;  // 0 int, 1 unsigned, 2 float, 4 bfloat, 6 bool
  uint8_t bits;
  uint16_t lanes;
} DLDataType;

typedef struct {
  void *data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape;
  int64_t *strides;
  uint64_t byte_offset;
} DLTensor;

typedef struct DLManagedTensor {
  DLTensor tensor;
  void *context;
  void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;

enum { kHolderDlpack = 8 };

static const char kFresh[] = "dltensor";      // a capsule nobody has taken yet
static const char kTaken[] = "used_dltensor";

// ---- references on Python objects

void *uh_object_keep(uintptr_t object) {
  const PyGILState_STATE gil = PyGILState_Ensure();
  Py_INCREF((PyObject *)object);
  PyGILState_Release(gil);
  return (void *)object;
}

void uh_object_drop(void *object) {
  if (!Py_IsInitialized()) return;  // the interpreter is gone, and the object with it
  const PyGILState_STATE gil = PyGILState_Ensure();
  Py_DECREF((PyObject *)object);
  PyGILState_Release(gil);
}

// ---- giving memory away

typedef struct {
  DLManagedTensor managed;  // first: the consumer's pointer is ours
  uh_handle storage;
  int64_t holder;
  int64_t dims[];  // sizes, then strides
} Given;

static void give_back(DLManagedTensor *managed) {
  Given *given = (Given *)managed;
  uh_storage_drop(given->storage, kHolderDlpack, given->holder);
  free(given);
}

static void destroy_capsule(PyObject *capsule) {
  if (!PyCapsule_IsValid(capsule, kFresh)) return;  // taken: its consumer calls the deleter
  DLManagedTensor *managed = PyCapsule_GetPointer(capsule, kFresh);
  managed->deleter(managed);
}

int uh_dlpack_give(uh_handle self, int64_t holder, int code, int bits, uintptr_t list) {
  const int64_t ndim = uh_ndim(self);
  Given *given = calloc(1, sizeof(Given) + 2 * (size_t)ndim * sizeof(int64_t));
  if (!given) return -1;
  uh_sizes(self, given->dims);
  uh_strides(self, given->dims + ndim);
  given->holder = holder;
  given->storage = uh_storage_hold(self, kHolderDlpack, holder);
  DLTensor *tensor = &given->managed.tensor;
  tensor->data = (void *)(uintptr_t)uh_data_ptr(self);
  tensor->device.device_type = 1;
  tensor->ndim = (int32_t)ndim;
  tensor->dtype.code = (uint8_t)code;
  tensor->dtype.bits = (uint8_t)bits;
  tensor->dtype.lanes = 1;
  tensor->shape = given->dims;
  tensor->strides = given->dims + ndim;
  given->managed.deleter = give_back;

  const PyGILState_STATE gil = PyGILState_Ensure();
  PyObject *capsule = PyCapsule_New(given, kFresh, destroy_capsule);
  const int failed = !capsule || PyList_Append((PyObject *)list, capsule) != 0;
  if (!capsule) give_back(&given->managed);
  if (failed) PyErr_Clear();
  Py_XDECREF(capsule);
  PyGILState_Release(gil);
  return failed ? -1 : 0;
}

// ---- taking memory in

int uh_dlpack_take(uintptr_t capsule, uh_dlpack_view *ret_view) {
  PyObject *object = (PyObject *)capsule;
  const PyGILState_STATE gil = PyGILState_Ensure();
  DLManagedTensor *managed =
      PyCapsule_IsValid(object, kFresh) ? PyCapsule_GetPointer(object, kFresh) : NULL;
  if (managed) PyCapsule_SetName(object, kTaken);
  PyGILState_Release(gil);
  if (!managed) return -1;
  const DLTensor *tensor = &managed->tensor;
  ret_view->managed = managed;
  ret_view->data = (uintptr_t)tensor->data + tensor->byte_offset;
  ret_view->device_type = tensor->device.device_type;
  ret_view->device_id = tensor->device.device_id;
  ret_view->ndim = tensor->ndim;
  ret_view->code = tensor->dtype.code;
  ret_view->bits = tensor->dtype.bits;
  ret_view->lanes = tensor->dtype.lanes;
  ret_view->shape = tensor->shape;
  ret_view->strides = tensor->strides;
  return 0;
}

void uh_dlpack_release(void *managed) {
  DLManagedTensor *taken = managed;
  if (taken->deleter) taken->deleter(taken);
}
