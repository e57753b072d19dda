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

// Names of capsules before and after a consumer takes them; plain and versioned.
static const char kFresh[] = "dltensor";
static const char kUsed[] = "used_dltensor";
static const char kFreshVersioned[] = "dltensor_versioned";
static const char kUsedVersioned[] = "used_dltensor_versioned";

// ---- references on Python objects

void* uh_object_retain(uintptr_t object) {
  const PyGILState_STATE gil = PyGILState_Ensure();
  Py_INCREF((PyObject*)object);
  PyGILState_Release(gil);
  return (void*)object;
}

void uh_object_release(void* object) {
  if (!Py_IsInitialized()) return;  // the interpreter has ended, and the object with it
  const PyGILState_STATE gil = PyGILState_Ensure();
  Py_DECREF((PyObject*)object);
  PyGILState_Release(gil);
}

// ---- export

typedef struct {
  union {  // the first member: the consumer's pointer is also a pointer to this Export
    DLManagedTensor plain;
    DLManagedTensorVersioned versioned;
  } managed;
  uh_handle storage;
  int64_t holder;
  int64_t dims[];  // sizes, then strides
} Export;

static void release_export(Export* export) {
  uh_storage_release(export->storage, kHolderDlpack, export->holder);
  free(export);
}
static void release_export_plain(DLManagedTensor* managed) { release_export((Export*)managed); }
static void release_export_versioned(DLManagedTensorVersioned* managed) {
  release_export((Export*)managed);
}

// A capsule that was never consumed releases the memory; a consumed one has another name by then.
static void destroy_capsule(PyObject* capsule) {
  const int plain = PyCapsule_IsValid(capsule, kFresh);
  if (!plain && !PyCapsule_IsValid(capsule, kFreshVersioned)) return;
  release_export(PyCapsule_GetPointer(capsule, plain ? kFresh : kFreshVersioned));
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

int uh_dlpack_export(uh_handle self, int64_t holder, int code, int bits, int versioned,
                     uintptr_t list) {
  uh_layout layout;
  const uh_handle storage = uh_storage_export(self, kHolderDlpack, holder, &layout);
  if (!storage) return -2;
  Export* export = calloc(1, sizeof(Export) + 2 * (size_t)layout.ndim * sizeof(int64_t));
  if (!export) {
    uh_storage_release(storage, kHolderDlpack, holder);
    return -1;
  }
  export->holder = holder;
  export->storage = storage;
  if (versioned) {
    export->managed.versioned.major = 1;
    export->managed.versioned.deleter = release_export_versioned;
    describe(&export->managed.versioned.tensor, &layout, code, bits, export->dims);
  } else {
    export->managed.plain.deleter = release_export_plain;
    describe(&export->managed.plain.tensor, &layout, code, bits, export->dims);
  }
  const PyGILState_STATE gil = PyGILState_Ensure();
  PyObject* capsule = PyCapsule_New(export, versioned ? kFreshVersioned : kFresh, destroy_capsule);
  const int failed = !capsule || PyList_Append((PyObject*)list, capsule) != 0;
  if (!capsule) release_export(export);
  if (failed) PyErr_Clear();
  Py_XDECREF(capsule);
  PyGILState_Release(gil);
  return failed ? -1 : 0;
}

// ---- import

static void release_plain(void* managed) {
  DLManagedTensor* tensor = managed;
  if (tensor->deleter) tensor->deleter(tensor);
}
static void release_versioned(void* managed) {
  DLManagedTensorVersioned* tensor = managed;
  if (tensor->deleter) tensor->deleter(tensor);
}

// Returns the capsule's pointer if the capsule is named `fresh`, and renames it to `used`.
static void* take_as(PyObject* capsule, const char* fresh, const char* used) {
  if (!PyCapsule_IsValid(capsule, fresh)) return NULL;
  void* managed = PyCapsule_GetPointer(capsule, fresh);
  PyCapsule_SetName(capsule, used);
  return managed;
}

int uh_dlpack_import(uintptr_t capsule, uh_dlpack_view* ret_view) {
  const PyGILState_STATE gil = PyGILState_Ensure();
  DLManagedTensor* plain = take_as((PyObject*)capsule, kFresh, kUsed);
  DLManagedTensorVersioned* versioned =
      plain ? NULL : take_as((PyObject*)capsule, kFreshVersioned, kUsedVersioned);
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
