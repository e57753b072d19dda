#include "backend/cpu/reduce/reducer.h"

#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "backend/cpu/copy/elements.h"
#include "backend/cpu/copy/repeats.h"
#include "backend/cpu/copy_loops.h"
#include "backend/cpu/loop_plan.h"
#include "base/parallel.h"
#include "ops/geometry.h"

namespace uh {
namespace {

constexpr int64_t kChunk = 4096;     // elements converted at a time
constexpr int64_t kSlice = 1 << 16;  // elements per task if there are few results
constexpr int64_t kFewTasks = 16;
constexpr int64_t kColumns = 1024;     // columns folded together: their accumulators stay in L1
constexpr int64_t kGrainSize = 32768;  // minimum number of elements per thread
constexpr int64_t kMaxItem = 16;       // bytes of the largest element
constexpr int64_t kRowsBytes = kColumns * kMaxItem;  // a buffer of rows

// Memory of the accumulators: on the stack for small counts.
class Scratch {
 public:
  explicit Scratch(size_t bytes) {
    if (bytes > sizeof inline_) heap_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
  }
  std::byte* data() { return heap_ ? heap_.get() : inline_; }

 private:
  alignas(64) std::byte inline_[1024];
  std::unique_ptr<std::byte[]> heap_;
};

// A reduction's two iteration spaces: `kept` over input and output, `reduced` over the input
// elements of one result.
struct Reduction {
  Geometry<2> geometry;  // operand 0 the input, 1 the output
  Geometry<1> reduced;
  const std::byte* data;
  DType dtype, read_as, compute;
  int64_t item;

  // Bools are already bytes of 0 and 1.
  bool direct() const {
    return read_as == dtype &&
           (dtype == compute || (dtype == DType::kBool && compute == DType::kUInt8));
  }
  const std::byte* at(int64_t offset) const { return data + offset * item; }

