// embedding_bag: rows of a table, reduced per bag.
#include "backend/cpu/copy/elements.h"
#include "backend/cpu/embedding/rows.h"
#include "backend/cpu/embedding_loops.h"
#include "base/parallel.h"
#include "generated/kernels/embedding.h"

namespace uh::kernels {
namespace {

enum Mode : int64_t { kSum = 0, kMean = 1, kMax = 2 };

struct Bags {
  Tensor rows, starts;  // int64
  int64_t count;

  int64_t begin(int64_t bag) const { return starts.data_as<int64_t>()[bag]; }
  int64_t end(int64_t bag) const {
    return bag + 1 < starts.numel() ? starts.data_as<int64_t>()[bag + 1] : rows.numel();
  }
};

void check_call(const Tensor& weight, const Tensor& indices, const Tensor& offsets, int64_t mode,
                const Tensor& scales) {
  check(weight.ndim() == 2, "embedding_bag: weight has to be a 2D Tensor, got sizes ",
        weight.sizes());
  check(indices.ndim() == 1, "embedding_bag: input has to be a 1D Tensor, got sizes ",
        indices.sizes());
  check(offsets.ndim() == 1, "embedding_bag: offsets has to be a 1D Tensor, got sizes ",
        offsets.sizes());
  check(mode >= kSum && mode <= kMax,
        "embedding_bag: mode must be 0 (sum), 1 (mean) or 2 (max), got ", mode);
  check(is_floating(weight.dtype()), "embedding_bag: expected a floating weight, got ",
        name(weight.dtype()));
  if (!scales) return;
  check(mode == kSum, "embedding_bag: per_sample_weights only supported with mode='sum'");
  check(scales.dtype() == weight.dtype(), "embedding_bag: expected per_sample_weights of dtype ",
        name(weight.dtype()), ", got ", name(scales.dtype()));
  check(scales.ndim() == 1 && scales.numel() == indices.numel(),
        "embedding_bag: expected per_sample_weights with the shape of the input ", indices.sizes(),
        ", got ", scales.sizes());
}

// Reads rows of a table as numbers of type W, in which bags are reduced.
template <class W>
class RowReader {
 public:
  explicit RowReader(const Tensor& table)
      : table_(table.data()), width_(table.size(1)), row_bytes_(width_ * itemsize(table.dtype())) {
    if (table.dtype() == dtype_of<W>::value) return;
    widen_ =
        copy_loops().cast[static_cast<int>(dtype_of<W>::value)][static_cast<int>(table.dtype())];
    row_.resize(static_cast<size_t>(width_));
  }
  // The numbers stay valid until the next call.
  const W* row(int64_t number) {
    const std::byte* const start = table_ + number * row_bytes_;
    if (!widen_) return reinterpret_cast<const W*>(start);
    widen_(row_.data(), start, width_);
    return row_.data();
  }

