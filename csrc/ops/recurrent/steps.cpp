#include "ops/recurrent/steps.h"

#include "generated/ops/gather.h"
#include "generated/ops/join.h"
#include "generated/ops/view.h"

namespace uh {

Steps::Steps(std::string_view op, const Dims& sizes, bool reverse, const Tensor& rows)
    : sizes_(sizes), reverse_(reverse) {
  check(rows.ndim() == 2, op, ": expected rows of 2 dimensions, got sizes ", rows.sizes());
  check(!sizes.empty(), op, ": Expected sequence length to be larger than 0 in RNN");
  int64_t total = 0;
  for (size_t t = 0; t < sizes.size(); ++t) {
    check(sizes[t] >= 0 && (t == 0 || sizes[t] <= sizes[t - 1]), op,
          ": batch_sizes must not be negative and must not grow, got ", sizes[t], " at step ", t);
    offsets_.push_back(total);
    check(!__builtin_add_overflow(total, sizes[t], &total), op, ": batch_sizes are too large");
  }
  check(total == rows.size(0), op, ": batch_sizes add up to ", total, ", but there are ",
        rows.size(0), " rows");
}

std::vector<Tensor> Steps::split(const Tensor& rows) const {
  if (!rows) return std::vector<Tensor>(sizes_.size());
  return ops::split_with_sizes(rows, sizes_, 0);
}

Tensor Steps::before(const Tensor& rows, const Tensor& start) const {
  const int64_t last = count() - 1;
  if (!reverse_ && batch() == size(last))
    return ops::cat({start, ops::narrow(rows, 0, 0, offset(last))}, 0);
  std::vector<Tensor> parts;
  for (int64_t t = 0; t <= last; ++t) {
    if (!reverse_) {
      parts.push_back(t == 0 ? start : ops::narrow(rows, 0, offset(t - 1), size(t)));
      continue;
    }
    const int64_t known = t == last ? 0 : size(t + 1);
    if (known > 0) parts.push_back(ops::narrow(rows, 0, offset(t + 1), known));
    if (known < size(t)) parts.push_back(ops::narrow(start, 0, known, size(t) - known));
  }
  return ops::cat(parts, 0);
}

Tensor Steps::last(const Tensor& rows) const {
  if (reverse_) return ops::narrow(rows, 0, 0, batch());
  const int64_t end = count() - 1;
  if (size(end) == batch()) return ops::narrow(rows, 0, offset(end), batch());
  const Tensor index = empty(Dims{batch()}, DType::kInt64);
  auto* to = index.data_as<int64_t>();
  for (int64_t t = 0; t <= end; ++t)  // later steps overwrite the rows of longer sequences
    for (int64_t row = 0; row < size(t); ++row) to[row] = offset(t) + row;
  return ops::index_select(rows, 0, index);
}

}  // namespace uh