  // Returns a run of elements for the loops: in place if possible, else converted into `buffer`.
  const void* load(void* buffer, int64_t offset, int64_t stride, int64_t n) const {
    if (direct() && stride == 1) return at(offset);
    if (read_as == dtype || read_as == compute) {
      load_run(buffer, compute, at(offset), dtype, stride, n);
    } else {
      alignas(64) std::byte first[kChunk * kMaxItem];
      load_run(first, read_as, at(offset), dtype, stride, n);
      cast_run(buffer, compute, first, read_as, n);
    }
    return buffer;
  }
};

// Folds elements [lo, hi) of the reduced space for the result at `offset` into one accumulator.
void fold_elements(const Reduction& p, const Fold& fold, std::byte* acc, int64_t offset, int64_t lo,
                   int64_t hi) {
  const int64_t row = p.reduced.row(), stride = p.reduced.row_stride(0);
  const bool contiguous = p.direct() && stride == 1;
  if (contiguous && p.reduced.sizes.size() == 1)  // one run, possibly short and one of many
    return fold.run(acc, p.at(offset + lo), hi - lo);
  Odometer<1> at(p.reduced, p.reduced.sizes.size() - 1, lo / row);
  alignas(64) std::byte buffer[kChunk * kMaxItem];
  for (int64_t i = lo, column = lo % row; i < hi; column = 0, at.step()) {
    const int64_t end = std::min(row, column + hi - i);
    i += end - column;
    const int64_t base = offset + at.offsets()[0];
    if (contiguous) {
      fold.run(acc, p.at(base + column), end - column);
      continue;
    }
    for (; column < end; column += kChunk) {
      const int64_t n = std::min(kChunk, end - column);
      fold.run(acc, p.load(buffer, base + column * stride, stride, n), n);
    }
  }
}

// True if each result is a run of adjacent elements, which fold_runs folds with the least work
// around the loops.
bool by_runs(const Reduction& p, int64_t n) {
  return p.reduced.sizes.size() == 1 && p.reduced.row_stride(0) == 1 && (p.direct() || n <= kChunk);
}

// Folds elements [lo, hi) of the reduced space for `results` neighbours along a row of results.
// Runs to be converted are converted together, if they are adjacent.
void fold_runs(const Reduction& p, const Fold& fold, std::byte* acc, int64_t offset,
               int64_t results, int64_t lo, int64_t hi) {
  const int64_t n = hi - lo, stride = p.geometry.row_stride(0);
  if (p.direct()) {
    for (int64_t i = 0; i < results; ++i)
      fold.run(acc + i * fold.bytes, p.at(offset + i * stride + lo), n);
    return;
  }
  alignas(64) std::byte buffer[kChunk * kMaxItem];
  const int64_t together = stride == n ? kChunk / n : 1, width = n * itemsize(p.compute);
  for (int64_t i = 0; i < results; i += together) {
    const int64_t some = std::min(together, results - i);
    p.load(buffer, offset + i * stride + lo, 1, some * n);
    for (int64_t r = 0; r < some; ++r) fold.run(acc + (i + r) * fold.bytes, buffer + r * width, n);
  }
}

// The same for n adjacent results at once, over rows [lo, hi) of the reduced space.
void fold_columns(const Reduction& p, const Fold& fold, std::byte* acc, int64_t offset, int64_t n,
                  int64_t lo, int64_t hi) {
  const int64_t row = p.reduced.row(), down = p.reduced.row_stride(0),
                across = p.geometry.row_stride(0);
  Odometer<1> at(p.reduced, p.reduced.sizes.size() - 1, lo / row);
  alignas(64) std::byte buffer[kRowsBytes];
  const int64_t width = itemsize(p.compute);
  const bool contiguous = p.direct() && across == 1;
  for (int64_t i = lo, first = lo % row; i < hi; first = 0, at.step()) {
    const int64_t end = std::min(row, first + hi - i);
    i += end - first;
    const int64_t base = offset + at.offsets()[0];
    if (contiguous) {
      fold.columns(acc, p.at(base + first * down), down, end - first, n);
      continue;
    }
    while (first < end) {  // as many rows as the buffer holds: folds are faster over several
      const int64_t rows = std::min(end - first, kRowsBytes / (n * width));
      for (int64_t r = 0; r < rows; ++r) {
        std::byte* row_at = buffer + r * n * width;
        const void* from = p.load(row_at, base + (first + r) * down, across, n);
        if (from != row_at) std::memcpy(row_at, from, static_cast<size_t>(n * width));
      }
      fold.columns(acc, buffer, n, rows, n);
      first += rows;
    }
  }
}

// Stores accumulators, in the order of the kept space, as elements of the output.
void store_results(const Reduction& p, const Tensor& out, DType acc_dtype, const std::byte* acc,
                   int64_t results) {
  const int64_t item = itemsize(out.dtype()), acc_item = itemsize(acc_dtype);
  const int64_t row = p.geometry.row(), stride = p.geometry.row_stride(1);
  const auto move = copy_loops().move[size_class(item)];
  alignas(64) std::byte buffer[kChunk * kMaxItem];
  Odometer<2> at(p.geometry, p.geometry.sizes.size() - 1, 0);
  for (int64_t i = 0; i < results; at.step()) {
    for (int64_t column = 0; column < row; column += kChunk) {
      const int64_t n = std::min(kChunk, row - column);
      std::byte* to = out.data() + (at.offsets()[1] + column * stride) * item;
      if (stride == 1) {
        cast_run(to, out.dtype(), acc + i * acc_item, acc_dtype, n);
      } else {
        cast_run(buffer, out.dtype(), acc + i * acc_item, acc_dtype, n);
        move(to, stride, buffer, 1, n);
      }
      i += n;
    }
  }
}

// The dimension of a result for each one of self; -1 for a reduced one.
Dims positions_in_results(const Tensor& self, const ReducedDims& dims, const Tensor& result) {
  Dims positions;
  const bool keepdim = result.ndim() == self.ndim();
  int64_t position = 0;
  for (size_t d = 0; d < self.sizes().size(); ++d) {
    positions.push_back(dims.has(d) ? -1 : position);
    position += keepdim || !dims.has(d) ? 1 : 0;
  }
  return positions;
}

Reduction make_reduction(const Tensor& out, const Tensor& self, const ReducedDims& dims,
                         DType read_as, DType compute) {
  Dims kept_sizes, kept_in, kept_out, reduced_sizes, reduced_in;
  const Dims positions = positions_in_results(self, dims, out);
  for (size_t d = 0; d < self.sizes().size(); ++d) {
    if (positions[d] < 0) {
      reduced_sizes.push_back(self.sizes()[d]);
      reduced_in.push_back(self.strides()[d]);
    } else {
      kept_sizes.push_back(self.sizes()[d]);
      kept_in.push_back(self.strides()[d]);
      kept_out.push_back(out.strides()[static_cast<size_t>(positions[d])]);
    }
  }
  return {make_geometry<2>(kept_sizes, {kept_in, kept_out}),
          make_geometry<1>(reduced_sizes, {IntSpan(reduced_in)}),
          self.data(),
          self.dtype(),
          read_as,
          compute,
          itemsize(self.dtype())};
}

// Folds many results at once if their rows are short and the results adjacent. Rows that are the
// same elements again (stride 0) are as well read as columns: any other way gathers each.
bool by_columns(const Reduction& p) {
  const int64_t across = p.geometry.row_stride(0), down = p.reduced.row_stride(0);
  return p.geometry.row() >= 4 && (across < down || (down == 0 && across == 1));
}

// The split of a reduction into tasks. It depends only on the shape, so that results do not depend
// on the number of threads. Slices of the reduced space are folded separately and merged in order.
struct Cut {
  int64_t groups, slices, slice;
  Cut(int64_t groups_, int64_t reduced, int64_t width)
      : groups(groups_), slices(1), slice(reduced) {
    const int64_t min_value = std::max<int64_t>(64, kSlice / width);
    if (groups < kFewTasks && reduced >= 2 * min_value) {
      slice = std::max(min_value, (reduced + 2 * kFewTasks - 1) / (2 * kFewTasks));
      slices = (reduced + slice - 1) / slice;
    }
  }
};

// Records the plan: the kept dimensions, then the reduced ones, in which the output has stride 0.
void record_fold(const Reduction& p, int64_t out_item, bool columns, int64_t threads) {
  PlanOperand out{out_item, {}}, in{p.item, {}};
  Dims sizes;
  for (size_t d = 0; d < p.geometry.sizes.size(); ++d) {
    sizes.push_back(p.geometry.sizes[d]);
    out.strides.push_back(p.geometry.strides[1][d] * out_item);
    in.strides.push_back(p.geometry.strides[0][d] * p.item);
  }
  for (size_t d = 0; d < p.reduced.sizes.size(); ++d) {
    sizes.push_back(p.reduced.sizes[d]);
    out.strides.push_back(0);
    in.strides.push_back(p.reduced.strides[0][d] * p.item);
  }
  record_plan({.loop = columns ? "columns side by side" : "row by row",
               .sizes = sizes,
               .operands = {out, in},
               .threads = threads});
}

// The same for one short run.
void record_run(const Tensor& out, const Tensor& self) {
  const int64_t item = itemsize(self.dtype());
  record_plan({.loop = "one row",
               .sizes = {self.numel()},
               .operands = {{itemsize(out.dtype()), {0}}, {item, {item}}}});
}

// Divides accumulators by the count: floats, or complex numbers as two doubles each.
template <int kParts>
void divided(void* values, const std::byte* acc, int64_t n, double count) {
  const auto* sums = reinterpret_cast<const double*>(acc);
  for (int64_t i = 0; i < n * kParts; ++i) static_cast<double*>(values)[i] = sums[i] / count;
}

}  // namespace

const FoldOperator* find_fold_operator(std::string_view name) {
  const auto table = fold_operators();
  const auto at = std::lower_bound(
      table.begin(), table.end(), name,
      [](const FoldOperator& op, std::string_view n) { return std::string_view(op.name) < n; });
  return at != table.end() && at->name == name ? &*at : nullptr;
}

DType sum_compute_dtype(DType dtype) {
  if (is_complex(dtype)) return dtype;
  if (!is_floating(dtype)) return DType::kInt64;
  return dtype == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
}

DType extreme_fold_dtype(DType dtype) {
  if (is_complex(dtype)) no_such_dtype(dtype);  // complex numbers have no order
  switch (dtype) {
    case DType::kBool: return DType::kUInt8;
    case DType::kFloat16:
    case DType::kBFloat16: return DType::kFloat32;
    default: return dtype;
  }
}

DType extreme_compute_dtype(DType dtype) {
  const bool small = dtype == DType::kInt8 || dtype == DType::kInt16;
  return small ? DType::kInt32 : extreme_fold_dtype(dtype);
}

void fold_into(std::span<const Folded> results, const Tensor& self, const ReducedDims& dims,
               const Fold& fold, DType read_as, DType compute) {
  const Tensor& first = results.front().out;
  if (first.numel() == 0) return;
  check_kind(fold.run != nullptr, ErrorKind::kInternal, "no fold for ", name(compute));
  const bool direct = self.dtype() == read_as && read_as == compute;
  if (direct && self.is_contiguous() && first.numel() == 1 && self.numel() <= kSlice &&
      self.numel() == dims.count(self)) {
    if (events::on()) [[unlikely]]
      record_run(first, self);
    alignas(16) std::byte acc[sizeof(Moments)];  // one short run: no plan needed
    fold.identity(acc, 1);
    fold.run(acc, self.data(), self.numel());
    for (const Folded& result : results) {
      ElementBytes value;
      if (result.made)
        result.made(value.data(), acc, 1, result.parameter);
      else
        std::memcpy(value.data(), acc, sizeof value);
      cast_run(result.out.data(), result.out.dtype(), value.data(), fold.accumulator, 1);
    }
    return;
  }
  if (const Repeats repeats(self, positions_in_results(self, dims, first)); repeats) {
    std::vector<Tensor> firsts;
    std::vector<Folded> folded;
    firsts.reserve(results.size());
    for (const Folded& result : results) {
      firsts.push_back(repeats.first(result.out));
      folded.push_back({firsts.back(), result.made, result.parameter});
    }
    fold_into(folded, repeats.operand(self), dims, fold, read_as, compute);
    for (const Folded& result : results) repeats.fill(result.out);
    return;
  }
  const Reduction p = make_reduction(first, self, dims, read_as, compute);
  const int64_t count = first.numel(), reduced = dims.count(self), row = p.geometry.row();
  const bool columns = reduced > 0 && by_columns(p);
  const int64_t width = columns ? std::min(row, kColumns) : 1;  // results per group
  const int64_t per_row = (row + width - 1) / width;            // groups per row of results
  const Cut cut(count / row * per_row, reduced, width);
  const bool runs = !columns && by_runs(p, cut.slice);
  Scratch scratch(static_cast<size_t>(count * cut.slices * fold.bytes));
  std::byte* const acc = scratch.data();
  fold.identity(acc, count * cut.slices);
  const int64_t work = std::max<int64_t>(1, cut.slice * width);
  const int64_t tasks = reduced > 0 ? cut.groups * cut.slices : 0;
  const int64_t grain = std::max<int64_t>(1, kGrainSize / work);
  if (events::on()) [[unlikely]]
    record_fold(p, itemsize(first.dtype()), columns, ranges_of(tasks, grain));
  parallel_for(0, tasks, grain, [&](int64_t lo, int64_t hi) {
    for (int64_t slice = lo / cut.groups; slice * cut.groups < hi; ++slice) {
      const int64_t from = std::max(lo, slice * cut.groups) % cut.groups;
      const int64_t last = std::min(hi - slice * cut.groups, cut.groups);
      const int64_t a = slice * cut.slice, b = std::min(reduced, a + cut.slice);
      Odometer<2> at(p.geometry, p.geometry.sizes.size() - 1, from / per_row);
      int64_t column = from % per_row * width;
      std::byte* to = acc + (slice * count + from / per_row * row + column) * fold.bytes;
      for (int64_t group = from; group < last;) {
        const int64_t offset = at.offsets()[0] + column * p.geometry.row_stride(0);
        const int64_t groups = runs ? std::min(last - group, row - column) : 1;
        const int64_t n = runs ? groups : std::min(width, row - column);
        if (columns)
          fold_columns(p, fold, to, offset, n, a, b);
        else if (runs)
          fold_runs(p, fold, to, offset, n, a, b);
        else
          fold_elements(p, fold, to, offset, a, b);
        to += n * fold.bytes;
        group += groups;
        column += groups * width;
        if (column < row) continue;
        column = 0;
        at.step();
      }
    }
  });
  for (int64_t slice = 1; slice < cut.slices; ++slice)
    fold.merge(acc, acc + slice * count * fold.bytes, count);
  for (const Folded& result : results) {
    if (!result.made) {
      store_results(p, result.out, fold.accumulator, acc, count);
      continue;
    }
    Scratch values(static_cast<size_t>(count * itemsize(fold.accumulator)));
    result.made(values.data(), acc, count, result.parameter);
    store_results(p, result.out, fold.accumulator, values.data(), count);
  }
}

void run_fold(const FoldOperator& op, const Tensor& self, const std::optional<Dims>& dim,
              const Tensor& result) {
  if (result.numel() == 0) return;  // empty, so any dtype
  const ReducedDims dims(self, dim);
  const DType dtype = result.dtype();
  const bool elements = op.mapped == nullptr;
  // Sums of bools count them.
  const bool counts =
      elements && op.by == FoldOp::kSum && dtype == DType::kInt64 && self.dtype() == DType::kBool;
  const DType compute = counts                           ? DType::kUInt8
                        : elements && !op.has_identity() ? extreme_fold_dtype(dtype)
                                                         : sum_compute_dtype(dtype);
  Folded folded{result};
  if (op.divided) {
    folded.made = is_complex(dtype) ? divided<2> : divided<1>;
    folded.parameter = static_cast<double>(dims.count(self));
  }
  // As in PyTorch, the elements of a sum are rounded to its dtype, and those of a mean are not.
  const DType read_as = counts ? DType::kBool : op.divided ? compute : dtype;
  fold_into(std::span(&folded, 1), self, dims, op.fold(compute), read_as, compute);
}

void best_into(const Tensor& values, const Tensor& indices, const Tensor& self, int64_t dim,
               bool max) {
  const DType compute = extreme_fold_dtype(self.dtype());
  const BestFold& best = reduce_loops().best[max ? 1 : 0][static_cast<int>(compute)];
  const Dims single_dim{dim};
  const Reduction p = make_reduction(
      indices, self, ReducedDims(self, self.ndim() ? std::optional(single_dim) : std::nullopt, ""),
      self.dtype(), compute);
  const int64_t n = p.reduced.row(), down = p.reduced.row_stride(0);
  const int64_t row = p.geometry.row(), across = p.geometry.row_stride(0),
                out_stride = p.geometry.row_stride(1);
  const bool columns = by_columns(p);
  const int64_t width = columns ? std::min<int64_t>(row, kColumns) : 1;
  const int64_t per_row = (row + width - 1) / width;
  const auto store = [&](int64_t offset, const std::byte* match, const int64_t* index,
                         int64_t count) {
    const auto move_index = copy_loops().move[3];
    move_index(indices.data_as<int64_t>() + offset, out_stride, index, 1, count);
    if (!values) return;
    alignas(64) std::byte buffer[kColumns * kMaxItem];
    cast_run(buffer, values.dtype(), match, compute, count);
    const int64_t size = itemsize(values.dtype());
    copy_loops().move[size_class(size)](values.data() + offset * size, out_stride, buffer, 1,
                                        count);
  };
  const int64_t groups = p.geometry.rows() * per_row;
  parallel_for(0, groups, std::max<int64_t>(1, kGrainSize / std::max<int64_t>(1, n * width)),
               [&](int64_t lo, int64_t hi) {
                 alignas(64) std::byte match[kColumns * kMaxItem];
                 alignas(64) std::byte buffer[kChunk * kMaxItem];
                 int64_t index[kColumns];
                 Odometer<2> at(p.geometry, p.geometry.sizes.size() - 1, lo / per_row);
                 for (int64_t group = lo; group < hi; ++group) {
                   const int64_t column = group % per_row * width;
                   const int64_t count = std::min(width, row - column);
                   const int64_t offset = at.offsets()[0] + column * across;
                   std::fill_n(index, count, -1);
                   if (!columns) {
                     for (int64_t i = 0; i < n; i += kChunk) {
                       const int64_t m = std::min(kChunk, n - i);
                       best.run(match, index, p.load(buffer, offset + i * down, down, m), m, i);
                     }
                   } else if (p.direct() && across == 1) {
                     best.columns(match, index, p.at(offset), down, n, count, 0);
                   } else {
                     for (int64_t i = 0; i < n; ++i) {
                       best.columns(match, index, p.load(buffer, offset + i * down, across, count),
                                    0, 1, count, i);
                     }
                   }
                   store(at.offsets()[1] + column * out_stride, match, index, count);
                   if (group % per_row == per_row - 1) at.step();
                 }
               });
}

void best_in_row(const Tensor& index, const Tensor& self, bool max) {
  const DType compute = extreme_fold_dtype(self.dtype());
  const ReduceLoops& loops = reduce_loops();
  const BestFold& best = loops.best[max ? 1 : 0][static_cast<int>(compute)];
  const int64_t n = self.numel(), item = itemsize(self.dtype());
  const int64_t parts = std::clamp<int64_t>(n / kSlice, 1, 2 * kFewTasks),
                step = (n + parts - 1) / parts;
  std::array<ElementBytes, 2 * kFewTasks> match{};
  std::array<int64_t, 2 * kFewTasks> bounds;
  bounds.fill(-1);
  parallel_for(0, parts, 1, [&](int64_t lo, int64_t hi) {
    alignas(64) std::byte buffer[kChunk * kMaxItem];
    for (int64_t part = lo; part < hi; ++part) {
      const auto slot = static_cast<size_t>(part);
      const int64_t end = std::min(n, (part + 1) * step);
      for (int64_t i = part * step; i < end; i += kChunk) {
        const int64_t m = std::min(kChunk, end - i);
        const void* x = self.data() + i * item;
        if (self.dtype() != compute) {
          cast_run(buffer, compute, x, self.dtype(), m);
          x = buffer;
        }
        best.run(match[slot].data(), &bounds[slot], x, m, i);
      }
    }
  });
  ElementBytes value{};
  int64_t winner = -1;
  for (size_t part = 0; part < static_cast<size_t>(parts); ++part) {
    if (bounds[part] < 0) continue;
    int64_t candidate = winner < 0 ? -1 : 0;
    best.run(value.data(), &candidate, match[part].data(), 1, static_cast<int64_t>(part) + 1);
    if (candidate == static_cast<int64_t>(part) + 1) winner = bounds[part];
  }
  *index.data_as<int64_t>() = winner;
}

}  // namespace uh