 private:
  const std::byte* table_;
  int64_t width_, row_bytes_;
  CopyLoops::Cast widen_ = nullptr;
  std::vector<W> row_;
};

// Reduces one bag to its maxima, with the row of each in `from`; returns the number of rows.
template <class W>
int64_t largest_of_bag(RowReader<W>& table, const Bags& bags, int64_t bag, int64_t width,
                       int64_t padding, W* largest, int64_t* from) {
  int64_t counted = 0;
  std::fill(largest, largest + width, W(0));
  for (int64_t i = bags.begin(bag); i < bags.end(bag); ++i) {
    const int64_t r = bags.rows.data_as<int64_t>()[i];
    if (r == padding) continue;
    const W* const row = table.row(r);
    for (int64_t j = 0; j < width; ++j) {
      if (counted > 0 && !(row[j] > largest[j])) continue;
      largest[j] = row[j];
      from[j] = r;
    }
    ++counted;
  }
  return counted;
}

// Reduces one bag to its sums or means; returns the number of rows.
template <class W>
int64_t sum_of_bag(const Tensor& table, const Bags& bags, int64_t bag, bool mean, const W* scales,
                   int64_t padding, W* sum) {
  const int64_t *first = bags.rows.data_as<int64_t>() + bags.begin(bag),
                *last = bags.rows.data_as<int64_t>() + bags.end(bag);
  if (scales) scales += bags.begin(bag);
  std::vector<int64_t> rows;
  std::vector<W> scales_of_rows;
  if (std::find(first, last, padding) != last) {
    for (const int64_t* row = first; row != last; ++row) {
      if (*row == padding) continue;
      rows.push_back(*row);
      if (scales) scales_of_rows.push_back(scales[row - first]);
    }
    first = rows.data();
    last = first + rows.size();
    if (scales) scales = scales_of_rows.data();
  }
  const int64_t n = last - first;
  embedding_loops().sum[static_cast<int>(table.dtype())](
      sum, {table.data(), first, n, table.size(1)}, scales,
      mean && n > 0 ? static_cast<double>(n) : 1);
  return n;
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor, Tensor> embedding_bag(
    KeySet, const Tensor& weight, const Tensor& indices, const Tensor& offsets, bool, int64_t mode,
    bool, const Tensor& per_sample_weights, bool include_last_offset, int64_t padding_idx) {
  check_call(weight, indices, offsets, mode, per_sample_weights);
  check(!include_last_offset || offsets.numel() > 0,
        "embedding_bag: include_last_offset: number of offsets should be at least 1");
  const int64_t count = offsets.numel() - (include_last_offset ? 1 : 0), width = weight.size(1);
  Tensor out = empty(Dims{count, width}, weight.dtype(), weight.device());
  Tensor bag_of = empty(Dims{indices.numel()}, DType::kInt64, weight.device());
  Tensor sizes = empty(Dims{count}, DType::kInt64, weight.device());
  Tensor from =
      empty(mode == kMax ? Dims{count, width} : Dims{count}, DType::kInt64, weight.device());
  if (out.is_meta()) return {out, bag_of, sizes, from};
  const Bags bags{row_numbers(indices, "embedding_bag"), row_numbers(offsets, "embedding_bag"),
                  count};
  for (int64_t b = 0; b < offsets.numel(); ++b) {
    const int64_t at = bags.begin(b);
    check(b > 0 || at == 0,
          "embedding_bag: offsets[0] has to be 0, i.e., the first sequence in the mini-batch has "
          "to start from position 0. However, got ",
          at);
    check(at >= (b ? bags.begin(b - 1) : 0) && at <= indices.numel(),
          "embedding_bag: offsets must ascend and stay within the input's length of ",
          indices.numel(), ", got ", at);
  }
  check_rows(bags.rows, weight, "embedding_bag");
  const int64_t padding = padding_idx < -1 ? padding_idx + weight.size(0) : padding_idx;
  fill_elements(from, ElementBytes{});
  const auto reduce = [&](auto zero) {
    using W = decltype(zero);
    const DType dtype = weight.dtype();
    const CopyLoops::Cast narrow =
        copy_loops().cast[static_cast<int>(dtype)][static_cast<int>(dtype_of<W>::value)];
    const Tensor table = as_contiguous(weight);
    const Tensor scales =
        per_sample_weights ? as_contiguous(per_sample_weights, dtype_of<W>::value) : Tensor();
    const int64_t each = std::max<int64_t>(1, indices.numel() / std::max<int64_t>(count, 1));
    const int64_t grain = std::max<int64_t>(1, 32768 / std::max<int64_t>(1, each * width));
    parallel_for(0, count, grain, [&](int64_t lo, int64_t hi) {
      RowReader<W> rows(table);
      std::vector<W> result(static_cast<size_t>(width));
      for (int64_t b = lo; b < hi; ++b) {
        sizes.data_as<int64_t>()[b] =
            mode == kMax
                ? largest_of_bag(rows, bags, b, width, padding, result.data(),
                                 from.data_as<int64_t>() + b * width)
                : sum_of_bag(table, bags, b, mode == kMean, scales ? scales.data_as<W>() : nullptr,
                             padding, result.data());
        narrow(out.data() + b * width * itemsize(dtype), result.data(), width);
        for (int64_t i = bags.begin(b); i < bags.end(b); ++i) bag_of.data_as<int64_t>()[i] = b;
      }
    });
  };
  if (weight.dtype() == DType::kFloat64)
    reduce(double{});
  else
    reduce(float{});
  for (const Tensor* result : {&out, &bag_of, &sizes, &from}) record_write(*result);
  return {out, bag_of, sizes, from};
}

}  // namespace uh::kernels
