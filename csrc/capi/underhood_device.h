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
/* Whether a backend has registered the type. */
int uh_device_registered(int type);
/* How many devices of the type there are; 0: none is registered. May look for them first. */
int uh_device_count(int type);
/* Why there are none, where the backend knows; "" otherwise. */
const char* uh_device_absence(int type);

/* A device below is the number that uh_device() gives. Functions return 0, or -1 where they fail. */

/* The name that its maker gave it, or "". */
const char* uh_device_title(int64_t device);
/* Returns when the device has nothing left to do. */
int uh_device_synchronize(int64_t device);
/* The number of times that the host has waited for devices of the type. */
int64_t uh_device_waits(int type);

typedef struct {
  int64_t allocated; /* bytes in use by tensors */
  int64_t peak;      /* the most there were */
  int64_t cached;    /* bytes held back for reuse */
  int64_t total;     /* bytes of the device, 0 where that is not known */
  int64_t allocations, frees, reused;
} uh_device_memory;

int uh_device_memory_stats(int64_t device, uh_device_memory* ret_stats);
int uh_device_reset_peak(int64_t device);
/* Gives cached memory back. */
int uh_device_empty_cache(int64_t device);
/* Limits the bytes of tensors and cache together. */
int uh_device_set_memory_limit(int64_t device, int64_t bytes);
/* A copy of a CPU tensor in memory that the device copies from and to directly, or the tensor itself where it is
 * there already. */
uh_handle uh_pin_memory(uh_handle self, int64_t device);
/* 1 if it is in such memory. */
int uh_is_pinned(uh_handle self);

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
/* The same by operator, JSON: {"aten::cumsum": 3}. Valid until this thread asks again. */
const char* uh_cpu_fallback_counts(void);
void uh_cpu_fallback_reset(void);
/* `announce` is called at the first such call of each operator. */
void uh_cpu_fallback_announce(void (*announce)(const char* name));
/* cdef end */

#ifdef __cplusplus
}
#endif
#endif
