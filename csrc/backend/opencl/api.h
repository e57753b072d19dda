// The OpenCL API, loaded at run time, so that neither linking nor a vendor's headers are needed.
//
// The types and constants of OpenCL 1.2 that are used here, and a table of its functions (api.inc),
// which is filled when an OpenCL device is first used. The library is UNDERHOOD_OPENCL, or by
// default the system's loader (libOpenCL.so.1), which loads the drivers.
// Invariant: check_status checks every status.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.h"

namespace uh::opencl {

using cl_int = int32_t;
using cl_uint = uint32_t;
using cl_bitfield = uint64_t;
using cl_platform_id = struct PlatformObject*;
using cl_device_id = struct DeviceObject*;
using cl_context = struct ContextObject*;
using cl_command_queue = struct QueueObject*;
using cl_mem = struct MemoryObject*;
using cl_program = struct ProgramObject*;
using cl_kernel = struct KernelObject*;
using cl_event = struct EventObject*;

inline constexpr cl_int kSuccess = 0;
inline constexpr cl_int kDeviceNotAvailable = -2;
inline constexpr cl_int kOutOfMemory = -4;  // CL_MEM_OBJECT_ALLOCATION_FAILURE
inline constexpr cl_int kOutOfHostMemory = -6;
inline constexpr cl_int kInvalidQueue = -36;

inline constexpr cl_bitfield kDeviceTypeCpu = 1 << 1;
inline constexpr cl_bitfield kDeviceTypeGpu = 1 << 2;
inline constexpr cl_bitfield kDeviceTypeAccelerator = 1 << 3;
inline constexpr cl_uint kDeviceType = 0x1000;
inline constexpr cl_uint kDeviceComputeUnits = 0x1002;
inline constexpr cl_uint kDeviceMaxWorkGroup = 0x1004;
inline constexpr cl_uint kDeviceMaxParameters = 0x1017;
inline constexpr cl_uint kDeviceMaxAllocation = 0x1010;
inline constexpr cl_uint kDeviceGlobalMemory = 0x101F;
inline constexpr cl_uint kDeviceLocalMemory = 0x1023;
inline constexpr cl_uint kDeviceSingleConfig = 0x101B;
inline constexpr cl_bitfield kCorrectlyRoundedDivide = 1 << 7;
inline constexpr cl_uint kDeviceName = 0x102B;
inline constexpr cl_uint kDeviceVectorWidth = 0x103A;  // CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT
inline constexpr cl_uint kDriverVersion = 0x102D;
inline constexpr cl_uint kDeviceVersion = 0x102F;
inline constexpr cl_uint kDeviceExtensions = 0x1030;
inline constexpr cl_bitfield kQueueProfiling = 1 << 1;
inline constexpr cl_bitfield kReadWrite = 1 << 0;
inline constexpr cl_bitfield kAllocateHostPointer = 1 << 4;
inline constexpr cl_bitfield kMapReadWrite = 3;
inline constexpr cl_uint kProgramBinarySizes = 0x1165;
inline constexpr cl_uint kProgramBinaries = 0x1166;
inline constexpr cl_uint kBuildLog = 0x1183;
inline constexpr cl_uint kKernelWorkGroup = 0x11B0;
inline constexpr cl_uint kEventStatus = 0x11D3;
inline constexpr cl_int kComplete = 0;
inline constexpr cl_uint kProfilingQueued = 0x1280;  // then submit, start and end

struct Api {
#define UH_CL(entry, result, name, parameters) result(*name) parameters = nullptr;
#include "backend/opencl/api.inc"
#undef UH_CL
};

// The functions; throws if there is no library.
const Api& api();
// Returns the reason why the library was not loaded; empty if it was.
const std::string& api_absence();

// "CL_OUT_OF_RESOURCES".
std::string status_name(cl_int status);
// The kind of error that a status becomes.
ErrorKind error_kind(cl_int status);
// Throws the error of a status other than success. The parts say what failed: "add: launching it".
template <class... Parts>
void check_status(cl_int status, const Parts&... parts) {
  if (status != kSuccess) [[unlikely]]
    fail(error_kind(status), "opencl: ", parts..., " failed: ", status_name(status));
}

}  // namespace uh::opencl
