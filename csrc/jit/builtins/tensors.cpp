// Properties of tensors, and tensors of numbers: PyTorch's operators without kernels, and
// attributes (prim::dtype).
#include "jit/builtins/tensors.h"

#include "autograd/autograd_meta.h"
#include "autograd/engine.h"
#include "generated/ops/copy.h"
#include "generated/ops/view.h"
#include "jit/builtins/register_builtin.h"
#include "ops/copy/element.h"

namespace uh::jit {
namespace {

using Int = int64_t;
using Items = std::vector<IValue>;

IValue listed(const Dims& dims) { return new_list(Items(dims.begin(), dims.end())); }

size_t dimension(const Tensor& t, Int dim) {
  const Int n = t.ndim();
  const Int at = dim < 0 ? dim + n : dim;
  if (at < 0 || at >= n) {
    if (n == 0)
      fail(ErrorKind::kIndex, "Dimension specified as ", dim, " but tensor has no dimensions");
    fail(ErrorKind::kIndex, "Dimension out of range (expected to be in range of [", -n, ", ", n - 1,
         "], but got ", dim, ")");
  }
  return static_cast<size_t>(at);
}

// True if (N, C, ...) is stored as (N, ..., C).
bool is_channels_last(const Tensor& t, Int rank) {
  if (t.ndim() != rank) return false;
  Int expected = 1;
  for (Int i = 0; i < rank; ++i) {
    const Int dim = i == 0 ? 1 : i == rank - 1 ? 0 : rank - i;
    if (t.size(dim) != 1 && t.strides()[static_cast<size_t>(dim)] != expected) return false;
    expected *= t.size(dim);
  }
  return true;
}

void define_sizes() {
  define("size(Tensor self) -> int[]", boxed<[](const Tensor& t) { return listed(t.sizes()); }>);
  define("size.int(Tensor self, int dim) -> int",
         boxed<[](const Tensor& t, Int dim) { return t.sizes()[dimension(t, dim)]; }>);
  define("stride(Tensor self) -> int[]",
         boxed<[](const Tensor& t) { return listed(t.strides()); }>);
  define("stride.int(Tensor self, int dim) -> int",
         boxed<[](const Tensor& t, Int dim) { return t.strides()[dimension(t, dim)]; }>);
  define("dim(Tensor self) -> int", boxed<[](const Tensor& t) { return t.ndim(); }>, kNeverRaises);
  define("ndimension(Tensor self) -> int", boxed<[](const Tensor& t) { return t.ndim(); }>);
  define("numel(Tensor self) -> int", boxed<[](const Tensor& t) { return t.numel(); }>);
  define("nelement(Tensor self) -> int", boxed<[](const Tensor& t) { return t.numel(); }>);
  define("len.Tensor(Tensor t) -> int", boxed<[](const Tensor& t) {
           if (t.ndim() == 0) fail(ErrorKind::kType, "len() of a 0-d tensor");
           return t.size(0);
         }>);
  define("storage_offset(Tensor self) -> int", boxed<[](const Tensor& t) { return t.offset(); }>);
  define("is_contiguous(Tensor self) -> bool",
         boxed<[](const Tensor& t) { return t.is_contiguous(); }>);
  define("is_contiguous.memory_format(Tensor self, MemoryFormat memory_format) -> bool",
         boxed<[](const Tensor& t, MemoryFormat format) {
           if (format == MemoryFormat::kChannelsLast) return is_channels_last(t, 4);
           if (format == MemoryFormat::kChannelsLast3d) return is_channels_last(t, 5);
           return t.is_contiguous();
         }>);
  define("is_same_size(Tensor self, Tensor other) -> bool",
         boxed<[](const Tensor& a, const Tensor& b) {
           return std::equal(a.sizes().begin(), a.sizes().end(), b.sizes().begin(),
                             b.sizes().end());
         }>);
}

void define_kinds() {
  define("prim::dtype(Tensor a) -> int",
         boxed<[](const Tensor& t) { return pytorch_code(t.dtype()); }>, kNeverRaises);
  define("prim::device(Tensor a) -> Device", boxed<[](const Tensor& t) { return t.device(); }>,
         kNeverRaises);
  define("prim::layout(Tensor a) -> Layout", boxed<[](const Tensor&) { return Int{0}; }>);
  define("prim::itemsize(Tensor a) -> int",
         boxed<[](const Tensor& t) { return info(t.dtype()).itemsize; }>);
  define("prim::nbytes(Tensor a) -> int",
         boxed<[](const Tensor& t) { return t.numel() * info(t.dtype()).itemsize; }>);
  define("element_size(Tensor self) -> int",
         boxed<[](const Tensor& t) { return info(t.dtype()).itemsize; }>);
  define("prim::is_cpu(Tensor a) -> bool",
         boxed<[](const Tensor& t) { return t.device() == Device::kCPU; }>);
  define("prim::is_meta(Tensor a) -> bool", boxed<[](const Tensor& t) { return t.is_meta(); }>);
  for (const char* never : {"prim::is_cuda", "prim::is_sparse", "prim::is_quantized",
                            "prim::is_nested", "prim::is_mkldnn"})
    define(std::string(never) + "(Tensor a) -> bool", boxed<[](const Tensor&) { return false; }>);
  define("get_device(Tensor self) -> int", boxed<[](const Tensor&) { return Int{-1}; }>);
  define("is_floating_point(Tensor self) -> bool",
         boxed<[](const Tensor& t) { return is_floating(t.dtype()); }>);
  define("is_complex(Tensor self) -> bool",
         boxed<[](const Tensor& t) { return is_complex(t.dtype()); }>);
  define("is_signed(Tensor self) -> bool", boxed<[](const Tensor& t) {
           const DType d = t.dtype();
           return d != DType::kBool && info(d).name.find("uint") == std::string_view::npos;
         }>);
  define("is_nonzero(Tensor self) -> bool", boxed<[](const Tensor& t) { return truth_of(t); }>);
  define("prim::type(Device self) -> str",
         boxed<[](Device device) { return std::string(name(device)); }>);
  define("prim::index(Device self) -> int?", boxed<[](Device) { return IValue(); }>);
}

void define_gradients() {
  constexpr TagSet kSetsRequiresGrad =
      tag_set(Tag::kInplaceView) | tag_set(Tag::kSetsRequiresGrad);
  define("prim::requires_grad(Tensor a) -> bool",
         boxed<[](const Tensor& t) { return autograd::requires_grad(t); }>);
  define("is_leaf(Tensor self) -> bool",
         boxed<[](const Tensor& t) { return autograd::is_leaf(t); }>);
  define("requires_grad_(Tensor(a!) self, bool requires_grad=True) -> Tensor(a!)",
         boxed<[](const Tensor& t, bool on) {
           autograd::set_requires_grad(t, on);
           return t;
         }>,
         kSetsRequiresGrad);
  define("detach_(Tensor(a!) self) -> Tensor(a!)", boxed<[](const Tensor& t) {
           autograd::detach_in_place(t);
           return t;
         }>,
         kSetsRequiresGrad);
  define("prim::data(Tensor(a) a) -> Tensor(a)", boxed<[](const Tensor& t) {
           // x.data: writes to it are not counted in t's version.
           return alias(t, t.impl()->layout(), t.dtype(), make_ref<OwnCounter>());
         }>);
  // A new tensor after each backward().
  define("prim::grad(Tensor a) -> Tensor(*)", boxed<[](const Tensor& t) {
           const auto* meta = autograd::maybe_meta(t.impl());
           Tensor grad = meta ? meta->grad() : Tensor();
           return grad ? IValue(std::move(grad)) : IValue();
         }>,
         kEffect);
  define(
      "backward(Tensor self, Tensor? gradient=None, bool? retain_graph=None, bool "
      "create_graph=False) -> ()",
      boxed<[](const Tensor& t, const IValue& gradient, std::optional<bool> keep, bool create) {
        const Tensor input =
            gradient.is_none() ? autograd::implicit_gradient(t) : from_value<Tensor>(gradient);
        autograd::RunOptions options;
        options.keep_graph = keep.value_or(create);
        options.create_graph = create;
        autograd::run_backward(std::vector<Tensor>{t}, std::vector<Tensor>{input}, {}, options);
      }>,
      kEffect | tag_set(Tag::kAccumulatesGradients));
}

// ---- dtype and device conversions: return `self` if nothing changes and no copy is requested

Tensor converted(const Tensor& t, DType dtype, Device device, bool copy, MemoryFormat format) {
  const bool same = (dtype == DType::kUndefined || dtype == t.dtype()) &&
                    (device == Device::kUndefined || device == t.device()) &&
                    format == MemoryFormat::kUndefined;
  return same && !copy ? t : ops::_to_copy(t, dtype, device, format);
}

// PyTorch's copy_ overloads for numbers, which only compiled code calls.
void define_copies() {
  define("copy_.int(Tensor(a!) self, int other) -> Tensor(a!)",
         boxed<[](const Tensor& t, Int other) {
           ops::fill__Scalar(t, Scalar(other));
           return t;
         }>);
  define("copy_.float(Tensor(a!) self, float other) -> Tensor(a!)",
         boxed<[](const Tensor& t, double other) {
           ops::fill__Scalar(t, Scalar(other));
           return t;
         }>);
}

void define_to() {
  constexpr TagSet kMayReturnSelf = tag_set(Tag::kMaybeAliasingOrMutating);
  define(
      "to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, bool "
      "copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
      boxed<[](const Tensor& t, Device device, DType dtype, bool, bool copy, MemoryFormat format) {
        return converted(t, dtype, device, copy, format);
      }>,
      kMayReturnSelf);
  define(
      "to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, "
      "MemoryFormat? memory_format=None) -> Tensor(a)",
      boxed<[](const Tensor& t, DType dtype, bool, bool copy, MemoryFormat format) {
        return converted(t, dtype, Device::kUndefined, copy, format);
      }>,
      kMayReturnSelf);
  define(
      "to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, Device? "
      "device=None, bool? pin_memory=None, bool non_blocking=False, bool copy=False, "
      "MemoryFormat? memory_format=None) -> Tensor(a)",
      boxed<[](const Tensor& t, DType dtype, const IValue&, Device device, const IValue&, bool,
               bool copy,
               MemoryFormat format) { return converted(t, dtype, device, copy, format); }>,
      kMayReturnSelf);
  define(
      "to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False, "
      "MemoryFormat? memory_format=None) -> Tensor(a)",
      boxed<[](const Tensor& t, const Tensor& other, bool, bool copy, MemoryFormat format) {
        return converted(t, other.dtype(), other.device(), copy, format);
      }>,
      kMayReturnSelf);
  define(
      "to.prim_Device(Tensor(a) self, Device? device, int? dtype=None, bool non_blocking=False, "
      "bool copy=False) -> Tensor(a)",
      boxed<[](const Tensor& t, Device device, DType dtype, bool, bool copy) {
        return converted(t, dtype, device, copy, MemoryFormat::kUndefined);
      }>,
      kMayReturnSelf);
  define(
      "to.prim_dtype(Tensor(a) self, int? dtype=None, bool non_blocking=False, bool copy=False) -> "
      "Tensor(a)",
      boxed<[](const Tensor& t, DType dtype, bool, bool copy) {
        return converted(t, dtype, Device::kUndefined, copy, MemoryFormat::kUndefined);
      }>,
      kMayReturnSelf);
  define("type_as(Tensor(a) self, Tensor other) -> Tensor(a)",
         boxed<[](const Tensor& t, const Tensor& other) {
           return converted(t, other.dtype(), other.device(), false, MemoryFormat::kUndefined);
         }>,
         kMayReturnSelf);
  define("cpu(Tensor(a) self) -> Tensor(a)", boxed<[](const Tensor& t) {
           return converted(t, DType::kUndefined, Device::kCPU, false, MemoryFormat::kUndefined);
         }>,
         kMayReturnSelf);
}

// ---- tensors of numbers and nested lists

struct Nested {
  Dims sizes;
  Items numbers;
  Scalar widest = false;

