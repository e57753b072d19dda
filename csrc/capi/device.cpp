// The C ABI of devices: see underhood_device.h.
#include <algorithm>
#include <mutex>
#include <new>
#include <string>

#include "base/json.h"
#include "capi/convert.h"
#include "capi/guard.h"
#include "capi/returned_string.h"
#include "capi/underhood_device.h"
#include "dispatch/dispatcher.h"
#include "generated/ops/copy.h"
#include "memory/device_registry.h"
#include "ops/cpu_fallback.h"

using namespace uh;  // NOLINT: this file is nothing but calls into uh

namespace uh {
namespace {

// The allocator of a device registered through the C ABI. Never destroyed: storages may outlive
// static destructors.
class ForeignAllocator final : public Allocator {
 public:
  ForeignAllocator(const uh_device_backend& backend, AllocatorId id)
      : backend_(backend), name_(backend.name), id_(id) {}
  std::string_view name() const override { return name_; }
  const char* c_name() const { return name_.c_str(); }
  AllocatorId id() const override { return id_; }
  void* raw_allocate(size_t bytes) override {
    if (bytes == 0) return nullptr;
    void* const pointer = backend_.allocate(bytes);
    if (!pointer) throw std::bad_alloc();
    record_allocate(id_, pointer, bytes, false);
    return pointer;
  }
  void raw_deallocate(void* pointer, size_t bytes) override {
    if (!pointer) return;
    record_free(id_, pointer, bytes, false);
    backend_.deallocate(pointer, bytes);
  }
  AllocatorStats stats() const override { return {}; }
  void copy(void* to, bool to_host, const void* from, bool from_host, size_t bytes) const {
    backend_.copy(to, to_host, from, from_host, bytes);
  }

 private:
  const uh_device_backend backend_;
  const std::string name_;
  const AllocatorId id_;
};

template <DeviceType type>
ForeignAllocator* g_foreign = nullptr;

template <DeviceType type>
void register_foreign(const uh_device_backend& backend, AllocatorId id) {
  g_foreign<type> = new ForeignAllocator(backend, id);
  register_device(
      type,
      {.name = g_foreign<type>->c_name(),
       .allocator = [](Device) -> Allocator& { return *g_foreign<type>; },
       .copy_bytes =
           [](void* to, Device to_device, const void* from, Device from_device, size_t bytes) {
             g_foreign<type>->copy(to, is_host(to_device), from, is_host(from_device), bytes);
           }});
  Dispatcher::instance().register_fallback(key_of(type), cpu_fallback, "cpu_fallback");
}

bool is_registered(DeviceType type) {
  const auto types = device_types();
  return std::find(types.begin(), types.end(), type) != types.end();
}

const DeviceBackend& backend_at(int64_t device) {
  initialise();
  return backend_of(Device::of_code(device).type);
}

}  // namespace
}  // namespace uh

int uh_device_type(const char* name) {
  const std::optional<Device> device = find_device(name);
  return device && device->index < 0 ? static_cast<int>(device->type) : -1;
}

const char* uh_device_name(int type) {
  return type >= 0 && type < static_cast<int>(kDeviceTypeCount)
             ? name(static_cast<DeviceType>(type)).data()
             : "";
}

int uh_device_registered(int type) {
  return type >= 0 && type < static_cast<int>(kDeviceTypeCount) &&
         is_registered(static_cast<DeviceType>(type));
}

const char* uh_device_absence(int type) {
  return text_of([&]() -> std::string {
    const DeviceBackend& backend = backend_of(static_cast<DeviceType>(type));
    return backend.absence ? backend.absence() : "";
  });
}

const char* uh_device_title(int64_t device) {
  return text_of([&]() -> std::string {
    const DeviceBackend& backend = backend_at(device);
    return backend.title ? backend.title(Device::of_code(device)) : "";
  });
}

int uh_device_synchronize(int64_t device) {
  return done([&] {
    if (const auto synchronize = backend_at(device).synchronize)
      synchronize(Device::of_code(device));
  });
}

int uh_device_idle(int64_t device) {
  return guard(-1, [&] {
    const auto idle = backend_at(device).idle;
    return static_cast<int>(!idle || idle(Device::of_code(device)));
  });
}

uh_device_event uh_device_mark(int64_t device) {
  return guard(uh_device_event(0), [&] {
    const auto mark = backend_at(device).mark;
    check(mark, "device: ", name(Device::of_code(device)), " has no events");
    return reinterpret_cast<uh_device_event>(mark(Device::of_code(device)).release());
  });
}

