// Memory shared with other Python libraries: what needs CPython's own functions.
//
// The engine's Storage keeps a NumPy array alive by one reference on it, and hands its own memory
// out in DLPack capsules. Both ends may be let go of in any thread, with or without the GIL; every
// function here takes the GIL itself, for no longer than it needs it.
#pragma once

#include <stdint.h>

#include "capi/underhood.h"

// What Python calls through cffi. PyObject* arguments are passed as id(object).
/* cdef begin */
typedef struct {
  void* managed; /* what the capsule held; goes back with `release(managed)` */
  void (*release)(void*);
  uintptr_t data; /* address of the first element */
  int device_type, device_id, ndim, code, bits, lanes;
  const int64_t* shape;
  const int64_t* strides; /* elements, or NULL for row-major */
  int read_only, major_version;
} uh_dlpack_view;

void* uh_object_keep(uintptr_t object);
void uh_object_drop(void* object);
int uh_dlpack_give(uh_handle self, int64_t holder, int code, int bits, int versioned,
                   uintptr_t list);
int uh_dlpack_take(uintptr_t capsule, uh_dlpack_view* ret_view);
/* cdef end */

// uh_object_keep     takes a reference on the object; uh_object_drop gives it back
// uh_dlpack_give     appends a capsule over the tensor's memory to `list`; -1 when memory is out,
//                    -2 with an error of the engine when the tensor has no such memory.
// Until
//                    the capsule's consumer (or, unconsumed, the capsule itself) lets go, the
//                    Storage has one more holder, DLPACK `holder`. Consumers of the versioned kind
//                    may write
// uh_dlpack_take     takes what a capsule of either kind holds; -1 when it is none or was taken
// before
