/* A device outside of the engine: test_devices.py compiles and loads it. Its addresses are those of host
 * memory with a bit set that no address of a program has: what follows one on the host is stopped. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <underhood/underhood_device.h>

static const uintptr_t mark = (uintptr_t)1 << 60;
static void* marked(void* host) { return (void*)((uintptr_t)host | mark); }
static void* unmarked(const void* device) { return (void*)((uintptr_t)device & ~mark); }

static void* allocate(size_t n) {
  void* host = n > (size_t)1 << 30 ? NULL : malloc(n);
  return host ? marked(host) : NULL;
}
static void deallocate(void* pointer, size_t n) {
  (void)n;
  free(unmarked(pointer));
}
static void copy(void* to, int to_host, const void* from, int from_host, size_t n) {
  memcpy(to_host ? to : unmarked(to), from_host ? from : unmarked(from), n);
}

int register_toy(const char* name);
int register_toy(const char* name) {
  const uh_device_backend backend = {name, allocate, deallocate, copy};
  return uh_device_register(&backend);
}
