/* The C ABI of devices: which there are, and a device that is defined outside of the engine. The rules
 * of underhood.h hold.
 *
 * A device is a name, an allocator and a copy function. Operators without a kernel there run on the
 * CPU, with copies of their arguments.
 */
#ifndef UNDERHOOD_DEVICE_H
#define UNDERHOOD_DEVICE_H

#include "capi/underhood.h"

#ifdef __cplusplus
extern "C" {
#endif

/* cdef begin */
/* Device types are the low byte of uh_device. -1: `name` is unknown. */
int uh_device_type(const char* name);
/* "cpu"; of a type that no backend has registered "privateuseone". */
const char* uh_device_name(int type);
/* How many devices of the type there are; 0: none is registered. */
int uh_device_count(int type);

typedef struct {
  const char* name;
  /* Memory of the device for n > 0 bytes; 0: there is none left. */
  void* (*allocate)(size_t n);
  void (*deallocate)(void* pointer, size_t n);
  /* Copies n > 0 bytes and returns when they are there. Either side may be host memory. */
  void (*copy)(void* to, int to_host, const void* from, int from_host, size_t n);
} uh_device_backend;

/* Registers a device under the next free type and returns that, or -1. `backend` is copied; its
 * functions stay as long as the process. */
int uh_device_register(const uh_device_backend* backend);
/* How many operator calls have run on the CPU for a device that has no kernel for them. */
int64_t uh_cpu_fallback_calls(void);
/* cdef end */

#ifdef __cplusplus
}
#endif
#endif
