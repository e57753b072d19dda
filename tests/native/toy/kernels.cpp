#include "toy/kernels.h"

#include "tensor/stride_order.h"

namespace uh::toy {
namespace {

// Calls f(index) for every index of `sizes`.
template <class F>
void for_each_index(const Dims& sizes, const F& f) {
  Dims index(sizes.size(), 0);
  for (int64_t i = numel_of(sizes); i > 0; --i) {
    f(index);
    for (size_t d = sizes.size(); d-- > 0;) {
      if (++index[d] < sizes[d]) break;
      index[d] = 0;
    }
  }
}

// The elements of an operand, broadcast to `shape`; a number is the same everywhere.
template <class T>
class Elements {
 public:
  Elements(const Input& input, const Dims& shape)
      : number_(input.is_number() ? input.number.to<T>() : T{}) {
    if (input.is_number()) return;
    data_ = static_cast<T*>(to_host(input.tensor.address()));
    strides_ = operand_strides(input.tensor.sizes(), input.tensor.strides(), shape);
  }
  T& at(const Dims& index) {
    if (!data_) return number_;
    int64_t offset = 0;
    for (size_t d = 0; d < index.size(); ++d) offset += index[d] * strides_[d];
    return data_[offset];
  }

 private:
  T* data_ = nullptr;
  Dims strides_;
  T number_;
};

template <class F>
void combine(DType dtype, std::span<const Input> inputs, const Tensor& out, const F& f) {
  check_kind(dtype == DType::kFloat32, ErrorKind::kNotImplemented, "toy: not implemented for ",
             name(dtype));
  Elements<float> a(inputs[0], out.sizes()), b(inputs[1], out.sizes());
  Elements<float> result(Input(out), out.sizes());
  for_each_index(out.sizes(), [&](const Dims& i) { result.at(i) = f(a.at(i), b.at(i)); });
}

}  // namespace

void add(DType dtype, std::span<const Input> inputs, const Params& params, const Tensor& out) {
  const float alpha = params.has(0) ? params.get<float>(0) : 1;
  combine(dtype, inputs, out, [=](float x, float y) { return x + alpha * y; });
}

void mul(DType dtype, std::span<const Input> inputs, const Params&, const Tensor& out) {
  combine(dtype, inputs, out, [](float x, float y) { return x * y; });
}

void fill(KeySet, const Tensor& self, const Scalar& value) {
  check_kind(self.dtype() == DType::kFloat32, ErrorKind::kNotImplemented,
             "toy: not implemented for ", name(self.dtype()));
  Elements<float> elements(Input(self), self.sizes());
  for_each_index(self.sizes(), [&](const Dims& i) { elements.at(i) = value.to<float>(); });
  record_write(self);
}

}  // namespace uh::toy
