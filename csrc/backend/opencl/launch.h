// Calls of kernels: an OpenCL C source, specialised, with a range and arguments.
//
// clang-format off
//   static const Source source{sources::softmax, "softmax"};  // csrc/backend/opencl/softmax.cl
//   const Kernel& kernel = source.kernel(out.device(), Defines().dtype("T", out.dtype()));
//   launch(kernel, groups_of(rows, 64), self, out, int64_t(length));
// clang-format on
//
// A tensor is two parameters of the kernel, its buffer and the index of its first element; in
// OpenCL C `TENSOR(T_STORED, self)` declares both and `OPEN(T_STORED, self)` defines the pointer
// (prelude.cl). Numbers are passed with their C++ type: int32_t is int, int64_t long, float float.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "backend/opencl/platform.h"
#include "generated/opencl/sources.h"
#include "tensor/tensor.h"

namespace uh::opencl {

// The definitions before a source, which specialise it.
class Defines {
 public:
  // NAME: the type that elements are computed in (16-bit floats: float), NAME_STORED: as they are
  // in memory, LOAD_NAME(pointer, i), STORE_NAME(pointer, i, value), NAME_IS_FLOAT,
  // NAME_IS_DOUBLE... and, of complex numbers, which are a vector of two, NAME_PART.
  Defines& dtype(std::string_view name, DType dtype);
  Defines& number(std::string_view name, int64_t value);
  Defines& text(std::string_view name, std::string_view value);
  const std::string& lines() const { return lines_; }
  // "float": the type that NAME stands for.
  static const char* computed_type(DType dtype);

 private:
  std::string lines_;
};

// True if the device computes with elements of this dtype; kernels are compiled only for these.
bool has_dtype(Device device, DType dtype);
bool needs_double(DType dtype);

// The kernels of one source file, specialised once for each device and set of definitions.
class Source {
 public:
  Source(std::string_view text, const char* function) : text_(text), function_(function) {}
  // `name`: its name in errors and recordings; by default that of the function.
  const Kernel& kernel(Device device, const Defines& defines, std::string_view name = {}) const;

 private:
  const std::string_view text_;
  const char* const function_;
  mutable std::mutex lock_;
  mutable std::unordered_map<std::string, const Kernel*> kernels_;
};

// Work items in up to three dimensions; the global sizes are multiples of the group's.
struct Range {
  cl_uint dimensions = 1;
  size_t items[3] = {1, 1, 1};
  size_t group[3] = {1, 1, 1};
};
// At least `items` work items in groups of `group`: the kernel compares its number with the count.
Range items_of(int64_t items, size_t group);
// `groups` groups of `group` work items.
Range groups_of(int64_t groups, size_t group);
// A group size for elementwise kernels and for those that reduce within a group; 1 on a device
// whose items are threads, not lanes.
size_t preferred_group(const Kernel& kernel);

// Local memory of a group, an argument.
struct LocalMemory {
  size_t bytes;
};

namespace detail {

// One argument in the driver's form.
struct Argument {
  size_t size;
  const void* value;
};

template <class T>
inline constexpr bool is_number =
    std::is_same_v<T, int32_t> || std::is_same_v<T, uint32_t> || std::is_same_v<T, int64_t> ||
    std::is_same_v<T, uint64_t> || std::is_same_v<T, float> || std::is_same_v<T, double> ||
    std::is_same_v<T, int16_t> || std::is_same_v<T, int8_t> || std::is_same_v<T, uint8_t>;

}  // namespace detail

// The arguments of one launch, in the order of the kernel's parameters.
class Arguments {
 public:
  explicit Arguments(const Kernel& kernel) : kernel_(kernel) {}
  const Kernel& kernel() const { return kernel_; }
  Arguments& add(const Tensor& tensor);
  Arguments& add(LocalMemory memory);
  // A number, or a struct of numbers that OpenCL C declares in the same way.
  template <class T>
    requires(detail::is_number<T> || (std::is_class_v<T> && std::is_trivially_copyable_v<T>))
  Arguments& add(const T& value) {
    add_bytes(&value, sizeof value);
    return *this;
  }
  void add_bytes(const void* value, size_t size);
  void launch(const Range& range);

 private:
  struct Entry {
    size_t offset;  // in bytes_; kLocal: local memory
    size_t size;
  };
  static constexpr size_t kLocal = static_cast<size_t>(-1);

  const Kernel& kernel_;
  std::vector<std::byte> bytes_;
  std::vector<Entry> entries_;
};

template <class... A>
void launch(const Kernel& kernel, const Range& range, const A&... arguments) {
  Arguments all(kernel);
  (all.add(arguments), ...);
  all.launch(range);
}

}  // namespace uh::opencl
