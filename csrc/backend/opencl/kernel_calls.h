// Shared by the kernels of families: row-major results, checks of indices, and execution on the CPU
// for arguments that a kernel does not support.
#pragma once

#include "backend/opencl/launch.h"
#include "dispatch/operator.h"
#include "ops/cpu_fallback.h"

namespace uh::opencl {

// Launches one work item for each of `n` elements; the kernel's last argument is `n`.
inline void launch_items(Arguments& arguments, int64_t n) {
  const Kernel& kernel = arguments.kernel();
  const size_t preferred = kernel.device.is_cpu ? 64 : 256;
  arguments.add(n).launch(items_of(n, std::min(preferred, kernel.largest_group)));
}
template <class... A>
void launch_items(const Kernel& kernel, int64_t n, const A&... arguments) {
  Arguments all(kernel);
  (all.add(arguments), ...);
  launch_items(all, n);
}

// A row-major tensor for a kernel to write: the result itself if it is row-major, else a buffer
// that `store` copies to it.
class DenseResult {
 public:
  explicit DenseResult(const Tensor& result);
  const Tensor& tensor() const { return buffer_; }
  void store() const;

 private:
  const Tensor result_, buffer_;
};

// The definition of E: the unsigned type with the size of an element. 16 bytes are a vector.
const char* bytes_type(DType dtype);

// Defines the compute type T, for kernels of floating dtypes.
inline Defines computes(DType dtype) { return Defines().dtype("T", dtype); }

// Indices out of range: a kernel stores one, and the host throws the error.
class IndexCheck {
 public:
  explicit IndexCheck(Device device);
  const Tensor& tensor() const { return outside_; }
  // Waits for the kernel. fail(number): throws.
  template <class F>
  void finish(const F& fail) const {
    int64_t noted[2];
    read_back(noted);
    if (noted[0]) fail(noted[1]);
  }

 private:
  void read_back(int64_t* noted) const;
  Tensor outside_;
};

// True if kernels of floating dtypes support the tensor.
inline bool is_computed(const Tensor& t) {
  return is_floating(t.dtype()) && has_dtype(t.device(), t.dtype());
}

// True if the device computes with the tensor's elements, and they are real numbers.
inline bool is_real(const Tensor& t) {
  return !is_complex(t.dtype()) && t.dtype() != DType::kBool && has_dtype(t.device(), t.dtype());
}

// A kernel that does not support all arguments: if `fits(arguments...)` is false, the CPU computes
// the operator.
template <class Operation>
struct Partial;
template <class R, class... A>
struct Partial<Op<R(A...)>> {
  template <auto& op, auto fits, auto kernel>
  static R run(KeySet keys, A... args) {
    return fits(args...) ? kernel(keys, args...) : on_cpu(op, args...);
  }
  // Once for each signature, not for each operator.
  static R on_cpu(OperatorInfo& op, A... args) {
    Stack stack{to_value(args)...};
    cpu_fallback(op, Key::kOpenCL, stack);
    if constexpr (requires { typename std::tuple_size<R>::type; }) {
      return [&]<size_t... I>(std::index_sequence<I...>) {
        return R(from_value<std::tuple_element_t<I, R>>(stack[stack.size() - sizeof...(I) + I])...);
      }(std::make_index_sequence<std::tuple_size_v<R>>{});
    } else if constexpr (!std::is_void_v<R>) {
      return from_value<R>(stack.back());
    }
  }
};

// `kernel`: the result of structured::<operator>.
template <auto& op, auto fits, auto kernel>
void register_partial(const char* name) {
  using Operation = std::remove_reference_t<decltype(op)>;
  op.set_kernel(Key::kOpenCL, Partial<Operation>::template run<op, fits, kernel>, name);
}

// fits: the first tensor is floating, and the device computes with its dtype.
inline constexpr auto kFloatingFirst = [](const auto& first, const auto&...) {
  return is_computed(first);
};
// fits: the elements of the first tensor are real numbers.
inline constexpr auto kRealFirst = [](const Tensor& first, const auto&...) {
  return is_real(first);
};

}  // namespace uh::opencl
