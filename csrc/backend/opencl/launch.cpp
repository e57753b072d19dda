#include "backend/opencl/launch.h"

#include <algorithm>

#include "backend/opencl/transfer.h"
#include "events/recorder.h"
#include "memory/device_registry.h"

namespace uh::opencl {
namespace {

// The elements of a dtype in OpenCL C: their types in registers and in memory, and the code that
// loads and stores them. `#` stands for the name that a source gives the dtype.
struct Elements {
  const char* computed;
  const char* stored;
  const char* load;   // of element i of p
  const char* store;  // of v to it
  const char* more;
};

const Elements& elements_of(DType dtype) {
  static constexpr const char* kPlainLoad = "((p)[i])";
  static constexpr const char* kPlainStore = "((p)[i] = (v))";
  static constexpr Elements kTable[] = {
      {"bool", "uchar", "((p)[i] != 0)", "((p)[i] = (v) ? 1 : 0)", "BOOL"},
      {"uchar", "uchar", kPlainLoad, kPlainStore, "INT"},
      {"char", "char", kPlainLoad, kPlainStore, "INT"},
      {"short", "short", kPlainLoad, kPlainStore, "INT"},
      {"int", "int", kPlainLoad, kPlainStore, "INT"},
      {"long", "long", kPlainLoad, kPlainStore, "INT"},
      {"float", "half", "vload_half(i, p)", "vstore_half_rte(v, i, p)", "FLOAT"},
      {"float", "ushort", "load_bfloat16((p)[i])", "((p)[i] = store_bfloat16(v))", "FLOAT"},
      {"float", "float", kPlainLoad, kPlainStore, "FLOAT"},
      {"double", "double", kPlainLoad, kPlainStore, "DOUBLE"},
      {"float2", "float2", kPlainLoad, kPlainStore, "COMPLEX"},
      {"double2", "double2", kPlainLoad, kPlainStore, "COMPLEX"},
  };
  return kTable[static_cast<size_t>(dtype)];
}

}  // namespace

bool needs_double(DType dtype) { return dtype == DType::kFloat64 || dtype == DType::kComplex128; }

Defines& Defines::text(std::string_view name, std::string_view value) {
  lines_.append("#define ").append(name).append(" ").append(value).append("\n");
  return *this;
}

Defines& Defines::number(std::string_view name, int64_t value) {
  return text(name, std::to_string(value));
}

Defines& Defines::dtype(std::string_view name, DType dtype) {
  const Elements& elements = elements_of(dtype);
  const std::string own(name);
  if (needs_double(dtype)) text("NEEDS_DOUBLE", "1");
  text(own, elements.computed);
  text(own + "_STORED", elements.stored);
  text("LOAD_" + own + "(p, i)", elements.load);
  text("STORE_" + own + "(p, i, v)", elements.store);
  text(own + "_IS_" + elements.more, "1");
  if (is_complex(dtype)) text(own + "_PART", dtype == DType::kComplex64 ? "float" : "double");
  return *this;
}

const char* Defines::computed_type(DType dtype) { return elements_of(dtype).computed; }

bool has_dtype(Device device, DType dtype) {
  return !needs_double(dtype) || device_of(device).has_double;
}

const Kernel& Source::kernel(Device device, const Defines& defines, std::string_view name) const {
  if (name.empty()) name = function_;
  std::string key(1, static_cast<char>(device.index));
  key.append(defines.lines()).append(name);
  const std::lock_guard guard(lock_);
  const Kernel*& slot = kernels_[key];
  if (!slot) {
    const std::string source = defines.lines() + std::string(sources::prelude) + std::string(text_);
    slot = &device_of(device).programs.kernel(source, function_, name);
  }
  return *slot;
}

Range items_of(int64_t items, size_t group) {
  const auto n = static_cast<size_t>(items);
  return groups_of(static_cast<int64_t>((n + group - 1) / group), group);
}

Range groups_of(int64_t groups, size_t group) {
  return {1, {static_cast<size_t>(groups) * group, 1, 1}, {group, 1, 1}};
}

size_t preferred_group(const Kernel& kernel) {
  return kernel.device.is_cpu ? 1 : std::min<size_t>(256, kernel.largest_group);
}

void Arguments::add_bytes(const void* value, size_t size) {
  const auto* from = static_cast<const std::byte*>(value);
  entries_.push_back({bytes_.size(), size});
  bytes_.insert(bytes_.end(), from, from + size);
}

Arguments& Arguments::add(LocalMemory memory) {
  entries_.push_back({kLocal, memory.bytes});
  return *this;
}

Arguments& Arguments::add(const Tensor& tensor) {
  const Device own = kernel_.device.device;
  if (tensor.ndim() == 0 && is_host(tensor.device())) {  // a number may be on any device
    const Tensor device_copy = empty(Dims{}, tensor.dtype(), own);
    write(device_copy.address(), tensor.data(), static_cast<size_t>(itemsize(tensor.dtype())),
          kernel_.device);
    return add(device_copy);
  }
  check(tensor.device() == own, kernel_.name,
        ": expected all tensors to be on the same device, but found at least two devices, ",
        name(own), " and ", name(tensor.device()));
  cl_mem buffer = nullptr;
  int64_t first = 0;
  if (const void* address = tensor.numel() ? tensor.address() : nullptr) {
    const BufferPlace position = kernel_.device.memory.resolve(address);
    buffer = position.buffer;
    first = static_cast<int64_t>(position.offset) / itemsize(tensor.dtype());
  }
  add_bytes(&buffer, sizeof buffer);
  add_bytes(&first, sizeof first);
  return *this;
}

// Recorded once in each recording, before the first command that runs the kernel.
static void record_source(const Kernel& kernel) {
  const uint32_t recording = events::g_generation.load(std::memory_order_relaxed);
  if (kernel.recorded.exchange(recording) == recording) return;
  events::emit_blob(events::Kind::kPROGRAM_SOURCE, kernel.program, kernel.device.device.code(), 0,
                    0, kernel.source.data(), kernel.source.size());
}

void Arguments::launch(const Range& range) {
  if (events::on()) [[unlikely]]
    record_source(kernel_);
  Queue& queue = kernel_.device.queue;
  size_t items = 1, group = 1;
  for (cl_uint d = 0; d < range.dimensions; ++d) {
    items *= range.items[d];
    group *= range.group[d];
  }
  if (items == 0) return;
  const Command command{.kind = CommandKind::kKernel,
                        .name = kernel_.name.c_str(),
                        .program = kernel_.program,
                        .items = items,
                        .group = group};
  const std::lock_guard guard(queue.lock());
  for (size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    const void* value = entry.offset == kLocal ? nullptr : bytes_.data() + entry.offset;
    check_status(api().SetKernelArg(kernel_.handle, static_cast<cl_uint>(i), entry.size, value),
                 name(kernel_.device.device), ": ", kernel_.name, ": passing argument ", i, " of ",
                 entry.size, " bytes");
  }
  queue.add_locked(command, [&](cl_event* event) {
    return api().EnqueueNDRangeKernel(queue.handle(), kernel_.handle, range.dimensions, nullptr,
                                      range.items, range.group, 0, nullptr, event);
  });
}

}  // namespace uh::opencl
