/* The system's OpenCL library with functions that fail when the environment says so: FAIL names one, AFTER how many
 * calls of it succeed first, STATUS what it returns. The others are found in the library it is linked with. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int fails(const char* name) {
  static int calls = 0;
  const char* selected = getenv("FAIL");
  return selected && strcmp(selected, name) == 0 && calls++ >= atoi(getenv("AFTER"));
}
static int32_t status(void) { return atoi(getenv("STATUS")); }

int32_t clEnqueueNDRangeKernel(void* queue, void* kernel, uint32_t n, const size_t* offset, const size_t* global,
                               const size_t* local, uint32_t waits, const void* list, void* event) {
  if (fails("launch")) return status();
  int32_t (*real)(void*, void*, uint32_t, const size_t*, const size_t*, const size_t*, uint32_t, const void*, void*) =
      dlsym(RTLD_NEXT, "clEnqueueNDRangeKernel");
  return real(queue, kernel, n, offset, global, local, waits, list, event);
}

int32_t clGetEventInfo(void* event, uint32_t query, size_t size, void* value, size_t* actual) {
  int32_t (*real)(void*, uint32_t, size_t, void*, size_t*) = dlsym(RTLD_NEXT, "clGetEventInfo");
  const int32_t result = real(event, query, size, value, actual);
  if (*(int32_t*)value <= 0 && fails("run")) *(int32_t*)value = status();
  return result;
}

void* clCreateBuffer(void* context, uint64_t flags, size_t bytes, void* host, int32_t* result) {
  if (fails("buffer")) {
    *result = status();
    return NULL;
  }
  void* (*real)(void*, uint64_t, size_t, void*, int32_t*) = dlsym(RTLD_NEXT, "clCreateBuffer");
  return real(context, flags, bytes, host, result);
}

void* clCreateProgramWithSource(void* context, uint32_t n, const char** sources, const size_t* lengths,
                                int32_t* result) {
  void* (*real)(void*, uint32_t, const char**, const size_t*, int32_t*) =
      dlsym(RTLD_NEXT, "clCreateProgramWithSource");
  const char* broken = "kernel void elements(global float *x) { *x = no_such_function(1); }";
  return fails("source") ? real(context, 1, &broken, NULL, result) : real(context, n, sources, lengths, result);
}
