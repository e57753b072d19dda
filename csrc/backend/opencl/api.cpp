#include "backend/opencl/api.h"

#include <dlfcn.h>

#include <cstdlib>

namespace uh::opencl {
namespace {

struct Library {
  Api functions;
  std::string absence;
};

using AnyFunction = void (*)();

// For a driver that UNDERHOOD_OPENCL names instead of a loader. It exports one function, which
// returns its platforms, and each of its objects begins with a pointer to its function table
// (cl_khr_icd).
bool read_driver(void* handle, Api& api) {
  using Find = void* (*)(const char*);
  const auto find = reinterpret_cast<Find>(dlsym(handle, "clGetExtensionFunctionAddress"));
  if (!find) return false;
  using Platforms = cl_int (*)(cl_uint, cl_platform_id*, cl_uint*);
  const auto platforms = reinterpret_cast<Platforms>(find("clIcdGetPlatformIDsKHR"));
  cl_platform_id platform = nullptr;
  if (!platforms || platforms(1, &platform, nullptr) != kSuccess) return false;
  AnyFunction* const table = *reinterpret_cast<AnyFunction**>(platform);
#define UH_CL(entry, result, name, parameters)                                                     \
  api.name = reinterpret_cast<decltype(api.name)>(table[entry]);
#include "backend/opencl/api.inc"
#undef UH_CL
  api.GetPlatformIDs = platforms;
  return true;
}

bool read_loader(void* handle, Api& api) {
  bool complete = true;
#define UH_CL(entry, result, name, parameters)                                                     \
  api.name = reinterpret_cast<decltype(api.name)>(dlsym(handle, "cl" #name));                      \
  complete = complete && api.name;
#include "backend/opencl/api.inc"
#undef UH_CL
  return complete;
}

Library load() {
  Library library;
  const char* const selected = std::getenv("UNDERHOOD_OPENCL");
#if defined(__APPLE__)
  const char* const path =
      selected ? selected : "/System/Library/Frameworks/OpenCL.framework/OpenCL";
#else
  const char* const path = selected ? selected : "libOpenCL.so.1";
#endif
  void* const handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* const reason = dlerror();
    library.absence = message("no OpenCL library was found (", reason ? reason : path,
                              "); install your device's driver, or on Debian 'ocl-icd-libopencl1' "
                              "and 'pocl-opencl-icd' for the CPU, or name a library in the "
                              "environment variable UNDERHOOD_OPENCL");
  } else if (!read_loader(handle, library.functions) && !read_driver(handle, library.functions)) {
    library.absence = message(path, " is not a library of OpenCL 1.2: functions are missing");
  }
  return library;
}

// Leaked, like the library itself: storages may be freed after static destructors have run.
const Library& library() {
  static const auto* instance = new Library(load());
  return *instance;
}

}  // namespace

const std::string& api_absence() { return library().absence; }

const Api& api() {
  const Library& loaded = library();
  check(loaded.absence.empty(), "opencl: ", loaded.absence);
  return loaded.functions;
}

std::string status_name(cl_int status) {
  switch (status) {
    case -1: return "CL_DEVICE_NOT_FOUND";
    case -2: return "CL_DEVICE_NOT_AVAILABLE";
    case -3: return "CL_COMPILER_NOT_AVAILABLE";
    case -4: return "CL_MEM_OBJECT_ALLOCATION_FAILURE";
    case -5: return "CL_OUT_OF_RESOURCES";
    case -6: return "CL_OUT_OF_HOST_MEMORY";
    case -7: return "CL_PROFILING_INFO_NOT_AVAILABLE";
    case -11: return "CL_BUILD_PROGRAM_FAILURE";
    case -14: return "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST";
    case -30: return "CL_INVALID_VALUE";
    case -33: return "CL_INVALID_DEVICE";
    case -34: return "CL_INVALID_CONTEXT";
    case -36: return "CL_INVALID_COMMAND_QUEUE";
    case -38: return "CL_INVALID_MEM_OBJECT";
    case -42: return "CL_INVALID_BINARY";
    case -46: return "CL_INVALID_KERNEL_NAME";
    case -49: return "CL_INVALID_ARG_INDEX";
    case -50: return "CL_INVALID_ARG_VALUE";
    case -51: return "CL_INVALID_ARG_SIZE";
    case -52: return "CL_INVALID_KERNEL_ARGS";
    case -54: return "CL_INVALID_WORK_GROUP_SIZE";
    case -55: return "CL_INVALID_WORK_ITEM_SIZE";
    case -61: return "CL_INVALID_BUFFER_SIZE";
    case -1001: return "CL_PLATFORM_NOT_FOUND_KHR";
    default: return "OpenCL's error " + std::to_string(status);
  }
}

ErrorKind error_kind(cl_int status) {
  // Not CL_OUT_OF_RESOURCES: drivers also report failed kernels with it.
  const bool memory = status == kOutOfMemory || status == kOutOfHostMemory;
  return memory ? ErrorKind::kDeviceMemory : ErrorKind::kRuntime;
}

}  // namespace uh::opencl
