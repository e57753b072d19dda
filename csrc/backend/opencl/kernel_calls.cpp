#include "backend/opencl/kernel_calls.h"

#include "backend/opencl/copy.h"
#include "backend/opencl/transfer.h"

namespace uh::opencl {

DenseResult::DenseResult(const Tensor& result)
    : result_(result),
      buffer_(result.is_contiguous() ? result
                                     : empty(result.sizes(), result.dtype(), result.device())) {}

void DenseResult::store() const {
  if (!buffer_.is_same(result_)) copy_elements(result_, buffer_);
}

const char* bytes_type(DType dtype) {
  switch (itemsize(dtype)) {
    case 1: return "uchar";
    case 2: return "ushort";
    case 4: return "uint";
    case 8: return "ulong";
    default: return "ulong2";
  }
}

IndexCheck::IndexCheck(Device device) : outside_(empty(Dims{2}, DType::kInt64, device)) {
  static constexpr int64_t kNone[2] = {0, 0};
  write(outside_.address(), kNone, sizeof kNone, device_of(device));
}

void IndexCheck::read_back(int64_t* noted) const {
  read(noted, outside_.address(), 2 * sizeof(int64_t), device_of(outside_.device()),
       "an index is checked");
}

}  // namespace uh::opencl
