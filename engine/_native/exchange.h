// Memory shared with other Python libraries: the parts that call CPython.
//
// A Storage over a NumPy array holds one reference on the array. A Storage exports its own memory
// in DLPack capsules. Any thread may release either, with or without the GIL; every function here
// acquires the GIL itself and holds it only as long as it must.
#pragma once

#include <stdint.h>

#include "capi/underhood.h"

// Functions that Python calls through cffi. PyObject* arguments are passed as id(object).
/* cdef begin */
typedef struct {
  void* managed; /* the content of the capsule; free it by `release(managed)` */
  void (*release)(void*);
  uintptr_t data; /* address of the first element */
  int device_type, device_id, ndim, code, bits, lanes;
  const int64_t* shape;
  const int64_t* strides; /* elements, or NULL for row-major */
  int read_only, major_version;
} uh_dlpack_view;

void* uh_object_retain(uintptr_t object);
void uh_object_release(void* object);
int uh_dlpack_export(uh_handle self, int64_t holder, int code, int bits, int versioned,
                     uintptr_t list);
int uh_dlpack_import(uintptr_t capsule, uh_dlpack_view* ret_view);
/* cdef end */

// uh_object_retain    takes a reference on the object; uh_object_release gives it up
// uh_dlpack_export    appends a capsule over the tensor's memory to `list`; -1 when memory is out,
//                     -2 with an error of the engine when the tensor has no such memory. The
//                     Storage has one more holder, DLPACK `holder`, until the capsule's consumer
//                     (or the capsule, if it has none) releases it. A consumer of a versioned
//                     capsule may write
// uh_dlpack_import    consumes a capsule of either kind; -1 when it is not one or was consumed
// before
