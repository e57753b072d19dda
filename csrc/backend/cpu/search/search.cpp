// The operators of search.yaml on sorted sequences: searchsorted, bucketize, isin.
#include <limits>

#include "backend/cpu/copy/elements.h"
#include "backend/cpu/index_loops.h"
#include "backend/cpu/search/sequence.h"
#include "backend/cpu/sort/lines.h"
#include "base/parallel.h"
#include "generated/kernels/search.h"

namespace uh::kernels {
namespace {

// Returns a number as a 0-d tensor that does not promote a tensor of the same category.
Tensor number_tensor(const Scalar& value, Device device) {
  Tensor out = empty(Dims(), value.dtype(default_dtype()), device);
  if (!out.is_meta()) fill_elements(out, element_bytes(value, out.dtype()));
  out.impl()->set_wrapped_number(true);
  return out;
}

// Returns the dtype in which a tensor and the searched values are compared.
DType common_dtype(const Tensor& a, const Tensor& b) {
  const auto rank = [](const Tensor& t) {
    return t.impl()->wrapped_number() ? 0 : t.ndim() == 0 ? 1 : 2;
  };
  if (rank(a) != rank(b)) {
    const Tensor &strong = rank(a) > rank(b) ? a : b, &weak = rank(a) > rank(b) ? b : a;
    if (category(weak.dtype()) <= category(strong.dtype())) return strong.dtype();
    if (weak.impl()->wrapped_number() && is_inexact(weak.dtype())) return default_dtype();
  }
  return promote(a.dtype(), b.dtype());
}

// The options of a call, from its keyword arguments.
struct Query {
  const char* op;
  bool out_int32, right;
  Tensor sorter;
};

bool matches_before_last(const Tensor& a, const Tensor& b) {
  if (a.ndim() != b.ndim()) return false;
  for (int64_t d = 0; d + 1 < a.ndim(); ++d) {
    if (a.size(d) != b.size(d)) return false;
  }
  return true;
}

void check_query(const Tensor& boundaries, const Tensor& values, const Query& q) {
  check(boundaries.ndim() > 0, q.op,
        "(): boundaries tensor should have positive dimension, but got 0 dimension");
  check(values.ndim() > 0 || boundaries.ndim() == 1, q.op,
        "(): input value can be a scalar only when boundaries tensor dimension is 1, but we got "
        "boundaries tensor dim(",
        boundaries.ndim(), ")");
  check(
      boundaries.device() == values.device() && (!q.sorter || q.sorter.device() == values.device()),
      q.op, "(): boundaries, input value and sorter tensors should be on the same device, found ",
      name(boundaries.device()), " and ", name(values.device()));
  check(boundaries.ndim() == 1 || matches_before_last(boundaries, values), q.op,
        "(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
        "tensor and input value tensor must match, but we got boundaries tensor ",
        boundaries.sizes(), " and input value tensor ", values.sizes());
  check(!q.out_int32 || boundaries.sizes().back() < std::numeric_limits<int32_t>::max(), q.op,
        "(): the size of boundaries' last dimension should be less than ",
        std::numeric_limits<int32_t>::max(), ", but we got ", boundaries.sizes().back());
  if (!q.sorter) return;
  check(q.sorter.sizes() == boundaries.sizes(), q.op,
        "(): boundary and sorter must have the same size, but got boundary tensor ",
        boundaries.sizes(), " and got sorter tensor ", q.sorter.sizes());
  check(q.sorter.dtype() == DType::kInt64, q.op,
        "(): sorter must be a tensor of long dtype but got ", name(q.sorter.dtype()));
}

Tensor search(const Tensor& boundaries, const Tensor& values, const Query& q) {
  check_query(boundaries, values, q);
  Tensor out = empty(values.sizes(), q.out_int32 ? DType::kInt32 : DType::kInt64, values.device());
  const DType dtype = common_dtype(boundaries, values);
  check_kind(dtype != DType::kBool && !is_complex(dtype), ErrorKind::kNotImplemented, "\"", q.op,
             "_out_cpu\" not implemented for '", info(dtype).title, "'");
  if (out.is_meta() || out.numel() == 0) return out;
  const Tensor edges = as_contiguous(boundaries, dtype), x = as_contiguous(values, dtype);
  const Tensor sorter = q.sorter ? as_contiguous(q.sorter) : Tensor();
  const int64_t n = boundaries.sizes().back();
  const int64_t* order = sorter ? sorter.data_as<int64_t>() : nullptr;
  check(!order || index_loops().outside(order, sorter.numel(), 0, n) == sorter.numel(), q.op,
        "(): sorter index out of range");
  const int64_t each = boundaries.ndim() == 1 ? values.numel() : values.sizes().back();
  visit(dtype, [&](auto zero) {
    using T = decltype(zero);
    using W = std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>;
    parallel_for(0, out.numel(), 4096, [&](int64_t lo, int64_t hi) {
      for (int64_t i = lo; i < hi; ++i) {
        const int64_t row = i / each * n;
        const T* line = edges.data_as<T>() + row;
        const int64_t* at = order ? order + row : nullptr;
        const W value = x.data_as<T>()[i];
        const int64_t match =
            at ? insertion_point(n, value, q.right,
                                 [&](int64_t j) { return static_cast<W>(line[at[j]]); })
               : insertion_point(n, value, q.right,
                                 [&](int64_t j) { return static_cast<W>(line[j]); });
        if (q.out_int32)
          out.data_as<int32_t>()[i] = static_cast<int32_t>(match);
        else
          out.data_as<int64_t>()[i] = match;
      }
    });
  });
  record_write(out);
  return out;
}

bool is_right(bool right, const std::optional<std::string>& side) {
  if (!side) return right;
  check(*side == "left" || *side == "right",
        "searchsorted(): side can only be 'left' or 'right' but got ", *side);
  check(!right || *side == "right",
        "searchsorted(): side and right can't be set to opposites, got side of ", *side,
        " while right was True");
  return *side == "right";
}

void check_isin(const Tensor& t) {
  check(t.dtype() != DType::kBool && !is_complex(t.dtype()),
        "isin(): Unsupported input type encountered: ", info(t.dtype()).title);
}

Tensor is_among(const Tensor& elements, const Tensor& tests, bool invert) {
  check_isin(elements);
  check_isin(tests);
  Tensor out = empty(elements.sizes(), DType::kBool,
                     elements.impl()->wrapped_number() ? tests.device() : elements.device());
  if (out.is_meta() || out.numel() == 0) return out;
  const DType dtype = common_dtype(elements, tests);
  const Tensor x = as_contiguous(elements, dtype), others = as_contiguous(tests, dtype);
  const int64_t n = others.numel();
  const Tensor sorted = empty(Dims{n}, dtype);
  std::vector<int64_t> positions(static_cast<size_t>(n));
  SortScratch scratch;
  sort_line(dtype, sorted.data(), positions.data(), others.data(), n, false, scratch);
  visit(dtype, [&](auto zero) {
    using T = decltype(zero);
    using W = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;
    const T* known = sorted.data_as<T>();
    parallel_for(0, x.numel(), 4096, [&](int64_t lo, int64_t hi) {
      for (int64_t i = lo; i < hi; ++i) {
        const T value = x.data_as<T>()[i];
        const int64_t at = insertion_point(n, static_cast<W>(value), false,
                                           [&](int64_t j) { return static_cast<W>(known[j]); });
        out.data_as<bool>()[i] = (at < n && known[at] == value) != invert;
      }
    });
  });
  record_write(out);
  return out;
}

}  // namespace

Tensor searchsorted(KeySet, const Tensor& sorted_sequence, const Tensor& self, bool out_int32,
                    bool right, const std::optional<std::string>& side, const Tensor& sorter) {
  return search(sorted_sequence, self, {"searchsorted", out_int32, is_right(right, side), sorter});
}

Tensor searchsorted_scalar(KeySet, const Tensor& sorted_sequence, const Scalar& self,
                           bool out_int32, bool right, const std::optional<std::string>& side,
                           const Tensor& sorter) {
  return search(sorted_sequence, number_tensor(self, sorted_sequence.device()),
                {"searchsorted", out_int32, is_right(right, side), sorter});
}

Tensor bucketize(KeySet, const Tensor& self, const Tensor& boundaries, bool out_int32, bool right) {
  check(boundaries.ndim() == 1, "bucketize(): boundaries tensor must be 1 dimension, but got dim(",
        boundaries.ndim(), ")");
  return search(boundaries, self, {"bucketize", out_int32, right, Tensor()});
}

Tensor bucketize_scalar(KeySet keys, const Scalar& self, const Tensor& boundaries, bool out_int32,
                        bool right) {
  return bucketize(keys, number_tensor(self, boundaries.device()), boundaries, out_int32, right);
}

Tensor isin(KeySet, const Tensor& elements, const Tensor& test_elements, bool, bool invert) {
  return is_among(elements, test_elements, invert);
}

Tensor isin_scalar(KeySet, const Tensor& elements, const Scalar& test_element, bool, bool invert) {
  return is_among(elements, number_tensor(test_element, elements.device()), invert);
}

Tensor scalar_isin(KeySet, const Scalar& element, const Tensor& test_elements, bool, bool invert) {
  return is_among(number_tensor(element, test_elements.device()), test_elements, invert);
}

}  // namespace uh::kernels
