/* The C ABI of devices: lists them, and registers devices from outside of the engine. The rules of
 * underhood.h hold.
 *
 * A device is a name, an allocator and a copy function. Operators without a kernel for it run on
 * the CPU, with copies of their arguments.
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
/* "cpu"; "privateuseone" for a type that no backend has registered. */
const char* uh_device_name(int type);
/* 1 if a backend has registered the type. */
int uh_device_registered(int type);
/* The number of devices of the type; 0: none is registered. May search for them first. */
int uh_device_count(int type);
/* The reason for the absence of devices, if the backend provides one; else "". */
const char* uh_device_absence(int type);

/* `device` is a number returned by uh_device(). Unless stated otherwise, functions return 0, or -1
 * on failure. */

/* The manufacturer's name of the device, or "". */
const char* uh_device_title(int64_t device);
/* Waits until the device has finished all of its work. */
int uh_device_synchronize(int64_t device);
/* 1 if it has finished all of its work; -1 on failure. */
int uh_device_idle(int64_t device);

typedef uint64_t uh_device_event; /* a point in a device's queue; 0 = none */

/* Marks the current end of the device's queue. 0 on failure. */
uh_device_event uh_device_mark(int64_t device);
void uh_device_event_release(uh_device_event event);
/* 1 if the device has reached it; -1 on failure. */
int uh_device_event_reached(uh_device_event event);
/* Waits until the device has reached it. */
int uh_device_event_wait(uh_device_event event);
/* The time on the device's clock, in nanoseconds, at which it was reached; -1 on failure. */
int64_t uh_device_event_time(uh_device_event event);

/* The number of times that the host has waited for devices of the type. */
int64_t uh_device_waits(int type);

typedef struct {
  int64_t allocated; /* bytes in use by tensors */
  int64_t peak;      /* maximum of `allocated` */
  int64_t cached;    /* bytes kept for reuse */
  int64_t total;     /* bytes of the device; 0: unknown */
  int64_t allocations, frees, reused;
} uh_device_memory;

int uh_device_memory_stats(int64_t device, uh_device_memory* ret_stats);
int uh_device_reset_peak(int64_t device);
/* Frees cached memory. */
int uh_device_empty_cache(int64_t device);
/* Limits the bytes of tensors and cache together. */
int uh_device_set_memory_limit(int64_t device, int64_t bytes);
/* Copies a CPU tensor to pinned memory, which the device accesses directly. Returns the tensor
 * itself if it is already pinned. */
uh_handle uh_pin_memory(uh_handle self, int64_t device);
/* 1 if the tensor is in pinned memory. */
int uh_is_pinned(uh_handle self);

typedef struct {
  const char* name;
  /* Allocates n > 0 bytes of device memory; 0: out of memory. */
  void* (*allocate)(size_t n);
  void (*deallocate)(void* pointer, size_t n);
  /* Copies n > 0 bytes and returns when that is done. Either side may be host memory. */
  void (*copy)(void* to, int to_host, const void* from, int from_host, size_t n);
} uh_device_backend;

/* Registers a device under the next free type and returns the type, or -1. `backend` is copied; its
 * functions must outlive the process. */
int uh_device_register(const uh_device_backend* backend);
/* The number of operator calls that ran on the CPU because a device has no kernel for them. */
int64_t uh_cpu_fallback_calls(void);
/* The same by operator, as JSON: {"aten::cumsum": 3}. Valid until the thread's next call of it. */
const char* uh_cpu_fallback_counts(void);
void uh_cpu_fallback_reset(void);
/* `announce` is called at the first such call of each operator. */
void uh_cpu_fallback_announce(void (*announce)(const char* name));
/* cdef end */

#ifdef __cplusplus
}
#endif
#endif
