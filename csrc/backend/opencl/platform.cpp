#include "backend/opencl/platform.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <vector>

namespace uh::opencl {
namespace {

template <class T>
T device_info(cl_device_id id, cl_uint query) {
  T value{};
  check_status(api().GetDeviceInfo(id, query, sizeof value, &value, nullptr), "reading a device");
  return value;
}

std::string device_text(cl_device_id id, cl_uint query) {
  size_t size = 0;
  check_status(api().GetDeviceInfo(id, query, 0, nullptr, &size), "reading a device");
  std::string text(size, '\0');
  check_status(api().GetDeviceInfo(id, query, size, text.data(), nullptr), "reading a device");
  text.resize(std::min(text.size(), text.find('\0')));
  return text;
}

cl_context make_context(cl_platform_id platform, cl_device_id id) {
  constexpr intptr_t kContextPlatform = 0x1084;
  const intptr_t properties[] = {kContextPlatform, reinterpret_cast<intptr_t>(platform), 0};
  cl_int status = kSuccess;
  const cl_context context = api().CreateContext(properties, 1, &id, nullptr, nullptr, &status);
  check_status(status, "making a context");
  return context;
}

struct Found {
  cl_platform_id platform;
  cl_device_id id;
  cl_bitfield type;
};

int rank(cl_bitfield type) {
  return type & kDeviceTypeGpu ? 0 : type & kDeviceTypeAccelerator ? 1 : 2;
}

std::vector<Found> find_devices() {
  std::vector<Found> all;
  cl_uint n = 0;
  const cl_int status = api().GetPlatformIDs(0, nullptr, &n);
  if (status != kSuccess || n == 0) return all;  // the loader has no driver
  std::vector<cl_platform_id> platforms(n);
  check_status(api().GetPlatformIDs(n, platforms.data(), nullptr), "listing the platforms");
  for (const cl_platform_id platform : platforms) {
    constexpr cl_bitfield kTypes = kDeviceTypeGpu | kDeviceTypeAccelerator | kDeviceTypeCpu;
    if (api().GetDeviceIDs(platform, kTypes, 0, nullptr, &n) != kSuccess || n == 0) continue;
    std::vector<cl_device_id> ids(n);
    check_status(api().GetDeviceIDs(platform, kTypes, n, ids.data(), nullptr),
                 "listing the devices");
    for (const cl_device_id id : ids)
      all.push_back({platform, id, device_info<cl_bitfield>(id, kDeviceType)});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Found& a, const Found& b) { return rank(a.type) < rank(b.type); });
  all.resize(std::min<size_t>(all.size(), 127));  // the largest index of a device
  return all;
}

// True once a device was looked for: settle() does not create the platform.
std::atomic<bool> g_platform_exists{false};

// The devices; each is opened at its first use. Leaked.
struct Platform {
  std::string absence = api_absence();
  std::vector<Found> matches;
  std::vector<OpenclDevice*> opened;
  std::mutex lock;
  pid_t process = getpid();

  Platform() {
    g_platform_exists.store(true);
    if (!absence.empty()) return;
    matches = find_devices();
    opened.resize(matches.size());
    if (matches.empty())
      absence =
          "the OpenCL library found no device: no driver is installed for one (on Debian "
          "'pocl-opencl-icd' makes the CPU a device)";
  }
};

Platform& platform() {
  static auto* instance = new Platform;
  return *instance;
}

}  // namespace

OpenclDevice::OpenclDevice(Device own, cl_platform_id platform, cl_device_id identity)
    : device(own),
      id(identity),
      title(device_text(id, kDeviceName)),
      version(device_text(id, kDriverVersion) + ", " + device_text(id, kDeviceVersion)),
      is_cpu((device_info<cl_bitfield>(id, kDeviceType) & kDeviceTypeCpu) != 0 &&
             !std::getenv("UNDERHOOD_OPENCL_LANES")),
      has_double(device_text(id, kDeviceExtensions).find("cl_khr_fp64") != std::string::npos),
      divides_correctly(
          (device_info<cl_bitfield>(id, kDeviceSingleConfig) & kCorrectlyRoundedDivide) != 0),
      compute_units(device_info<cl_uint>(id, kDeviceComputeUnits)),
      largest_group(device_info<size_t>(id, kDeviceMaxWorkGroup)),
      local_memory(device_info<uint64_t>(id, kDeviceLocalMemory)),
      max_argument_bytes(device_info<size_t>(id, kDeviceMaxParameters)),
      vector_width(device_info<cl_uint>(id, kDeviceVectorWidth)),
      context(make_context(platform, id)),
      queue(own, context, id),
      memory(queue, context, device_info<uint64_t>(id, kDeviceGlobalMemory),
             device_info<uint64_t>(id, kDeviceMaxAllocation)),
      pinned(queue, context),
      programs(*this) {}

int device_count() { return static_cast<int>(platform().matches.size()); }

std::string absence() { return platform().absence; }

void settle() {
  if (!g_platform_exists.load()) return;
  Platform& all = platform();
  if (is_forked()) return;
  const std::lock_guard guard(all.lock);
  for (OpenclDevice* device : all.opened) {
    if (device) device->queue.settle();
  }
}

bool is_forked() { return platform().process != getpid(); }

void check_not_forked() {
  check(!is_forked(),
        "opencl: this process was forked from one that uses OpenCL, and drivers do not survive "
        "that; start it with the method 'spawn'");
}

OpenclDevice& device_of(Device device) {
  Platform& all = platform();
  check(all.absence.empty(), "opencl: ", all.absence);
  check_not_forked();
  const auto index = static_cast<size_t>(std::max<int8_t>(device.index, 0));
  check(index < all.matches.size(), "device: there is no ", name(device),
        "; the number of opencl devices is ", all.matches.size());
  const std::lock_guard guard(all.lock);
  OpenclDevice*& slot = all.opened[index];
  if (!slot) {
    const Found& match = all.matches[index];
    slot = new OpenclDevice(Device(DeviceType::kOpenCL, static_cast<int8_t>(index)), match.platform,
                            match.id);
  }
  return *slot;
}

}  // namespace uh::opencl