void uh_device_event_release(uh_device_event event) { delete reinterpret_cast<DeviceEvent*>(event); }

int uh_device_event_reached(uh_device_event event) {
  return guard(-1, [&] {
    return static_cast<int>(reinterpret_cast<DeviceEvent*>(event)->reached());
  });
}

int uh_device_event_wait(uh_device_event event) {
  return done([&] { reinterpret_cast<DeviceEvent*>(event)->wait(); });
}

int64_t uh_device_event_time(uh_device_event event) {
  return guard(int64_t{-1}, [&] { return reinterpret_cast<DeviceEvent*>(event)->time(); });
}

int64_t uh_device_waits(int type) {
  return guard(int64_t{-1}, [&] {
    const auto waits = backend_of(static_cast<DeviceType>(type)).waits;
    return waits ? waits() : 0;
  });
}

int uh_device_memory_stats(int64_t device, uh_device_memory* ret_stats) {
  return done([&] {
    const DeviceBackend& backend = backend_at(device);
    const Device own = Device::of_code(device);
    const AllocatorStats s = allocator_of(own).stats();
    const size_t total = backend.total_memory ? backend.total_memory(own) : 0;
    *ret_stats = {s.live_bytes,  s.peak_bytes, s.kept_bytes, static_cast<int64_t>(total),
                  s.allocations, s.frees,      s.reused};
  });
}

int uh_device_reset_peak(int64_t device) {
  return done([&] {
    if (const auto reset = backend_at(device).reset_peak) reset(Device::of_code(device));
  });
}

int uh_device_empty_cache(int64_t device) {
  return done([&] {
    if (const auto empty = backend_at(device).empty_cache) empty(Device::of_code(device));
  });
}

int uh_device_set_memory_limit(int64_t device, int64_t bytes) {
  return done([&] {
    const auto limit = backend_at(device).set_memory_limit;
    check(limit, "device: ", name(Device::of_code(device)), " has no limit of its memory");
    check(bytes >= 0, "device: expected a limit of 0 bytes or more, got ", bytes);
    limit(Device::of_code(device), static_cast<size_t>(bytes));
  });
}

uh_handle uh_pin_memory(uh_handle self, int64_t device) {
  return guard(uh_handle(0), [&] {
    const Tensor tensor = take(self);
    const auto pinned = backend_at(device).pinned_allocator;
    const bool is_pinned =
        pinned && tensor.storage() && tensor.storage()->allocator() == &pinned(Device::of_code(device));
    return give(is_pinned ? tensor : ops::_pin_memory(tensor, Device::of_code(device)));
  });
}

int uh_is_pinned(uh_handle self) {
  const InUse tensor(self);
  const Allocator* allocator = tensor->storage()->allocator();
  return allocator && allocator->id() == AllocatorId::kOpenCLPinned;
}

int uh_device_count(int type) {
  return guard(0, [&] {
    const auto device_type = static_cast<DeviceType>(type);
    return is_registered(device_type) ? device_count(device_type) : 0;
  });
}

int uh_device_register(const uh_device_backend* backend) {
  return guard(-1, [&] {
    initialise();
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    check(backend && backend->name && backend->allocate && backend->deallocate && backend->copy,
          "device: a backend has a name and three functions");
    check(!find_device(backend->name), "device: the name '", backend->name, "' is taken");
    if (!is_registered(DeviceType::kPrivateUse1)) {
      register_foreign<DeviceType::kPrivateUse1>(*backend, AllocatorId::kPrivateUse1);
      return static_cast<int>(DeviceType::kPrivateUse1);
    }
    check(!is_registered(DeviceType::kPrivateUse2), "device: no type is left for '", backend->name,
          "'; there are ", name(DeviceType::kPrivateUse1), " and ", name(DeviceType::kPrivateUse2));
    register_foreign<DeviceType::kPrivateUse2>(*backend, AllocatorId::kPrivateUse2);
    return static_cast<int>(DeviceType::kPrivateUse2);
  });
}

int64_t uh_cpu_fallback_calls(void) { return cpu_fallback_calls(); }

const char* uh_cpu_fallback_counts(void) {
  return text_of([] {
    JsonWriter json;
    json.begin_object();
    for (const auto& [operator_name, calls] : cpu_fallback_counts())
      json.member(operator_name, calls);
    return json.end_object().take();
  });
}

void uh_cpu_fallback_reset(void) { reset_cpu_fallback_counts(); }
void uh_cpu_fallback_announce(void (*announce)(const char* name)) {
  on_first_cpu_fallback(announce);
}
