// The kernels of search.yaml on sorted sequences: searchsorted, bucketize, isin.
#include "generated/kernels/search.h"
#include "backend/cpu/copy/elements.h"
#include "backend/cpu/index_loops.h"
#include "backend/cpu/search/sequence.h"
#include "backend/cpu/sort/lines.h"
#include "base/parallel.h"
#include "ops/search/shapes.h"

namespace uh::kernels {
namespace {

// Returns a number as a 0-d tensor that does not promote a tensor of the same category.
Tensor number_tensor(const Scalar& value, Device device) {
  Tensor out = empty_number(value, device);
  fill_elements(out, element_bytes(value, out.dtype()));
  return out;
}

// Writes the position of each of `values` in its line of `boundaries`.
void search(const char* op, const Tensor& boundaries, const Tensor& values, bool right,
            const Tensor& ranks, const Tensor& out) {
  if (out.numel() == 0) return;
  const DType dtype = search_dtype(boundaries, values);
  const Tensor edges = as_contiguous(boundaries, dtype), x = as_contiguous(values, dtype);
  const Tensor sorter = ranks ? as_contiguous(ranks) : Tensor();
  const bool out_int32 = out.dtype() == DType::kInt32;
  const int64_t n = boundaries.sizes().back();
  const int64_t* order = sorter ? sorter.data_as<int64_t>() : nullptr;
  check(!order || index_loops().outside(order, sorter.numel(), 0, n) == sorter.numel(), op,
        "(): sorter index out of range");
  const int64_t each = boundaries.ndim() == 1 ? values.numel() : values.sizes().back();
  visit(dtype, [&](auto zero) {
    using T = decltype(zero);
    using W = std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>;
    const T *lines = edges.data_as<T>(), *wanted = x.data_as<T>();
    auto* const narrow = out_int32 ? out.data_as<int32_t>() : nullptr;
    auto* const wide = out_int32 ? nullptr : out.data_as<int64_t>();
    const auto search_in = [&](const auto& at) {
      parallel_for(0, out.numel(), 4096, [&](int64_t lo, int64_t hi) {
        const auto value = [&](int64_t i) { return static_cast<W>(wanted[i]); };
        search_each(lo, hi, n, right, value, at, [&](int64_t i, int64_t position) {
          if (narrow)
            narrow[i] = static_cast<int32_t>(position);
          else
            wide[i] = position;
        });
      });
    };
    if (order)
      search_in([&](int64_t i, int64_t j) {
        const int64_t line = i / each * n;
        return static_cast<W>(lines[line + order[line + j]]);
      });
    else if (boundaries.ndim() == 1)
      search_in([&](int64_t, int64_t j) { return static_cast<W>(lines[j]); });
    else
      search_in([&](int64_t i, int64_t j) { return static_cast<W>(lines[i / each * n + j]); });
  });
}

bool is_right(bool right, const std::optional<std::string>& side) {
  return right || side == "right";
}

// Writes whether each of `elements` is one of `tests`.
void find_among(const Tensor& elements, const Tensor& tests, bool invert, const Tensor& out) {
  if (out.numel() == 0) return;
  const DType dtype = search_dtype(elements, tests);
  const Tensor x = as_contiguous(elements, dtype), others = as_contiguous(tests, dtype);
  const int64_t n = others.numel();
  const Tensor sorted = empty(Dims{n}, dtype);
  std::vector<int64_t> positions(static_cast<size_t>(n));
  SortScratch scratch;
  sort_line(dtype, sorted.data(), positions.data(), others.data(), n, false, scratch);
  visit(dtype, [&](auto zero) {
    using T = decltype(zero);
    using W = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;
    const T *known = sorted.data_as<T>(), *wanted = x.data_as<T>();
    bool* is_known = out.data_as<bool>();
    parallel_for(0, x.numel(), 4096, [&](int64_t lo, int64_t hi) {
      search_each(
          lo, hi, n, false, [&](int64_t i) { return static_cast<W>(wanted[i]); },
          [&](int64_t, int64_t j) { return static_cast<W>(known[j]); },
          [&](int64_t i, int64_t at) {
            is_known[i] = (at < n && known[at] == wanted[i]) != invert;
          });
    });
  });
}

}  // namespace

void searchsorted(const Tensor& sorted_sequence, const Tensor& self, bool, bool right,
                  const std::optional<std::string>& side, const Tensor& sorter,
                  const Tensor& result) {
  search("searchsorted", sorted_sequence, self, is_right(right, side), sorter, result);
}

void searchsorted_scalar(const Tensor& sorted_sequence, const Scalar& self, bool, bool right,
                         const std::optional<std::string>& side, const Tensor& sorter,
                         const Tensor& result) {
  search("searchsorted", sorted_sequence, number_tensor(self, result.device()),
         is_right(right, side), sorter, result);
}

void bucketize(const Tensor& self, const Tensor& boundaries, bool, bool right,
               const Tensor& result) {
  search("bucketize", boundaries, self, right, Tensor(), result);
}

void bucketize_scalar(const Scalar& self, const Tensor& boundaries, bool, bool right,
                      const Tensor& result) {
  search("bucketize", boundaries, number_tensor(self, result.device()), right, Tensor(), result);
}

void isin(const Tensor& elements, const Tensor& test_elements, bool, bool invert,
          const Tensor& result) {
  find_among(elements, test_elements, invert, result);
}

void isin_scalar(const Tensor& elements, const Scalar& test_element, bool, bool invert,
                 const Tensor& result) {
  find_among(elements, number_tensor(test_element, result.device()), invert, result);
}

void scalar_isin(const Scalar& element, const Tensor& test_elements, bool, bool invert,
                 const Tensor& result) {
  find_among(number_tensor(element, result.device()), test_elements, invert, result);
}

}  // namespace uh::kernels
