// Memory shared with other Python libraries: see exchange.h.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "exchange.h"

#include <stdlib.h>
#include <string.h>

// ---- the DLPack ABI: https://dmlc.github.io/dlpack/latest/c_api.html
// Version 0 capsules hold a DLManagedTensor; since version 1 consumers that ask for it get a
// DLManagedTensorVersioned, whose flags say whether they may write.

typedef struct {
  int32_t device_type;  // 1 = CPU
  int32_t device_id;
} DLDevice;

typedef struct {
  uint8_t code;  // 0 int, 1 unsigned, 2 float, 4 bfloat, 5 complex, 6 bool
  uint8_t bits;
  uint16_t lanes;
} DLDataType;

typedef struct {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
} DLTensor;

typedef struct DLManagedTensor {
  DLTensor tensor;
  void* context;
  void (*deleter)(struct DLManagedTensor* self);
} DLManagedTensor;

typedef struct DLManagedTensorVersioned {
  uint32_t major, minor;
  void* context;
  void (*deleter)(struct DLManagedTensorVersioned* self);
  uint64_t flags;  // bit 0: read only
  DLTensor tensor;
} DLManagedTensorVersioned;

enum { kHolderDlpack = 8 };

// Capsules that nobody has taken yet, and taken ones; plain and versioned.
static const char kFresh[] = "dltensor";
static const char kTaken[] = "used_dltensor";
static const char kFreshVersioned[] = "dltensor_versioned";
static const char kTakenVersioned[] = "used_dltensor_versioned";

// ---- references on Python objects

void* uh_object_keep(uintptr_t object) {
  const PyGILState_STATE gil = PyGILState_Ensure();
  Py_INCREF((PyObject*)object);
  PyGILState_Release(gil);
  return (void*)object;
}

void uh_object_drop(void* object) {
  if (!Py_IsInitialized()) return;  // the interpreter is gone, and the object with it
  const PyGILState_STATE gil = PyGILState_Ensure();
  Py_DECREF((PyObject*)object);
  PyGILState_Release(gil);
}

// ---- giving memory away

typedef struct {
  union {  // first: the consumer's pointer is ours
    DLManagedTensor plain;
    DLManagedTensorVersioned versioned;
  } managed;
  uh_handle storage;
  int64_t holder;
  int64_t dims[];  // sizes, then strides
} Given;

static void give_back(Given* given) {
  uh_storage_release(given->storage, kHolderDlpack, given->holder);
  free(given);
}
static void give_back_plain(DLManagedTensor* managed) { give_back((Given*)managed); }
static void give_back_versioned(DLManagedTensorVersioned* managed) { give_back((Given*)managed); }

// A capsule that dies unconsumed gives the memory back; a taken one has another name by then.
static void destroy_capsule(PyObject* capsule) {
  const int plain = PyCapsule_IsValid(capsule, kFresh);
  if (!plain && !PyCapsule_IsValid(capsule, kFreshVersioned)) return;
  give_back(PyCapsule_GetPointer(capsule, plain ? kFresh : kFreshVersioned));
}

static void describe(DLTensor* tensor, const uh_layout* layout, int code, int bits, int64_t* dims) {
  const int64_t ndim = layout->ndim;
  memcpy(dims, layout->sizes, (size_t)ndim * sizeof *dims);
  memcpy(dims + ndim, layout->strides, (size_t)ndim * sizeof *dims);
  tensor->data = (void*)(uintptr_t)layout->data;
  tensor->device.device_type = 1;
  tensor->ndim = (int32_t)ndim;
  tensor->dtype.code = (uint8_t)code;
  tensor->dtype.bits = (uint8_t)bits;
  tensor->dtype.lanes = 1;
  tensor->shape = dims;
  tensor->strides = dims + ndim;
}

int uh_dlpack_give(uh_handle self, int64_t holder, int code, int bits, int versioned,
                   uintptr_t list) {
  uh_layout layout;
  const uh_handle storage = uh_storage_export(self, kHolderDlpack, holder, &layout);
  if (!storage) return -2;
  Given* given = calloc(1, sizeof(Given) + 2 * (size_t)layout.ndim * sizeof(int64_t));
  if (!given) {
    uh_storage_release(storage, kHolderDlpack, holder);
    return -1;
  }
  given->holder = holder;
  given->storage = storage;
  if (versioned) {
    given->managed.versioned.major = 1;
    given->managed.versioned.deleter = give_back_versioned;
    describe(&given->managed.versioned.tensor, &layout, code, bits, given->dims);
  } else {
    given->managed.plain.deleter = give_back_plain;
    describe(&given->managed.plain.tensor, &layout, code, bits, given->dims);
  }
  const PyGILState_STATE gil = PyGILState_Ensure();
  PyObject* capsule = PyCapsule_New(given, versioned ? kFreshVersioned : kFresh, destroy_capsule);
  const int failed = !capsule || PyList_Append((PyObject*)list, capsule) != 0;
  if (!capsule) give_back(given);
  if (failed) PyErr_Clear();
  Py_XDECREF(capsule);
  PyGILState_Release(gil);
  return failed ? -1 : 0;
}

// ---- taking memory in

static void release_plain(void* managed) {
  DLManagedTensor* taken = managed;
  if (taken->deleter) taken->deleter(taken);
}
static void release_versioned(void* managed) {
  DLManagedTensorVersioned* taken = managed;
  if (taken->deleter) taken->deleter(taken);
}

// The capsule's pointer if it has the name `fresh`; it is called `taken` from then on.
static void* take_as(PyObject* capsule, const char* fresh, const char* taken) {
  if (!PyCapsule_IsValid(capsule, fresh)) return NULL;
  void* managed = PyCapsule_GetPointer(capsule, fresh);
  PyCapsule_SetName(capsule, taken);
  return managed;
}

int uh_dlpack_take(uintptr_t capsule, uh_dlpack_view* ret_view) {
  const PyGILState_STATE gil = PyGILState_Ensure();
  DLManagedTensor* plain = take_as((PyObject*)capsule, kFresh, kTaken);
  DLManagedTensorVersioned* versioned =
      plain ? NULL : take_as((PyObject*)capsule, kFreshVersioned, kTakenVersioned);
  PyGILState_Release(gil);
  if (!plain && !versioned) return -1;
  const DLTensor* tensor = plain ? &plain->tensor : &versioned->tensor;
  ret_view->managed = plain ? (void*)plain : (void*)versioned;
  ret_view->release = plain ? release_plain : release_versioned;
  ret_view->read_only = versioned ? (int)(versioned->flags & 1) : 0;
  ret_view->major_version = versioned ? (int)versioned->major : 0;
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