  void read(const IValue& value, size_t dim) {
    const IValue items = with_lists(value);
    const List* list = items.list();
    if (!list) {
      check(dim == sizes.size(), "tensor: expected a list at dim ", dim, ", got ",
            value.type_name());
      const auto* t = value.get_if<Tensor>();
      numbers.push_back(t ? number_value(*t) : value);
      const auto number = from_value<Scalar>(numbers.back());
      if (number.kind() > widest.kind()) widest = number;
      return;
    }
    const auto n = static_cast<Int>(list->items.size());
    if (dim == sizes.size() && numbers.empty() && !closed_) {
      sizes.push_back(n);
    } else {
      check_kind(dim < sizes.size() && sizes[dim] == n, ErrorKind::kValue,
                 "expected sequence of length ", dim < sizes.size() ? sizes[dim] : 0, " at dim ",
                 dim, " (got ", n, ")");
    }
    for (const IValue& item : list->items) {
      read(item, dim + 1);
      closed_ = true;
    }
    closed_ = true;
  }

 private:
  bool closed_ = false;  // the depth is known
};

Tensor tensor_of(const IValue& data, DType dtype, Device device) {
  Nested nested;
  nested.read(data, 0);
  if (dtype == DType::kUndefined)
    dtype = nested.numbers.empty() ? default_dtype() : nested.widest.dtype(default_dtype());
  if (device == Device::kUndefined) device = Device::kCPU;
  const Tensor result = empty(nested.sizes, dtype, device);
  if (result.is_meta()) return result;
  std::byte* at = result.data();
  for (const IValue& number : nested.numbers) {
    const ElementBytes bytes = element_bytes(from_value<Scalar>(number), dtype);
    std::copy_n(bytes.begin(), itemsize(dtype), at);
    at += itemsize(dtype);
  }
  return result;
}

void define_made_of_numbers() {
  constexpr auto tensor = &boxed<[](const IValue& data, DType dtype, Device device, bool grad) {
    const Tensor result = tensor_of(data, dtype, device);
    if (grad) autograd::set_requires_grad(result, true);
    return result;
  }>;
  constexpr auto as_tensor = &boxed<[](const IValue& data, DType dtype, Device device) {
    return tensor_of(data, dtype, device);
  }>;
  for (const char* type : {"float", "int", "bool", "complex"}) {
    const std::string of(type);
    define("tensor." + of + "(" + of +
               " t, *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False) -> "
               "Tensor",
           tensor);
    define("as_tensor." + of + "(" + of +
               " t, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
           as_tensor);
  }
  define(
      "tensor(t[] data, *, ScalarType? dtype=None, Device? device=None, bool "
      "requires_grad=False) -> Tensor",
      tensor);
  define("as_tensor(Tensor(a) data, *, ScalarType? dtype=None, Device? device=None) -> Tensor(a)",
         boxed<[](const Tensor& t, DType dtype, Device device) {
           return converted(t, dtype, device, false, MemoryFormat::kUndefined);
         }>);
  define("as_tensor.list(t[] data, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
         as_tensor);
  // 64 bits, whatever the default dtype, so that a float converts back to the same float.
  constexpr auto number = &boxed<[](const IValue& v) {
    return tensor_of(v, from_value<Scalar>(v).dtype(DType::kFloat64), Device::kUndefined);
  }>;
  define("prim::NumToTensor.Scalar(Scalar a) -> Tensor", number);
  define("prim::NumToTensor.bool(bool a) -> Tensor", number);
}

}  // namespace

void define_tensors() {
  define_sizes();
  define_kinds();
  define_gradients();
  define_to();
  define_copies();
  define_made_of_numbers();
}

}  // namespace uh::jit
